"""Rows of an answer: for lines of text, and for faces that can mark a row."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from rdmalab.doctor.answers import Answer
from rdmalab.doctor.evidence.finding import Evidence
from rdmalab.render.meanings import APPEARANCES
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning


class RowPart(Enum):
    """The part of the answer that a row is."""

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
        """The margin before the text of the row."""
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


class AnswerInRows(Answer):
    """An answer that is a list of rows."""

    __slots__ = ()

    @property
    def rows(self) -> list[Row]:
        """All of it, one fact a row."""
        raise NotImplementedError

    @property
    def lines(self) -> list[str]:
        """All of it in words, one fact a line."""
        return [row.line for row in self.rows]

    @property
    def text(self) -> str:
        """All of it in words."""
        return "\n".join(self.lines)


def evidence_rows(
    part: RowPart, evidence: Iterable[Evidence], slug: str, name: str = ""
) -> list[Row]:
    """Facts below the check that found them. name: of what they are about."""
    return [Row(part, named(name, each.text), event=each.event, slug=slug) for each in evidence]


def named(name: str, text: str) -> str:
    """`A.qp0.wr[7] ended with SUCCESS`: a sentence about "it", with a name if there is one."""
    return f"{name} {text.removeprefix('it ')}" if name and text.startswith("it ") else text


_STANDINGS = {
    "COMPLETED": Meaning.OK, "WELL": Meaning.OK, "LATE": Meaning.ATTENTION,
    "PENDING": Meaning.WAITING, "REFUSED": Meaning.REFUSED, "LOST": Meaning.LOST,
    "UNKNOWN": Meaning.ATTENTION,
}  # fmt: skip
_OF_SIGNS = {APPEARANCES[each].sign: each for each in (Meaning.WAITING, Meaning.ATTENTION)}
_VERDICTS = {
    "FAIL": Meaning.FAILED, "pass": Meaning.OK, "warn": Meaning.ATTENTION, "wait": Meaning.WAITING,
}  # fmt: skip
_MEANINGS = {
    **dict.fromkeys((RowPart.CAUSE, RowPart.SYMPTOM, RowPart.WAIT, RowPart.SECTION), Meaning.NAME),
    **dict.fromkeys((RowPart.RULED_OUT, RowPart.LOOKED, RowPart.REST), Meaning.DIM),
    **dict.fromkeys((RowPart.NEXT, RowPart.TITLE, RowPart.FIX, RowPart.ASK), Meaning.EVENT),
    RowPart.WARNING: Meaning.ATTENTION,
}


def meaning(row: Row) -> Meaning:
    """The meaning of a row: of its verdict, or what its part is in the answer."""
    word = row.lead.strip()
    if row.part is RowPart.STANDING:
        return _STANDINGS.get(word) or _OF_SIGNS.get(word, Meaning.FAILED)
    if row.part is RowPart.ITEM:
        return _VERDICTS.get(word, Meaning.DIM)
    return _MEANINGS.get(row.part, Meaning.PLAIN)
