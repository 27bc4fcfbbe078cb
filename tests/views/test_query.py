"""Answers: what is asked about a world, and what is said when there is no answer."""

import enum
import pathlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.command import NotUnderstood
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Path
from rdmalab.hca import qp_lifecycle
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.spec.records import Kind
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views.query import QueryContext
from rdmalab.vocabulary import VOCABULARY
from tests.each import a_twentieth, each
from tests.labs import BUSY, RECV, SEND, fingerprint, lab_of, trip, well
from tests.pairs import Pair
from tests.views.looking import ask, names_of
from tests.views.watching import unnoticed, values, watched


@pytest.fixture(scope="module")
def pair() -> Pair:
    """A SEND of "hello" was received and polled; another waits for a receive."""
    pair = Pair(min_rnr_timer=12)
    pair.a.poke(0, b"hello")
    pair.b.recv(64, wr_id=2)
    pair.a.issue(WROpcode.SEND, 5, wr_id=6)
    pair.run()
    pair.a.issue(WROpcode.SEND, 5, wr_id=7)
    pair.run(pair.world.now_ns + 10_000)
    pair.world.begin_event()
    pair.world.trace.record(Kind.CALLED, "A", 0, "post_send", 12)
    return pair


@pytest.mark.parametrize(
    "question",
    [
        "A.qp0.state == RTS", "A.qp0.state != IBV_QPS_ERR", "A.qp0.sq.used == 2",
        "A.qp0.sq.max_used == 2", "A.qp0.rnr_timer.armed", "A.cq0.count == 1", "A.cq0.total == 1",
        "A.cq0.next.status == IBV_WC_SUCCESS", "A.cq0.last.wr_id == 6", "A.cq0.cqes[0].wr_id == 6",
        "A.cq0.cqes[5].wr_id == NULL", "A.qp0.wr[7].status == RNR_WAIT",
        "A.qp0.wr[6].status == ACKED", "A.qp0.wr[7].flags == SIGNALED",
        "B.qp0.recv_wr[2].status == GONE", 'B.mr0[0:5] == "hello"', "B.mr0[0] == 0x68",
        "A.mr0.lkey != A.mr0.rkey", "A.mr0.length == 64KiB", "A.port.state == ACTIVE",
        "now >= 10us", "not idle", "event > 3", "wire.count(opcode=SEND_ONLY, from=A) == 2",
        "wire.count(syndrome=RNR_NAK, to=A, timer=12) == 1", "wire.count(psn=1, len=5) == 1",
        "wire.any(ack_req=1)", "not wire.any(opcode=RDMA_WRITE_ONLY)",
        "wire.last.syndrome == RNR_NAK", "wire.last.fate == RECEIVED",
        "log.any(verb=post_send, node=A, errno=ENOMEM)", "log.any(verb=ibv_post_send)",
        "not log.any(errno=EINVAL)", "log.count() == 1", "log.last.errno == ENOMEM",
        "B.cq1.total(status=IBV_WC_SUCCESS) == 1", "B.cq1.total(byte_len=6) == 0",
        "A.counters.rcvd_rnr_err == 1", "A.cq0.overruns == 0",
        'A.qp0.peer == "B.qp0"', "A.cq1.next.status == NULL",
    ],
)  # fmt: skip
def test_true_questions(pair: Pair, question: str) -> None:
    assert ask(pair, question)


@pytest.mark.parametrize(
    ("question", "message", "hint"),
    [
        ("A.qp9.state", 'nothing is called "A.qp9"', "did you mean A.qp0?"),
        ("A.qp0.stat", 'A.qp0 has no "stat"', "did you mean state?"),
        ("A.qp0.sq.usd", 'A.qp0.sq has no "usd"', "did you mean used?"),
        ("A.qp0.sq.max_usd", 'A.qp0.sq has no "max_usd"', "did you mean max_used?"),
        ("A.qp0.sq", "A.qp0.sq has several fields, which one?", "write A.qp0.sq.capacity"),
        ("A.qp0", "A.qp0 has several fields, which one?", "write A.qp0.name"),
        ("A", "A is a node, not a value", "write A.port.state"),
        ("A.qp0.state.x", "A.qp0.state has no fields", "write A.qp0.state"),
        ("A.qp0[3]", 'A.qp0 has no "[3]"', None),
        ("A.qp0.wr.status", "which wr of A.qp0?", "write A.qp0.wr[0]"),
        ("A.qp0.wr[9].status", "A.qp0.wr[9]: no send with wr_id 9 was ever posted", "show A.qp0"),
        ("A.port.stat", 'A.port has no "stat"', "did you mean state?"),
        ("A.mr0[0:70000]", "A.mr0 has 65536 bytes", "write A.mr0[0:64]"),
        ("A.mr0[0:5].x", 'bytes have no "x"', "write A.mr0[0:5]"),
        ("wire.lst.psn", "wire.lst.psn is not a value", None),
        ("wire", "wire is not a value", None),
        ("C.qp0.state", 'nothing is called "C"', None),
        ("wire.count(opcod=SEND_ONLY)", 'wire has no "opcod"', "did you mean opcode?"),
        ("wire.count(opcode=SEND_ONYL)", '"SEND_ONYL" is no opcode', None),
        ("wire.count(from=C)", '"C" is no node', "legal here: A, B"),
        ("wire.count(A)", "wire.count() takes key=value only", "write wire.count(key=value)"),
        ("wire.counts(psn=1)", "wire.counts cannot be called", "did you mean wire.count?"),
        ("log.any(node=C)", '"C" is no node', "legal here: A, B"),
        ("log.any(errn=1)", 'log has no "errn"', "did you mean errno?"),
        ("A.qp0.total()", "A.qp0 is not a CQ", None),
        ("A.cq0.total(state=1)", 'A.cq0.total has no "state"', "did you mean status?"),
    ],
)  # fmt: skip
def test_refused_questions_with_message_and_hint(
    pair: Pair, question: str, message: str, hint: str | None
) -> None:
    with pytest.raises(NotUnderstood) as caught:
        ask(pair, question)
    assert caught.value.message == message
    assert hint is None or caught.value.hint == hint


def test_too_many_bytes_are_not_read() -> None:
    with pytest.raises(NotUnderstood, match="too many bytes"):
        ask(Pair(mr_bytes=2**31), "A.mr0[0:2147483648]")


def test_what_was_destroyed_says_so() -> None:
    pair = Pair()
    names = names_of(pair)
    pair.world.begin_event()
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    with pytest.raises(NotUnderstood, match=r"A\.qp0 was destroyed"):
        ask(pair, "A.qp0.state", QueryContext(pair.world, names))


def test_further_calls_are_handed_in() -> None:
    asked: list[Any] = []

    def why(positional: list[Any], keywords: dict[str, Any]) -> str:
        asked.append((positional, keywords))
        return "too-early"

    pair = Pair()
    asker = QueryContext(pair.world, names_of(pair), {"why": why})
    assert ask(pair, 'why(A.qp0) == "too-early"', asker)
    assert isinstance(asked[0][0][0], Path)


def test_asking_after_each_event_is_asking_at_the_end() -> None:
    """What an asker kept of the past is never an answer to another one."""
    pair = Pair()
    asker = QueryContext(pair.world, names_of(pair))
    questions = (
        "wire.count(from=A)", "A.qp0.sq.max_used", "A.cq0.total(status=SUCCESS)",
        "A.counters.sent_pkts", "log.count()",
    )  # fmt: skip
    for flags in (SendFlags.SIGNALED, SendFlags(0)):
        pair.a.issue(WROpcode.RDMA_WRITE, 600, flags=flags)
        while pair.world.step():
            for question in questions:
                assert ask(pair, question, asker) == ask(pair, question)
    pair.world.trace.go_to(len(pair.world.trace.records) - 10)
    for question in questions:
        assert ask(pair, question, asker) == ask(pair, question)


def test_an_undefined_opcode_is_another_one_whatever_the_order_of_filters() -> None:
    lab = lab_of(RECV, "modify_qp B.qp0 state=ERR")
    for filters, count in (
        ("opcode=RECV", 0), ("opcode!=RECV", 1), ("opcode=RECV, status=WR_FLUSH_ERR", 0),
        ("status=WR_FLUSH_ERR, opcode=RECV", 0), ("status!=SUCCESS", 1), ("status=SUCCESS", 0),
        ("wr_id=2, opcode!=SEND, status!=SUCCESS", 1), ("wr_id!=2", 0),
    ):  # fmt: skip
        assert lab.session.ask(parse_expression(f"B.cq0.total({filters})").node) == count, filters
    assert trip(lab, "until B.cq0.total(opcode=RECV) == 0 within 1us").met
    for wrong in ("opcode=RECEIVE", "status=SUCESS"):
        with pytest.raises(NotUnderstood, match="is no"):
            lab.session.ask(parse_expression(f"B.cq0.total({wrong})").node)


def test_objects_of_a_kind() -> None:
    lab = lab_of("use rc_pair")
    assert lab.look("count(A.qp)") == 2
    assert lab.look("all(A.qp.state == RTS)")
    well(lab, "modify_qp A.qp1 state=ERR")
    assert not lab.look("all(qp.state == RTS)")
    assert lab.look("count(A.qp.state == ERR) == 1 and any(A.qp.state == RTS)")
    assert lab.look("all(A.cq.total(status=SUCCESS) == 0)")
    assert lab.look("all(B.flow.qp == NULL) and not any(B.flow.qp == NULL)")
    well(lab, "destroy_qp A.qp1")
    assert lab.look("count(A.qp)") == 1
    with pytest.raises(NotUnderstood) as wrong:
        lab.look("A.qp.state == RTS")
    assert wrong.value.hint == "write any(A.qp.… == …) or A.qp0"


def test_until_and_programs_ask_about_kinds() -> None:
    lab = lab_of(RECV, "program B.w lines={wait any(B.cq.count > 0); poll_cq B.cq0}", SEND)
    assert trip(lab, "until max(A.cq0.count, B.cq0.count) // 1 == 1").met
    assert trip(lab, "until all(B.program.state == DONE)").met
    assert lab.look("B.cq0.count") == 0


def test_the_total_of_a_name_is_that_of_the_thing_it_means_now() -> None:
    lab = lab_of(RECV, SEND, "run")
    assert lab.look("B.cq0.total(wr_id=2)") == 1
    for line in ("destroy_qp B.qp0", "destroy_cq B.cq0", "create_cq B.cq0 cqe=4"):
        well(lab, line)
    assert lab.look("B.cq0.total") == lab.look("B.cq0.total(wr_id=2)") == 0


_FILES = {path.stem: path for path in sorted(pathlib.Path("scenarios").glob("*/*.rdmalab.yaml"))}
_MOST = 120  # events of a scenario
_PROGRAMS = (
    "program A.tx lines={loop 3; post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:1500] "
    "flags=SIGNALED; wait A.cq0.count > 0; poll_cq A.cq0 num_entries=4; end}",
    "program B.rx lines={loop; post_recv B.qp0 wr_id=8 sg=B.mr0[0:2048]; wait B.cq0.count > 0; "
    "poll_cq B.cq0 num_entries=4; end}",
)


@each("file", a_twentieth(_FILES))
def test_whatever_changes_is_noticed(file: str) -> None:
    runner = Runner(load(str(_FILES[file]), VOCABULARY), open_session)
    left, wrong = _MOST, list[str]()
    while not runner.over and left > 0:
        for reply in runner.replies():
            for _, missed in watched(runner.session, reply, values(runner.session)):
                wrong += missed
                left -= 1
                if left < 0:
                    break
    assert not wrong


# --------------------------------------------------------------------------- the same halts
def _busy(*more: str) -> Lab:
    return lab_of(*BUSY, *_PROGRAMS, *more)


def _always(lab: Lab) -> Lab:
    """A lab that asks every question after every event."""
    lab.session.touches = lambda _: True
    lab.session.world.programs.touches = None
    return lab


def _atoms_of(lab: Lab) -> Iterator[str]:
    """Comparisons with the values that this run has seen, each true at some moment of it."""
    reply = next(lab.replies("run"))
    for seen, _ in watched(lab.session, reply, values(lab.session)):
        for path, value in seen.items():
            if isinstance(value, enum.Enum):
                yield f"{path} == {value.name}"
            elif isinstance(value, bool):
                yield f"{path}" if value else f"not {path}"
            elif isinstance(value, int):
                yield f"{path} == {value}"
                yield f"{path} > {value}"


@cache
def _atoms() -> list[str]:
    return sorted(set(_atoms_of(_busy())))


_AWAITED = st.deferred(lambda: st.sampled_from([a for a in _atoms() if a.startswith("A.")]))
_ATOM = st.deferred(lambda: st.sampled_from(_atoms()))


def _questions(atom: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(atom, st.sampled_from(["and", "or", "and not", "or not"]), atom)
    return atom | joined.map(lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})")


@given(_questions(_ATOM), st.sampled_from(["until {}", "break {}\nrun\nrun", "watch {}\nrun\nrun"]))
@settings(max_examples=30)
def test_a_run_halts_where_it_would_if_asked_after_every_event(question: str, way: str) -> None:
    lines = way.format(question).split("\n")
    assert _halts(_busy(), lines) == _halts(_always(_busy()), lines)


def _halts(lab: Lab, lines: list[str]) -> list[tuple[int, str]]:
    found = []
    for line in lines:
        for reply in lab.do(line):
            over = reply.travel.over if reply.travel is not None else str(reply.error)
            found.append((lab.session.world.event, over))
    return found


@given(_questions(_AWAITED), st.lists(st.integers(1, 60), max_size=3))
@settings(max_examples=30)
def test_a_program_goes_on_where_it_would_if_asked_after_every_event(
    question: str, stops: list[int]
) -> None:
    def played(lab: Lab) -> str:
        lab.do(f"program A.w lines={{wait {question}; post_send A.qp0 opcode=SEND}}")
        for events in stops:
            lab.do(f"step {events}")
            lab.do("back 7")
        lab.do("goto end")
        lab.do("run")
        return fingerprint(lab)

    assert played(_busy()) == played(_always(_busy()))


# --------------------------------------------------------------------------- what is not asked
@pytest.mark.parametrize(
    ("question", "most"),
    [
        ("A.cq0.count > 9", 3), ("A.qp0.sq.free > 999", 4), ("A.qp0.state == ERR", 2),
        ("wire.count(syndrome=RNR_NAK) > 9", 5), ("log.any(errno=ENOMEM)", 1),
        ("A.cq0.total(status=SUCCESS) > 9", 3), ("A.qp7.state == RTS or A.cq0.count > 9", 3),
        ("A.qp0.rnr_retry < 7", 2), ("A.qp0.sq.posted > 9", 3), ("wire.any(qp!=A.qp0.name)", 5),
    ],
)  # fmt: skip
def test_it_is_asked_only_after_events_that_concern_it(question: str, most: int) -> None:
    lab = lab_of(RECV, SEND)
    node, asked = parse_expression(question).node, 0
    for _ in range(lab_of(RECV, SEND).run().travel.events):  # type: ignore[union-attr]
        trip(lab, "step")
        asked += lab.session.touches(node)
    assert asked <= most
    assert lab.session.world.event > most


def test_an_event_of_another_branch_is_not_taken_for_this_one() -> None:
    """Two branches have events with equal numbers and other records."""
    lab = _busy()
    for line in ("step 8", "back 4", "step 4", "back 2", SEND.replace("wr_id=1", "wr_id=5")):
        lab.do(line)
    before = values(lab.session)
    for seen, missed in watched(lab.session, next(lab.replies("run")), before):
        assert seen
        assert not missed


def test_unnoticed_lists_changes_that_touches_missed() -> None:
    lab = lab_of(RECV, SEND)
    before = values(lab.session)
    lab.session.touches = lambda _: False
    trip(lab, "step")
    assert any("A.qp0" in line for line in unnoticed(lab.session, before, values(lab.session)))
