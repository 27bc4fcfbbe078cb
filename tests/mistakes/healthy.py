"""Sessions in which nothing is wrong: `why` alone says so, also after they were closed in order."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from rdmalab.lab import Lab
from rdmalab.session.session import Session
from tests.mistakes.kinds import PROFILES, Profile
from tests.tables import read_table

_TABLE = Path(__file__).parent / "well" / "sessions.yaml"


class Healthy(BaseModel):
    """A session that is well. ask: what may be asked about, too, with the same answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    well: str
    profiles: tuple[Profile, ...] = PROFILES
    lines: tuple[str, ...] = Field(min_length=1)
    ask: str = ""

    def session(self, profile: Profile) -> Session:
        """The session at its end."""
        lab = Lab(profile=profile)
        for line in self.lines:
            for reply in lab.do(line):
                assert not reply.failed, f"{self.well}: {line}: {reply.error or reply.refusal}"
        return lab.session


@cache
def healthy() -> tuple[Healthy, ...]:
    """All of them."""
    rows = read_table(_TABLE)
    return tuple(map(Healthy.model_validate, rows))


def all_healthy() -> Iterator[tuple[Healthy, Profile]]:
    """Each on each profile that it is for."""
    for each in healthy():
        for profile in each.profiles:
            yield each, profile
