"""
``nr-agent-core upkeep``: ends and deletes what nobody goes on with.
"""
