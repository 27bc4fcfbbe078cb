"""Sends that programs post through their pages."""

import errno
from collections.abc import Iterator

import pytest

from rdmalab.command import Ref
from rdmalab.compat.c import wire
from rdmalab.spec.states import QPState
from rdmalab.spec.work import SendFlags, WROpcode
from tests.compat.c.test_page import (
    QUEUES_AT,
    SENDS_AT,
    SHOWN_WORDS,
    SLOT,
    Looker,
    connected,
    journal,
    typed,
)
from tests.compat.c.test_server import serving

SEND = wire.NUMBERS["post_send"]
DEPTH = 32  # of the send queue of `Looker.create_qp`


@pytest.fixture
def looker() -> Iterator[Looker]:
    with serving() as server:
        yield Looker(*server)


def message(looker: Looker, qp: int, wr_id: int) -> int:
    """Post a signaled send of no bytes by a message; returns the errno."""
    wr = {"wr_id": wr_id, "opcode": int(WROpcode.SEND), "send_flags": int(SendFlags.SIGNALED)}
    return looker.ask("post_send", looker.at, wire.SEND.pack(wr), handle=qp, count=1)[0]


def send(looker: Looker, qp: int, wr_id: int, **fields: int) -> None:
    """The same by an entry, as the library makes it."""
    wr = {"handle": qp, "wr_id": wr_id, "opcode": int(WROpcode.SEND),
          "send_flags": int(SendFlags.SIGNALED), **fields}  # fmt: skip
    assert looker.enter(SEND, wire.SEND_ENTRY.pack(wr))
    looker.words[8] += 1


def granted(looker: Looker, slot: int) -> int:
    """Number of sends that the queue pair may ever have posted; 0: each is a message."""
    return looker.words[SENDS_AT + slot - 1]


def credit(looker: Looker, queue: int, number: int) -> tuple[int, int]:
    """What the poll of a completion allows: the slot of a queue pair, and how many sends."""
    at = QUEUES_AT + (queue - 1) * SLOT + 2 + number * SHOWN_WORDS + SHOWN_WORDS - 2
    return looker.words[at], looker.words[at + 1]


def slot_of(looker: Looker, qp: int) -> int:
    pairs = looker.server.calls.programs[0].pairs
    return next(slot for handle, slot in pairs.items() if handle[2] == qp)


def test_sends_are_posted_before_the_next_call(looker: Looker) -> None:
    _, _, qp = connected(looker)
    slot = slot_of(looker, qp)
    assert granted(looker, slot) == 0
    assert message(looker, qp, 1) == 0
    assert granted(looker, slot) == DEPTH
    for wr_id in (2, 3):
        send(looker, qp, wr_id)
    looker.ask("alloc_td")
    assert journal(looker.server)[-4:] == [*["post_send"] * 3, "alloc_td"]
    queue = looker.server.calls.world.nodes["A"].qps.items[qp].sq
    assert [wqe.wr.wr_id for wqe in queue.wqes.values()] == [1, 2, 3]
    invocations = [entry.invocation for entry in looker.server.calls.session.journal]
    by_message, by_entry, _ = (each for each in invocations if each.name == "post_send")
    sent = [each.arguments["wr"][0] | {"wr_id": 0} for each in (by_message, by_entry)]
    assert sent[0] == sent[1]


def test_the_bell_ends_a_wait_of_the_lab_and_the_send_is_executed(looker: Looker) -> None:
    _, slot, qp = connected(looker)
    typed(looker, "post_recv B.qp0 wr_id=1")
    typed(looker, "post_recv B.qp0 wr_id=2")
    assert message(looker, qp, 1) == 0
    page = looker.server.calls.programs[0].page
    assert page
    assert page.sleep()
    send(looker, qp, 2)
    assert not page.sleep()
    for _ in range(20):
        looker.server.turn(0)
    assert looker.produced(slot) == 2


def test_a_completion_allows_the_sends_whose_slots_its_poll_frees(looker: Looker) -> None:
    cq, queue, qp = connected(looker)
    slot = slot_of(looker, qp)
    for wr_id in (1, 2):
        typed(looker, f"post_recv B.qp0 wr_id={wr_id}")
        assert message(looker, qp, wr_id) == 0
    assert granted(looker, slot) == DEPTH
    for _ in range(20):
        looker.server.turn(0)
    assert [credit(looker, queue, n) for n in range(2)] == [(slot, DEPTH + 1), (slot, DEPTH + 2)]
    for wr_id in range(3, DEPTH + 1):
        send(looker, qp, wr_id)
    assert message(looker, qp, 0) == errno.ENOMEM
    assert looker.poll(cq, taken=2, entries=2)
    for wr_id in range(2):
        send(looker, qp, wr_id)
    assert message(looker, qp, 0) == errno.ENOMEM
    assert granted(looker, slot) == DEPTH + 2


def test_promises_end_with_the_state_and_with_the_slots_that_others_take(looker: Looker) -> None:
    _, queue, qp = connected(looker)
    slot = slot_of(looker, qp)
    typed(looker, "post_recv B.qp0 wr_id=1")
    assert message(looker, qp, 1) == 0
    for _ in range(20):
        looker.server.turn(0)
    assert credit(looker, queue, 0) == (slot, DEPTH + 1)
    looker.server.calls.revoke()
    assert (granted(looker, slot), credit(looker, queue, 0)) == (0, (0, 0))
    assert message(looker, qp, 2) == 0
    assert granted(looker, slot) == 2 + DEPTH - 2
    looker.modify_qp(qp, QPState.ERR)
    assert granted(looker, slot) == 0
    assert message(looker, qp, 3) == 0
    assert granted(looker, slot) == 0  # each completes at once


def test_a_send_is_posted_while_the_world_is_held(looker: Looker) -> None:
    _, _, qp = connected(looker)
    assert message(looker, qp, 1) == 0
    calls = looker.server.calls
    calls.is_held = True
    send(looker, qp, 2)
    looker.server.turn(0)
    assert journal(looker.server)[-2:] == ["post_send"] * 2
    assert not calls.memory.compared  # what is written until the next step is seen


@pytest.mark.parametrize("what", ["handle", "pieces", "opcode"])
def test_nonsense_in_a_send_does_no_harm(looker: Looker, what: str) -> None:
    _, _, qp = connected(looker)
    before = journal(looker.server)
    if what == "handle":
        send(looker, qp + 1, 1)
    else:
        send(looker, qp, 1, **{"num_sge": 2} if what == "pieces" else {"opcode": 0xFFFF})
    assert looker.ask("alloc_td")[0] == 0
    assert [name for name in journal(looker.server) if name != "post_send"] == [*before, "alloc_td"]
    assert looker.server.calls.world.nodes["A"].qps.items[qp].sq.used == 0


def test_a_send_to_a_queue_pair_that_a_person_has_destroyed_is_none(looker: Looker) -> None:
    _, _, qp = connected(looker)
    assert message(looker, qp, 1) == 0
    typed(looker, "destroy_qp A.qp0")
    assert Ref("A", "qp0") in looker.server.calls.names.values()
    send(looker, qp, 2)
    assert looker.ask("alloc_td")[0] == 0
    assert message(looker, qp, 3) == errno.EFAULT  # as of any verb
