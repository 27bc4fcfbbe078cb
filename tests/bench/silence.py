"""A trace that writes nothing."""

from rdmalab.spec.records import Kind
from rdmalab.world.trace import Trace


class Silence(Trace):
    """A trace that records nothing; the cost of recording is measured against it."""

    __slots__ = ()

    def record(self, kind: Kind, node: str, obj: int, a: object = None, b: object = None) -> None:
        """Discard the record."""
