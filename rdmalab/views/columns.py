"""Columns of rows, described once, beside their classes."""

from collections.abc import Callable, Container, Iterable
from dataclasses import KW_ONLY
from enum import Enum, auto
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from rdmalab.hca.attributes import Fields
from rdmalab.spec.row import dataclass

R = TypeVar("R")


class Meaning(Enum):
    """Meaning of a cell or a sentence. A face maps it to sign, word and colour."""

    PLAIN = auto()
    NAME = auto()
    NUMBER = auto()
    EVENT = auto()  # the number of an event
    DIM = auto()  # aside: can be left unread
    OK = auto()
    FAILED = auto()
    REFUSED = auto()  # a message or a call that was turned down; its sender may go on
    LOST = auto()  # on the cable
    FLUSHED = auto()  # an effect of an earlier failure
    ATTENTION = auto()  # nothing has failed, but the next request will, or something waits unread
    UNDER_WAY = auto()
    WAITING = auto()
    CURRENT = auto()
    PLANNED = auto()


def loud(count: int) -> Meaning:
    """The meaning of a number that is good only at 0."""
    return Meaning.ATTENTION if count else Meaning.DIM


BRIEF, USUAL, ALL = range(3)
"""Ranks of columns: those of a sentence, those of a line, those of a full listing."""


class Gauge(NamedTuple):
    """Slots in use: done, under way, waiting, in this order."""

    capacity: int
    done: int
    under_way: int = 0
    waiting: int = 0

    @property
    def used(self) -> int:
        """Slots that are not free."""
        return self.done + self.under_way + self.waiting

    def __str__(self) -> str:
        return f"{self.used} of {self.capacity}"


Value = str | int | Gauge | None


class Cell(NamedTuple):
    """Value and meaning of one column in one row."""

    value: str | int | Gauge
    meaning: Meaning
    col: "Column"

    def text(self, value: object = None) -> str:
        """The value with its label. value: in place of it, as a face draws it."""
        return self.col.label.format(self.value if value is None else value)


@dataclass(frozen=True, slots=True)
class Col(Generic[R]):
    """One column: the field of its title, or what `of` makes of the row; None: the row has none.

    label: the form without a heading, `psn {}`. absent: stands for None in a table with headings.
    rank: where room is short, columns of a high rank go first. right: aligned to the right.
    """

    title: str
    means: Meaning | Callable[[R], Meaning] = Meaning.PLAIN
    label: str = "{}"
    _: KW_ONLY
    of: Callable[[R], Value] | None = None
    form: Callable[..., str] | None = None
    rank: int = BRIEF
    right: bool = False
    absent: str = ""

    def value(self, row: R) -> Value:
        """The value in this row; None if there is none."""
        value: Value = getattr(row, self.title) if self.of is None else self.of(row)
        return value if self.form is None or value is None else self.form(value)

    def cell(self, row: R) -> Cell | None:
        """The cell of this row; None if it would be empty."""
        value = self.value(row)
        if value is None or value == "":
            return None
        means = self.means
        return Cell(value, means if isinstance(means, Meaning) else means(row), self)


Column = Col[Any]

COLUMNS: dict[type, tuple[Column, ...]] = {}
"""The columns of each class of rows, in the order in which they are shown."""


@dataclass(slots=True)
class NamedObject:
    """The row of an object that has a name."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "whose it is"]


def same_fields(cls: type, source: object, unset: object = None) -> Fields:
    """Fields of a class of rows that an object has by the same name; unset: in place of None."""
    names: Iterable[str] = vars(cls)["__dataclass_fields__"]
    found = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return {name: unset if value is None else value for name, value in found.items()}


def describe(cls: type[R], *columns: Col[R]) -> None:
    """Set the columns of a class of rows; AssertionError if a column has no such field."""
    wrong = [col.title for col in columns if col.of is None and not hasattr(cls, col.title)]
    assert not wrong, f"{cls.__name__} has no field {wrong}"
    COLUMNS[cls] = columns


def describe_fields(cls: type[R], *names: str, form: Callable[..., str]) -> None:
    """Columns for objects without a form of their own: the name, then `field value`."""
    describe(
        cls,
        Col("name", Meaning.NAME),
        *(Col(name, label=f"{name} {{}}", form=form) for name in names),
    )


def cells(row: object, most: int = ALL, only: Container[str] = ()) -> list[Cell]:
    """The cells of a row up to a rank, or those in the columns `only`."""
    columns = (c for c in COLUMNS[type(row)] if (c.title in only if only else c.rank <= most))
    return [cell for col in columns if (cell := col.cell(row)) is not None]


def words(row: object, most: int = BRIEF, only: Container[str] = ()) -> str:
    """`wr7 SEND 64 B ON WIRE psn 0`: the row within a sentence."""
    return " ".join(
        col.label.format(value)
        for col in COLUMNS[type(row)]
        if (col.title in only if only else col.rank <= most)
        and (value := col.value(row)) is not None
        and value != ""
    )


def fact(row: object) -> str:
    """`wr7, SEND, 64 B, ON WIRE, psn 0, signaled`: all cells, for a screen reader."""
    return ", ".join(cell.text() for cell in cells(row))
