"""
A small Wagtail site: its pages, and what the chat may do about them.
"""
