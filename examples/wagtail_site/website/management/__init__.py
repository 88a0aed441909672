"""
Commands of this application.
"""
