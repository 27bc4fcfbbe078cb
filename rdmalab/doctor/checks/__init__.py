"""Suspicions, by family; `checklist.py` puts them in order."""
