"""The app in browsers, run by this machine's Python: a server for few visitors who are trusted."""
