"""
Implementations of the ports over real technology, each importable on its own.
"""
