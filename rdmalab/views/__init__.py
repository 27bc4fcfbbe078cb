"""Views: pure functions from the world and its trace to rows of plain values."""
