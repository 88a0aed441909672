"""
The command line, behind the extra `cli`.
"""
