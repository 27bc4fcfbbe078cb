"""What is so: facts that several suspicions look at, read off the world and the log."""
