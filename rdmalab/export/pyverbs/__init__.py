"""A session as a program with pyverbs."""
