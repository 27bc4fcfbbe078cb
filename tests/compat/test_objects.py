"""Names of what programs make, for both skins."""

import pytest

from rdmalab.command import Invocation, Noun, Ref
from rdmalab.compat.objects import Objects
from rdmalab.lab import Lab


def test_a_name_is_the_first_free_one_and_not_given_again() -> None:
    lab = Lab()
    lab.do("alloc_pd A.pd0")
    objects = Objects(lab.session)

    def perform(word: str, **arguments: object) -> None:
        assert lab.session.perform(Invocation(word, arguments)).refusal is None

    assert objects.make(perform, "alloc_pd", Noun.PD, "A") == Ref("A", "pd1")
    assert objects.find(Ref("A", "pd1")).number
    perform("dealloc_pd", pd=Ref("A", "pd1"))
    assert objects.make(perform, "alloc_pd", Noun.PD, "A") == Ref("A", "pd2")
    assert objects.make(perform, "alloc_pd", Noun.PD, "B") == Ref("B", "pd0")
    with pytest.raises(KeyError):
        objects.find(Ref("A", "pd9"))


def test_a_refused_command_leaves_its_name_free() -> None:
    objects = Objects(Lab().session)

    def refuse(_word: str, **_arguments: object) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        objects.make(refuse, "alloc_pd", Noun.PD, "A")
    names: list[object] = []
    objects.make(lambda _, **given: names.extend(given.values()), "alloc_pd", Noun.PD, "A")
    assert str(names[0]).endswith("pd0")
