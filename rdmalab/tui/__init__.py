"""The glass: one Textual application, its panes, its keys, and the console."""
