"""What the log says of work requests: their posts, ends, messages and bytes."""
