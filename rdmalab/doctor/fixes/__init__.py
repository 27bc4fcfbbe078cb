"""Cures in words: the lines that would make it good, made from what was posted and set."""
