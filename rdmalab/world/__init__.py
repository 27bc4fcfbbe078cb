"""TIME AND CABLE: the agenda, the cable with its faults, the trace, and the nodes between them."""
