"""The answer as rows, long and short."""
