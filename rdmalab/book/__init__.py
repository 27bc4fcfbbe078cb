"""The book: lessons, labs and the guide as static pages that need no server and no network."""
