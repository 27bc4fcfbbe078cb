"""Compiled programs on a lab."""
