"""
Contract suites: what every implementation of a port must keep, as test classes to inherit from.
"""
