"""A session as a program in C."""
