"""
A chat in a browser over the example site: what a host builds around the library, without a build step.

``make web`` starts it with a scripted model, so that every state of the story can be played by hand.
"""
