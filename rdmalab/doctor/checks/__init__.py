"""Suspicions: one a file; `checklist.py` has their order."""
