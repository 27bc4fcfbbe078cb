"""The events to look at, what a session becomes from one, and what it lost on the way."""
