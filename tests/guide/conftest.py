"""The index of the guide is made once for the tests of the guide, not once for each word."""

from collections.abc import Iterable, Iterator, Mapping

import pytest

from rdmalab.command import Command
from rdmalab.guide import explain
from rdmalab.guide.entry import Entry

Index = dict[str, list[Entry]]


@pytest.fixture(scope="package", autouse=True)
def _one_index() -> Iterator[None]:
    """Kept for a vocabulary as long as that is the same object with the same commands."""
    made = explain._index
    kept: dict[int, tuple[Mapping[str, Command], list[Command], Index]] = {}

    def index(vocabulary: Mapping[str, Command], more: Iterable[Entry]) -> Index:
        if more != explain.NO_MORE:
            return made(vocabulary, more)
        commands = list(vocabulary.values())
        known = kept.get(id(vocabulary))
        if known is None or known[1] != commands:
            known = kept[id(vocabulary)] = (vocabulary, commands, made(vocabulary, more))
        return known[2]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explain, "_index", index)
        yield
