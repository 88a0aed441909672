"""
Benchmarks: the library beside a hand-written loop, and beside whoever else is asked along.

``python -m bench`` plays them all; see docs/benchmarks.md.
"""
