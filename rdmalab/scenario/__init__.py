"""LESSONS: scenario files, read with every error at its place, and played step by step.

Only here are pydantic and yaml. It is handed the vocabulary and whoever opens a session.
"""
