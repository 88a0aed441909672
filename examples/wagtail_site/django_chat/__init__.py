"""
A chat in any Django application. It needs a store, and a function that says what the site brings.

Nothing here knows what the site is about: take the folder, list it in ``INSTALLED_APPS``, include its
``urls``, and set ``CHAT_SITE``.
"""
