"""The classroom: labs with tasks and goals, submissions, and their grades."""
