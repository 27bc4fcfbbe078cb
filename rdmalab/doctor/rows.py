"""What the doctor says, row by row: for lines of text, and for faces that can mark a row."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from rdmalab.doctor.finding import Evidence
from rdmalab.views import fmt


class RowPart(Enum):
    """What a row is in the answer."""

    STANDING = auto()  # how it stands
    CAUSE = auto()  # a link of the chain
    EVIDENCE = auto()  # what speaks for it
    SYMPTOM = auto()  # the end of the chain
    WAIT = auto()  # nothing is wrong yet: what it waits for
    NEXT = auto()
    WARNING = auto()
    RULED_OUT = auto()
    UNKNOWN = auto()
    LOOKED = auto()  # at what, where nothing is wrong
    ASK = auto()  # how to ask about one thing
    FIX = auto()
    LINE = auto()  # of the fix, to be copied
    TITLE = auto()  # of a checklist
    SECTION = auto()
    ITEM = auto()
    GROUND = auto()  # what speaks for its verdict
    REST = auto()  # items that do not concern it, and how many there were


class Row(NamedTuple):
    """One fact. lead: its strong words, NEVER or the name of a check. event: where it stands.

    number: of a link of the chain, or of an item of the checklist. slug: of its check.
    """

    part: RowPart
    text: str
    lead: str = ""
    event: int | None = None
    number: int = 0
    slug: str = ""

    @property
    def margin(self) -> str:
        """What stands before it."""
        return _MARGINS.get(self.part, "").format(self.number)

    @property
    def line(self) -> str:
        """As plain text."""
        where = "" if self.event is None else f"  [{fmt.ev(self.event)}]"
        return f"{self.margin}{self.lead}{self.text}{where}"


_MARGINS = {
    RowPart.CAUSE: "{:>2}. ", RowPart.EVIDENCE: "      ", RowPart.SYMPTOM: "    ",
    RowPart.LINE: "  ", RowPart.ITEM: "{:>4} ", RowPart.GROUND: " " * 10, RowPart.REST: "     ",
}  # fmt: skip


def evidence_rows(part: RowPart, evidence: Iterable[Evidence], slug: str) -> list[Row]:
    """Facts below the check that found them."""
    return [Row(part, each.text, event=each.event, slug=slug) for each in evidence]
