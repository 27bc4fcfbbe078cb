"""PAST AND NAMES: who is called what, what was asked for, and how time goes on.

It writes no file itself; it is handed the vocabulary, and who answers questions about the world.
"""
