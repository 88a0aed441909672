"""
Stores as commands name and open them.
"""
