"""The doctor: why there is no completion, or not the one that was wanted."""
