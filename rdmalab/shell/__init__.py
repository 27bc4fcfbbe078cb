"""Words on a terminal: how a line is typed, completed and coloured, and how an answer is said."""
