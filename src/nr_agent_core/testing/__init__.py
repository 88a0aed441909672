"""
A public kit for testing hosts and adapters.
"""
