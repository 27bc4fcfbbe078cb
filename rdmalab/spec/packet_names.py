"""Names of packets and AETH syndromes on the screen, in filters and in expressions.

The screen shows an ACKNOWLEDGE by its syndrome: ACK, RNR_NAK, NAK_SEQUENCE, … These names are used
beside the labels of the opcodes.
"""

from collections.abc import Collection
from typing import NamedTuple, Self

from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.spec.refusals import SYNDROMES, Syndrome

FRAME = "FRAME"
"""The name of what is not RDMA."""

_ACKNOWLEDGE = "ACKNOWLEDGE"
_ANY = frozenset(Syndrome)


class _Row(NamedTuple):
    """The label of an opcode, and the syndromes that its AETH may have, None for no AETH."""

    label: str
    syndromes: frozenset[Syndrome | None]


# What a name of a packet matches.
PACKETS: dict[str, _Row] = {
    **{label: _Row(label, _ANY | {None}) for label in (*BY_LABEL, FRAME)},
    **{name: _Row(_ACKNOWLEDGE, frozenset(these)) for name, these in SYNDROMES.items()},
}


class PacketName(str):
    """The label of a packet's opcode, with the further names that its syndrome gives."""

    noun = "opcode"
    syndrome: Syndrome | None

    def __new__(cls, label: str = "", syndrome: Syndrome | None = None) -> Self:
        named = super().__new__(cls, label)
        named.syndrome = syndrome
        return named

    @property
    def shown(self) -> str:
        """The name on the screen: the syndrome of an ACKNOWLEDGE, else the label."""
        answers = self == _ACKNOWLEDGE and self.syndrome is not None
        return self.syndrome.name if answers and self.syndrome is not None else str(self)

    @staticmethod
    def legal() -> Collection[str]:
        """All names of packets."""
        return PACKETS

    def is_called(self, name: str) -> bool:
        """True if `name`, a legal name, matches this packet."""
        row = PACKETS[name]
        return self == row.label and self.syndrome in row.syndromes
