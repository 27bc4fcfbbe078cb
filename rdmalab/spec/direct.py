"""Fast members: Python 3.11 finds `Kind.CALLED` through a descriptor, 130 ns instead of 20."""

from enum import Enum
from typing import TypeVar

E = TypeVar("E", bound=type[Enum])


def direct(enum: E) -> E:
    """Put an enum's members into its class as plain attributes, as Python 3.12 does by itself."""
    for name, member in enum.__members__.items():
        type.__setattr__(enum, name, member)
    return enum
