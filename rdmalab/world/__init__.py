"""Time and network: the event queue, the cable with its faults, the trace, and the nodes."""
