"""
Frozen values and pure decisions. Nothing here performs input or output.
"""
