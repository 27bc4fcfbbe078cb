"""Facts that several checks use, read from the world and the log."""
