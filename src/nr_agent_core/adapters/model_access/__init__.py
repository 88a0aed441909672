"""
What adapters and decorators of model providers share; no adapter by itself, and nothing a host wires.
"""
