"""The full-screen app (Textual): panes, keys, and the console."""
