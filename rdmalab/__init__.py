"""rdmalab: type RDMA verbs, see two emulated nodes do them.

`Lab` and `Exercise` are imported when they are first used, so that reading a table of
`rdmalab.spec` loads only tables.
"""

from typing import TYPE_CHECKING

from rdmalab import version

if TYPE_CHECKING:
    from rdmalab.classroom.exercise import Exercise
    from rdmalab.lab import Lab

__all__ = ["Exercise", "Lab"]
__version__ = version.VERSION


def __getattr__(name: str) -> object:
    if name == "Lab":
        from rdmalab.lab import Lab

        return Lab
    if name == "Exercise":
        from rdmalab.classroom.exercise import Exercise

        return Exercise
    raise AttributeError(f"module 'rdmalab' has no attribute {name!r}")
