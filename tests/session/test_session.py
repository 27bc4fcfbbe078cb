"""The session: a journal is the whole truth."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.command import Invocation, NotUnderstood, Ref
from rdmalab.lab import Lab
from rdmalab.spec.records import Kind, event_of, kind_of
from rdmalab.world.world import World
from tests.each import examples
from tests.labs import (
    BUSY,
    RECV,
    SEND,
    everything,
    fingerprint,
    lab_of,
    played_again,
    refusal,
    setting_out,
    trip,
    well,
)

LONG = (
    *BUSY,
    "run 2us",
    "poll_cq A.cq0",
    "link down",
    "step 3",
    "link up",
    "run 40us",
    "poll_cq A.cq0 num_entries=4",
    "post_recv B.qp0 wr_id=5",
    "run",
    "run 1ms",
    "modify_qp A.qp0 state=ERR",
    "post_send A.qp0 opcode=SEND sg=A.mr0[0:9]",
    "step",
    "destroy_qp A.qp0",
    "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "query_qp A.qp0",
    "run",
)


def test_the_journal_played_again_is_the_same_world() -> None:
    lab = lab_of(*LONG)
    refusal(lab, "modify_qp A.qp0 state=RTS")
    lab.do("nonsense")
    twin = played_again(lab)
    assert everything(twin) == everything(lab)


WORDS = (
    RECV,
    SEND,
    *BUSY,
    "step",
    "step 3 packet",
    "run 700ns",
    "run",
    "poll_cq A.cq0 num_entries=9",
    "modify_qp A.qp0 state=ERR",
    "reset A.qp0",
    "to_rts A.qp0 B.qp0",
    "link down",
    "link up",
    "link latency=2us",
    "fault corrupt A->B byte=50",
    "fault clear",
    "destroy_qp B.qp0",
    "dereg_mr B.mr0",
    "oops",
    "resize_cq A.cq0 cqe=0",
    "fill B.mr0[0:9] 7",
)


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_journal_played_again_is_the_same_world(lines: list[str]) -> None:
    lab = lab_of()
    lab.session.max_events = 2_000
    for line in lines:
        lab.do(line)
    assert everything(played_again(lab)) == everything(lab)


def test_a_journey_stopped_midway_is_in_the_journals_places() -> None:
    lab = lab_of(*BUSY)
    travel = setting_out(lab, "run")
    travel.go(13)
    travel.stop()
    well(lab, "fill A.mr0[9:20] 0xff")
    trip(lab, "run")
    assert everything(played_again(lab)) == everything(lab)


def test_the_journal_says_when_and_as_which_event() -> None:
    lab = lab_of(RECV, SEND, "run 250ns", "poll_cq A.cq0")
    entry = lab.session.journal[-1]
    assert (entry.at_ns, entry.event) == (250, lab.session.world.event)
    assert entry.invocation == Invocation("poll_cq", {"cq": Ref("A", "cq0")})
    names = {each.invocation.name for each in lab.session.journal}
    assert names == {
        "alloc_pd",
        "reg_mr",
        "create_cq",
        "create_qp",
        "modify_qp",
        "post_recv",
        "post_send",
        "poll_cq",
    }


def test_what_only_looks_leaves_no_trace() -> None:
    lab = lab_of(*BUSY, "run 2us")
    before = everything(lab)
    for line in (
        "show",
        "show wire",
        "changes",
        "read A.mr0[0:9]",
        "hexdump B.mr0",
        "faults",
        "help",
        "explain psn",
        "checkpoint here",
        "show log",
        "show story",
        "show counters",
    ):
        well(lab, line)
    assert everything(lab) == before


def test_events_are_numbered_without_gaps() -> None:
    lab = lab_of(*LONG)
    refusal(lab, "create_cq A.cq2 cqe=0")
    lab.do("fill A.mr0[0:9999]")
    lab.do("bogus")
    numbers = [event_of(record) for record in lab.session.world.trace.records]
    assert numbers == sorted(numbers)
    commands = [entry.event for entry in lab.session.journal]
    assert commands == sorted(set(commands))
    called = [event_of(r) for r in lab.session.world.trace.records if kind_of(r) is Kind.CALLED]
    assert called == commands


def test_every_command_is_its_own_cause_and_every_later_event_has_one() -> None:
    lab = lab_of(*LONG)
    commands = {entry.event for entry in lab.session.journal}
    for number, record in enumerate(lab.session.world.trace.records):
        cause = record[2]
        assert cause == -1 if event_of(record) in commands else 0 <= cause < number


def test_an_invocation_of_nothing_known() -> None:
    session = Lab().session
    with pytest.raises(NotUnderstood, match='no verb "fly"'):
        session.perform(Invocation("fly", {}))
    assert session.world.event == -1


def test_an_invocation_without_answer() -> None:
    lab = lab_of(RECV, SEND)
    lab.session.answer = None
    assert lab.do("until A.cq0.count == 1")[-1].error is not None
    with pytest.raises(NotUnderstood):
        lab.look("now")


def test_a_checkpoint_is_a_place() -> None:
    lab = lab_of("run 5us", "checkpoint here")
    assert lab.session.checkpoints == {"here": ("main", (lab.session.world.event, 5_000))}


def test_a_refusal_is_at_once_and_an_error_completion_later() -> None:
    """At once: an errno, and the line is no success. Later: the line is one, and a CQE tells."""
    lab = lab_of()
    reply = lab.do("post_send A.qp0 opcode=SEND flags=0x40")[-1]
    assert reply.failed
    assert lab.look("A.cq0.count") == 0
    late = lab.do("post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=1 rkey=1")[
        -1
    ]
    assert not late.failed
    trip(lab, "run")
    assert lab.look("A.cq0.cqes[0].status == REM_ACCESS_ERR")


def test_the_digest_changes_with_a_nanosecond() -> None:
    one, two = lab_of(SEND, "run 1us", RECV), lab_of(SEND, "run 1001ns", RECV)
    assert fingerprint(one) != fingerprint(two)
    assert isinstance(one.session.world, World)


def test_a_parameter_given_as_none_is_not_given_and_the_command_is_in_the_journal() -> None:
    lab = lab_of("use rc_pair")
    given = {"direction": ("A", "B"), "octets": "00ff", "packet": None}
    outcome = lab.session.perform(Invocation("inject", given))
    assert outcome.event == lab.session.world.event
    assert lab.session.journal[-1].invocation.name == "inject"
    assert fingerprint(played_again(lab)) == fingerprint(lab)
