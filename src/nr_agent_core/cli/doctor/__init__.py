"""
``nr-agent-core doctor``: what is the matter with a store, without changing anything.
"""
