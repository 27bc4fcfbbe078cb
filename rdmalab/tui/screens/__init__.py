"""Screens: the start, the main screen, and pages over it."""
