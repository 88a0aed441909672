"""
A chat that states what its run did, not what it said.
"""
