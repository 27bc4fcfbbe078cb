"""THE BOOK: what the standard says, once, as data."""
