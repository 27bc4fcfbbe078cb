"""Many independent items of work in limited processes, here or on a cluster."""
