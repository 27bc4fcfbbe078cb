"""The console: a transcript with a live prompt_toolkit prompt below it, inside Textual."""
