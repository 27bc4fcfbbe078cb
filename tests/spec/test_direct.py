"""Direct members are plain class attributes, and nothing else about the enum changes."""

import enum

from rdmalab.spec.direct import direct
from rdmalab.spec.records import Kind


@direct
class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


def test_members_lie_in_the_class() -> None:
    assert Colour.__dict__["RED"] is Colour.RED
    assert vars(Kind)["CALLED"] is Kind.CALLED


def test_it_is_still_the_enum_it_was() -> None:
    assert list(Colour) == [Colour.RED, Colour.BLUE]
    assert Colour(2) is Colour.BLUE
    assert Colour["RED"].name == "RED"
