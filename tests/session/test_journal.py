"""The journal: packed or not, it reads the same."""

import pytest

from rdmalab.command import Invocation, New, Noun, Ref, Span
from rdmalab.session import journal
from rdmalab.session.journal import Entry, Journal
from rdmalab.spec.work import SendFlags


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "CHUNK", 4)
    monkeypatch.setattr(journal, "LOOSE", 1)


def entry(number: int) -> Entry:
    wr = {"sg": [Ref("A", "mr0", 0, number)], "flags": SendFlags.SIGNALED}
    arguments = {"qp": New(Noun.QP, "A", f"qp{number}"), "wr": [wr]}
    return Entry(number * 3, number * 10, Invocation("post_send", arguments, "x", {"": Span(0, 1)}))


def test_it_reads_as_it_was_written() -> None:
    written = [entry(n) for n in range(30)]
    kept = Journal()
    for each in written:
        kept.append(each)
    assert len(kept) == 30
    assert list(kept) == written
    assert [kept[n] for n in range(-30, 30)] == written * 2
    assert kept[3:25:4] == written[3:25:4]
    assert kept[29:2] == []
    assert [kept.before(n) for n in (0, 1, 3, 4, 87, 88, 1000)] == [0, 1, 1, 2, 29, 30, 30]


@pytest.mark.parametrize("count", [0, 3, 4, 9, 17, 20])
def test_journal_of_a_beginning_can_be_continued(count: int) -> None:
    kept = Journal()
    for n in range(20):
        kept.append(entry(n))
    twin = kept.beginning(count)
    assert list(twin) == list(kept)[:count]
    for n in range(count, count + 12):
        twin.append(entry(1000 + n))
    assert len(twin) == count + 12
    assert list(kept) == [entry(n) for n in range(20)]
    assert twin[-1] == entry(1000 + count + 11)
