"""
Simplest implementations of the ports, with nothing but the standard library.
"""
