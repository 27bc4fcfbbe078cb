"""Scenario files: read with every error at its place, and run step by step.

Only this room imports pydantic and yaml. Vocabulary and session factory are arguments.
"""
