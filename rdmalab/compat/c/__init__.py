"""Compiled programs that use libibverbs, on the nodes of a lab."""
