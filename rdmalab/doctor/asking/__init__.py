"""From a question to the subjects it is about."""
