"""
The command ``worker``: one process that drives queued runs.
"""
