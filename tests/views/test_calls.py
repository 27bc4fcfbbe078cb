"""Calls: what was called and how it answered."""

from rdmalab.grammar.nodes import Bare
from rdmalab.spec.records import Kind
from rdmalab.views import calls, fmt
from tests.pairs import Pair


def called(pair: Pair, node: str, verb: str, errno: int) -> None:
    pair.world.begin_event()
    pair.world.trace.record(Kind.CALLED, node, 0, verb, errno)


def test_the_newest_calls_in_order() -> None:
    pair = Pair()
    called(pair, "A", "post_send", 0)
    called(pair, "B", "post_recv", 12)
    called(pair, "", "link", 99_999)
    rows = calls.call_rows(pair.world)
    assert [row.text for row in rows] == [
        "A  post_send ok", "B  post_recv ENOMEM", "-  link 0x1869f",
    ]  # fmt: skip
    assert calls.call_rows(pair.world, 1) == rows[-1:]
    assert rows[1].errno is fmt.Errno["ENOMEM"]


def test_a_call_fits_when_all_its_fields_do() -> None:
    pair = Pair()
    called(pair, "A", "post_send", 12)
    record = pair.world.trace.records[-1]
    assert calls.matches(record, {"verb": Bare("post_send"), "errno": Bare("ENOMEM")})
    assert not calls.matches(record, {"node": Bare("B")})
    assert not calls.matches(pair.world.trace.records[0], {})
