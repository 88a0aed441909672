"""
Commands of this application, by name.
"""
