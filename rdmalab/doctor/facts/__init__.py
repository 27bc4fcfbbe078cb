"""Facts of a Case that more than one family of checks needs."""
