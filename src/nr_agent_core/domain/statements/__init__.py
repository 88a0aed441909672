"""
What an answer states of the run beyond "something was changed", held against what the run did (V7, V8, V12).

Nothing here is imported, read or compiled before an answer needs it.
"""
