"""Packet sequence numbers: 24 bits on a circle (transport.md 5)."""

MASK = 0xFFFFFF
_HALF = 0x800000

# A requester never has more than this outstanding, or old and new could not be told apart. The
# longest message over the smallest MTU, 2^31 bytes by 256, is exactly that long.
WINDOW = _HALF


def diff(newer: int, older: int) -> int:
    """PSNs by which `newer` is ahead of `older`: positive newer, 0 equal, negative older."""
    distance = (newer - older) & MASK
    return distance - 0x1000000 if distance & _HALF else distance
