"""One module for each pane.

Its `show` command, and how its rows are drawn. None imports another.
"""
