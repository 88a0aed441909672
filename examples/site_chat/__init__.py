"""
An embedded chat as a host builds one: a small site in its own SQLite file, its tools, and a story.

``python -m examples.site_chat`` tells the story, on real files and with real processes.
"""
