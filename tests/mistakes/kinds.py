"""The kinds of mistakes: read from the tables, and checked."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tests.tables import read_table

FOLDER = Path(__file__).parent
_EACH = re.compile(r"each (\d+): (.*)")
Value = int | str
Profile = Literal["strict", "rxe", "mlx5"]
PROFILES: tuple[Profile, ...] = get_args(Profile)


class Beside(BaseModel):
    """A mistake that another one is combined with: on a queue pair of its own, before it.

    lines: typed after the line `use …` of the kind; `each N:` before a line repeats it with # as
    number. accept: roots that `why` alone may name, too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    beside: str
    lines: tuple[str, ...] = Field(min_length=1)
    accept: tuple[str, ...] = Field(min_length=1)


class Kind(BaseModel):
    """One mistake.

    lines: typed at a prompt, or python: a program for the pyverbs skin, after the text of the file
    `prelude` in this folder. `each N:` before a line repeats it with # as number. shows: an
    expression that is true when the failure came about. ask: what the victim asks. accept: right
    roots; plain: of `why` alone, tidied: after everything was destroyed (False: the teardown
    changes the truth); both are `accept` where they are None; plain False: without a name nothing
    shows that anything is wrong. vary: values for {names} in the texts, drawn by seed. beside: the
    unrelated mistakes, one of which is made in the same session. code: exit code of `why` alone,
    `either` where nothing has failed that shows, or work is still in progress; None: 1, and either
    where plain is False. says: what the answer to `ask`
    has to contain (a pattern); denies: what it may not contain, for it is false.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    area: str
    source: str
    profiles: tuple[Profile, ...] = PROFILES
    vary: dict[str, tuple[Value, ...]] = Field(default_factory=dict)
    lines: tuple[str, ...] = ()
    python: str = ""
    prelude: str = ""
    shows: str = ""
    ask: str
    accept: tuple[str, ...] = Field(min_length=1)
    plain: tuple[str, ...] | Literal[False] | None = None
    tidied: tuple[str, ...] | Literal[False] | None = None
    beside: tuple[str, ...] = ()
    code: Literal[0, 1, "either"] | None = None
    says: str = ""
    denies: str = ""

    @model_validator(mode="after")
    def _plays_one_way(self) -> "Kind":
        if bool(self.lines) is bool(self.python):
            raise ValueError(f"{self.kind}: either lines or python")
        return self

    @property
    def exit_code(self) -> int | None:
        """Exit code that `why` alone has to have; None: 0 and 1 are right."""
        if self.code == "either" or (self.code is None and self.plain is False):
            return None
        return 1 if self.code is None else self.code

    @property
    def variants(self) -> list[dict[str, Value]]:
        """Every combination of the values."""
        return [dict(zip(self.vary, row, strict=True)) for row in product(*self.vary.values())]

    def text(self, text: str, values: dict[str, Value]) -> str:
        """A text with the values in it."""
        return text.format_map(values) if self.vary else text


def typed(lines: tuple[str, ...]) -> Iterator[str]:
    """The lines one by one, those with `each N:` as often as they say."""
    for line in lines:
        if repeated := _EACH.fullmatch(line):
            yield from (repeated[2].replace("#", str(n)) for n in range(int(repeated[1])))
        else:
            yield line


@cache
def besides() -> dict[str, Beside]:
    """The mistakes that others are combined with, by name."""
    rows = read_table(FOLDER / "besides.yaml")
    return {row.beside: row for row in map(Beside.model_validate, rows)}


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds of all tables, in the order of the files; names are unique."""
    found = tuple(_read())
    names = [kind.kind for kind in found]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"kinds with one name: {sorted(twice)}"
    return found


def _read() -> Iterator[Kind]:
    for path in sorted(set(FOLDER.glob("*.yaml")) - {FOLDER / "besides.yaml"}):
        for row in read_table(path):
            yield Kind.model_validate(row)
