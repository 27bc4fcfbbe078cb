"""Sessions: object names, the journal of commands, and virtual time with its past and branches.

It writes no file. The vocabulary and the evaluation of expressions are arguments.
"""
