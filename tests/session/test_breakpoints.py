"""Breakpoints: each is found forward and backward, at the same events, and says what it saw."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.session import history
from rdmalab.session.breakpoints import UNKNOWN, value_text
from rdmalab.session.run_control import PRESENT
from rdmalab.spec.records import Kind, kind_of
from rdmalab.spec.states import QPState
from tests.labs import RECV, SEND, everything, lab_of, trip, well
from tests.machine.sessions import random_lab

WRITE = "post_send A.qp0 opcode=RDMA_WRITE wr_id=7 sg=A.mr0[0:600] remote=B.mr0[100] flags=SIGNALED"
BAD = "post_send A.qp0 opcode=RDMA_READ wr_id=8 sg=A.mr0[0:8] remote_addr=0 rkey=1 flags=SIGNALED"
LINES = ('write A.mr0[0:5] "hello"', RECV, SEND, WRITE, "run 2us", WRITE, "run", BAD, "run")
# The question, and the kind of record that makes it so or changes it, where there is one.
BREAKS = (
    ("break A.qp0.state == ERR", Kind.STATE_CHANGED),
    ("break A.cq0.last.status == SUCCESS", Kind.CQE_ADDED),
    ("break A.cq0.last.status == REM_ACCESS_ERR", Kind.CQE_ADDED),
    ("break wire.last.opcode == ACKNOWLEDGE", Kind.PACKET_SENT),
    ("break wire.last.psn == 1", Kind.PACKET_SENT),
    ("break log.last.verb == post_send", Kind.CALLED),
    ("break A.qp0.ack_timer.armed", None),
    ("break B.mr0[100:105] == \"hello\"", Kind.MEMORY_WRITTEN),
    ("break A.cq0.count >= 2 and not idle", None),
    ("break now >= 2us", None),
    ("break A.cq0.count > 0", Kind.CQE_ADDED),
    ("watch A.qp0.state", None),
    ("watch B.mr0[100:105]", Kind.MEMORY_WRITTEN),
    ("watch B.mr0[699]", Kind.MEMORY_WRITTEN),
    ("watch A.cq0.count", Kind.CQE_ADDED),
    ("watch A.cq0.last.wr_id", Kind.CQE_ADDED),
    ("watch wire.count(opcode=ACKNOWLEDGE)", Kind.PACKET_SENT),
    ("watch A.qp0.next_psn + B.qp0.rq_psn", None),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("EVENTS_APART", 8), ("RECENT", 6), ("OLD", 2), ("HOT", 2)):
        monkeypatch.setattr(history, name, value)


def halts(lab: Lab, word: str) -> list[tuple[int, str]]:
    """Each halt of `run` or `rewind` from here on: after which event, and what was said."""
    found = []
    while (travel := trip(lab, word)).over.startswith(("breakpoint", "watch")):
        found.append((lab.session.world.event, travel.over))
    return found


def forward_and_backward(lab: Lab) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    backward = halts(lab, "rewind")
    assert lab.session.world.event == -1
    forward = halts(lab, "run")
    return forward, backward


@pytest.mark.parametrize(("line", "kind"), BREAKS)
def test_what_is_found_forward_is_found_backward(line: str, kind: Kind | None) -> None:
    lab = lab_of(*LINES)
    whole = everything(lab)
    well(lab, line)
    forward, backward = forward_and_backward(lab)
    assert forward
    assert backward == forward[::-1]
    assert everything(lab) == whole
    assert lab.session.history.live
    for event, _ in forward if kind else ():
        span = lab.session.world.trace.records.span(event)
        kinds = {kind_of(r) for r in lab.session.world.trace.records[span.start : span.stop]}
        assert kind in kinds or kinds & {Kind.HOST_WROTE, Kind.CREATED}, (event, kinds)


@settings(max_examples=15, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.data())
def test_in_any_session_forward_is_the_mirror_of_backward(seed: int, data: st.DataObject) -> None:
    lab = random_lab(Random(seed))
    questions = [line for line, _ in BREAKS]
    for line in data.draw(st.lists(st.sampled_from(questions), min_size=1, max_size=3)):
        lab.do(line)
    if not lab.session.breakpoints:
        return
    forward, backward = forward_and_backward(lab)
    assert backward == forward[::-1]


# --------------------------------------------------------------------------- what halts us
def test_break_condition_that_is_true_already_does_not_halt() -> None:
    lab = lab_of(RECV, SEND, "break A.qp0.state == RTS")
    assert trip(lab, "run").over == "idle: no packet, timer or program is pending"
    assert halts(lab, "rewind") == [(12, "breakpoint 1: A.qp0.state == RTS")]


def test_break_condition_about_last_is_evaluated_with_each() -> None:
    lab = lab_of("break wire.last.opcode == ACKNOWLEDGE", "watch wire.last.opcode")
    forward = []
    for _ in range(3):
        well(lab, WRITE)
        forward += halts(lab, "run")
    acks = lab.look("wire.count(opcode=ACKNOWLEDGE)")
    assert sum("breakpoint 1" in answer for _, answer in forward) == acks > 1
    for _, answer in forward:  # a watch speaks of changes only
        if "watch 2" in answer:
            was, now = answer.partition(" was ")[2].split(", is ")
            assert was != now


def test_break_condition_is_not_evaluated_for_another_cq() -> None:
    lab = lab_of(RECV, "break A.cq0.last.status == SUCCESS")
    lab.do("post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED")
    well(lab, "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8]")  # only B hears of it
    first, *more = halts(lab, "run")
    assert lab.look("A.cq0.total() == 1 and B.cq0.total() == 1")
    assert not more
    assert first[1] == "breakpoint 1: A.cq0.last.status == SUCCESS"


def test_break_values_that_are_numbers_and_states() -> None:
    lab = lab_of(WRITE, "watch A.cq0.count", "watch A.qp0.ack_timer.armed")
    lines = [text for _, text in halts(lab, "run")]
    assert "watch 1: A.cq0.count was 0, is 1" in " ".join(lines)
    assert "watch 2: A.qp0.ack_timer.armed was no, is yes" in lines
    well(lab, "delete")
    well(lab, "modify_qp A.qp0 state=RESET")
    well(lab, "watch A.qp0.state")
    lines = [text.partition(" was ")[2] for _, text in halts(lab, "rewind")]
    moves = [
        "RTS, is RESET",
        "RTR, is RTS",
        "INIT, is RTR",
        "RESET, is INIT",
        "not defined, is RESET",
    ]
    assert lines == moves


@pytest.mark.parametrize(
    ("value", "text"),
    [(UNKNOWN, "not defined"), (True, "yes"), (False, "no"), (0, "0"), (1, "1"), (None, "nothing"),
     (QPState.INIT, "INIT"), (QPState.RESET, "RESET"), (b"\x01\xff", "[01 ff]"), ("x", "x")],
)  # fmt: skip
def test_an_answer_in_words(value: object, text: str) -> None:
    assert value_text(value) == text


def test_two_at_once_speak_both_and_only_once() -> None:
    lab = lab_of(WRITE, "break A.cq0.count == 1", "watch A.cq0.total()", "run")
    assert not halts(lab, "run")
    here = lab.session.history.here
    well(lab, "break A.cq0.free == 15")  # a new one has not spoken yet
    event, answer = halts(lab, "rewind")[0]
    assert event == here.event
    assert answer.count("; ") == 2


def test_what_a_command_did_is_found_going_back_only() -> None:
    lab = lab_of("watch A.mr0[0:5]", 'write A.mr0[0:5] "hello"')
    event = lab.session.world.event
    well(lab, "link latency=2us")
    assert halts(lab, "run") == []
    assert halts(lab, "rewind")[0] == (
        event, "watch 1: A.mr0[0:5] was [00 00 00 00 00], is [68 65 6c 6c 6f]"
    )  # fmt: skip


def test_what_comes_and_goes_is_not_there_before_and_after() -> None:
    lab = lab_of("alloc_pd A.brief", "watch A.brief.mrs", "dealloc_pd A.brief", "alloc_pd A.other")
    answer = halts(lab, "rewind")
    assert answer == [
        (15, "watch 1: A.brief.mrs was 0, is not defined"),
        (14, "watch 1: A.brief.mrs was not defined, is 0"),
    ]
    assert [event for event, _ in halts(lab, "run")] == [14, 15]


def test_a_halt_on_one_branch_is_no_halt_on_another() -> None:
    lab = lab_of(WRITE, "run", "goto 13", WRITE, "break A.cq0.count == 1")
    assert lab.session.history.branch.name == "branch-1"
    (halt,) = halts(lab, "run")
    well(lab, "switch main")
    assert halts(lab, "rewind") == [halt]


def test_until_in_the_past_halts_at_a_breakpoint_first() -> None:
    lab = lab_of(WRITE, "run", "goto 14", "break wire.last.opcode == ACKNOWLEDGE")
    travel = trip(lab, "until A.cq0.count == 1")
    assert (travel.over, travel.met) == ("breakpoint 1: wire.last.opcode == ACKNOWLEDGE", False)
    assert trip(lab, "until A.cq0.count == 1").over == "there"
    assert trip(lab, "run").over in (PRESENT, "idle: no packet, timer or program is pending")


def test_of_many_watched_bytes_those_are_printed_that_differ() -> None:
    lab = lab_of("watch B.mr0[0:512]", 'write B.mr0[30:35] "hello"')
    text = "watch 1: B.mr0[0:512]: bytes 30 to 34 were 00 00 00 00 00, are 68 65 6c 6c 6f"
    assert halts(lab, "rewind")[0][1] == text
    lab = lab_of("watch B.mr0[100:200]", f'write B.mr0[100:130] "{"x" * 30}"')
    octets = " ".join(["78"] * 16)
    assert (
        f"were {' '.join(['00'] * 16)} and 14 more, are {octets} and 14 more"
        in (halts(lab, "rewind")[0][1])
    )
