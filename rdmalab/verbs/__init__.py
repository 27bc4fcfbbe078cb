"""WHAT A PROGRAM MAY SAY: the verbs, named as in libibverbs, one file an object."""
