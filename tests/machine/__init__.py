"""Anything said in any order to a world that loses packets, and what must be true all the while."""
