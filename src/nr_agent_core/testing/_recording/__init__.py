"""
What a recorded model is made of: the file, what makes two questions the same, and a question being recorded.
"""
