"""
The command ``explain``: where an answer claims a change, and why other places are none.
"""
