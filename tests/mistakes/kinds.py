"""The kinds of mistakes: read from the tables, and checked."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

FOLDER = Path(__file__).parent
Value = int | str
Profile = Literal["strict", "rxe", "mlx5"]
PROFILES: tuple[Profile, ...] = get_args(Profile)


class Kind(BaseModel):
    """One mistake.

    lines: typed at a prompt, or python: a program for the pyverbs skin. shows: an expression that
    is true when the failure came about. ask: what the victim asks. accept: right roots; plain: of
    `why` alone, tidied: after everything was destroyed (False: the teardown changes the truth);
    both are `accept` where they are None; plain False: without a name nothing shows that anything
    is wrong. vary: values for {names} in the texts, drawn by seed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    area: str
    source: str
    profiles: tuple[Profile, ...] = PROFILES
    vary: dict[str, tuple[Value, ...]] = Field(default_factory=dict)
    lines: tuple[str, ...] = ()
    python: str = ""
    shows: str = ""
    ask: str
    accept: tuple[str, ...] = Field(min_length=1)
    plain: tuple[str, ...] | Literal[False] | None = None
    tidied: tuple[str, ...] | Literal[False] | None = None

    @model_validator(mode="after")
    def _plays_one_way(self) -> "Kind":
        if bool(self.lines) is bool(self.python):
            raise ValueError(f"{self.kind}: either lines or python")
        return self

    @property
    def variants(self) -> list[dict[str, Value]]:
        """Every combination of the values."""
        return [dict(zip(self.vary, row, strict=True)) for row in product(*self.vary.values())]

    def text(self, text: str, values: dict[str, Value]) -> str:
        """A text with the values in it."""
        return text.format_map(values) if self.vary else text


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds of all tables, in the order of the files; names are unique."""
    found = tuple(_read())
    names = [kind.kind for kind in found]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"kinds with one name: {sorted(twice)}"
    return found


def _read() -> Iterator[Kind]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for row in yaml.safe_load(path.read_text("utf-8")):
            yield Kind.model_validate(row)
