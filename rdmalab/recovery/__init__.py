"""Sessions that survive their process: write-ahead log, logged lines, bug reports, directories."""
