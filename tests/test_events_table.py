"""completions.md, sections 4 to 8: when a CQE comes, flushes, overruns, wake-ups and async events.

What nobody ever raises stands in NEVER, with the reason.
"""

import re

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import Kind
from tests.labs import refusal, seen, well
from tests.services import raised, services, state, statuses, to
from tests.test_completions_table import BAD_GATHER, BAD_WRITE, READ, SHORT, section

E = AsyncEvent
SOFT, STRICT, FAST = "rxe", "strict", "mlx5"


def recv(wr_id: int) -> str:
    return f"post_recv B.qp0 wr_id={wr_id} sg=B.mr0[0:128]"


def send(wr_id: int, flags: str = "SIGNALED", length: int = 8) -> str:
    return f"post_send A.qp0 wr_id={wr_id} opcode=SEND sg=A.mr0[0:{length}] flags={flags}"


def write(wr_id: int, flags: str = "SIGNALED") -> str:
    return (
        f"post_send A.qp0 wr_id={wr_id} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags={flags}"
    )


def ok(*wr_ids: int) -> list[tuple[int, str]]:
    return [(wr_id, "SUCCESS") for wr_id in wr_ids]


def flushed(*wr_ids: int) -> list[tuple[int, str]]:
    return [(wr_id, "WR_FLUSH_ERR") for wr_id in wr_ids]


# --------------------------------------------------------------------------- 4. when
def test_success_says_nothing_unsignaled_an_error_always_does() -> None:
    lab = services("RC", STRICT, write(1, "0"), write(2), write(3, "0"), "run")
    assert lab.look("A.qp0.sq.used") == 3
    assert statuses(lab, "A.cq0") == ok(2)
    assert lab.look("A.qp0.sq.used") == 1
    well(lab, BAD_WRITE.replace("wr_id=1", "wr_id=4"))
    lab.run()
    assert statuses(lab, "A.cq0") == [(4, "REM_ACCESS_ERR")]


def test_every_consumed_receive_gives_one() -> None:
    lab = services("RC", STRICT, recv(1), recv(2), send(1, "0"), send(2, "0"), "run")
    assert statuses(lab, "B.cq1") == ok(1, 2)
    assert statuses(lab, "A.cq0") == []


def test_completions_keep_the_order_of_posting() -> None:
    """The SEND is acknowledged together with the READ before it, never ahead of it."""
    lab = services("RC", STRICT, recv(9), READ, send(2), write(3), "run")
    assert statuses(lab, "A.cq0") == ok(1, 2, 3)


@pytest.mark.parametrize("qp_type", ["UC", "UD"])
def test_without_acknowledgement_sent_is_done(qp_type: str) -> None:
    lab = services(qp_type, STRICT, "link down", send(1) + to(qp_type), "run")
    assert statuses(lab, "A.cq0") == ok(1)
    assert statuses(lab, "B.cq1") == []


# --------------------------------------------------------------------------- 5. flushes
_DIE = "modify_qp A.qp0 state=ERR"


def test_1_the_failing_one_first_then_the_others_oldest_first() -> None:
    lab = services("RC", STRICT, "post_recv A.qp0 wr_id=7", "post_recv A.qp0 wr_id=8", BAD_GATHER)
    for line in (write(2, "0"), write(3), "run"):
        well(lab, line)
    assert statuses(lab, "A.cq0") == [(1, "LOC_PROT_ERR"), *flushed(2, 3)]
    assert statuses(lab, "A.cq1") == flushed(7, 8)


def test_2_4_what_was_sent_is_flushed_although_it_may_have_arrived() -> None:
    lab = services("RC", STRICT, 'write A.mr0[0:5] "there"', "fault drop B->A", write(1))
    for line in ("step packet", "run 2us", _DIE):
        well(lab, line)
    assert lab.look('B.mr0[0:5] == "there"')
    assert statuses(lab, "A.cq0") == flushed(1)


def test_3_what_is_posted_in_err_is_flushed_at_once() -> None:
    for profile, receives in ((STRICT, flushed(7)), (SOFT, [])):
        lab = services("RC", profile, _DIE, write(1), "post_recv A.qp0 wr_id=7")
        assert statuses(lab, "A.cq0") == flushed(1)
        assert statuses(lab, "A.cq1") == receives


def test_3_sqe_flushes_only_the_send_queue() -> None:
    lab = services("UC", STRICT, "post_recv A.qp0 wr_id=7", BAD_GATHER, "run", write(2))
    assert state(lab, "A.qp0") == "SQE"
    assert statuses(lab, "A.cq0") == [(1, "LOC_PROT_ERR"), *flushed(2)]
    assert statuses(lab, "A.cq1") == []


def test_6_reset_completes_nothing() -> None:
    for profile, kept in ((STRICT, ok(1)), (SOFT, ok(1)), (FAST, [])):
        lab = services("RC", profile, write(1), "run", "post_recv A.qp0 wr_id=7")
        for line in ("link down", write(2), "modify_qp A.qp0 state=RESET"):
            well(lab, line)
        assert (statuses(lab, "A.cq0"), statuses(lab, "A.cq1")) == (kept, [])
        assert lab.look("A.qp0.rq.used") == 0


def test_6_destroying_completes_nothing() -> None:
    lab = services("RC", STRICT, "post_recv A.qp0 wr_id=7", write(1), "destroy_qp A.qp0", "run")
    assert statuses(lab, "A.cq0") == statuses(lab, "A.cq1") == []


def test_7_a_full_queue_loses_the_rest_of_a_flush() -> None:
    lab = services("RC", SOFT, *[f"post_recv B.qp0 wr_id={n}" for n in range(4)], cqe=3)
    well(lab, "modify_qp B.qp0 state=ERR")
    assert statuses(lab, "B.cq1") == flushed(0, 1, 2)
    assert raised(lab, "B") == [E.CQ_ERR]


def test_8_a_marker_comes_last() -> None:
    lab = services("RC", STRICT, "link down", write(1), write(2, "0"), _DIE, write(99))
    assert statuses(lab, "A.cq0") == flushed(1, 2, 99)


# --------------------------------------------------------------------------- 6. overrun
def test_the_queue_is_dead_and_everybody_on_it() -> None:
    lab = services("RC", STRICT, *map(write, range(5)), "run", cqe=2)
    assert raised(lab, "A") == [E.CQ_ERR, E.QP_FATAL]
    assert (state(lab, "A.qp0"), state(lab, "B.qp0")) == ("ERR", "RTS")
    assert statuses(lab, "A.cq0") == ok(0, 1)
    for line in (write(9), "run"):
        well(lab, line)
    assert statuses(lab, "A.cq0") == []


def test_soft_roce_loses_completions_and_goes_on() -> None:
    """[ORACLE]: 8 CQEs into 3."""
    lab = services("RC", SOFT, *map(write, range(8)), "run", cqe=3)
    assert raised(lab, "A") == [E.CQ_ERR] * 5
    assert state(lab, "A.qp0") == "RTS"
    assert statuses(lab, "A.cq0") == ok(0, 1, 2)
    for line in (write(9), "run"):
        well(lab, line)
    assert statuses(lab, "A.cq0") == ok(9)


RECEIVER = {STRICT: ([E.CQ_ERR, E.QP_FATAL], "REM_OP_ERR"), SOFT: ([E.CQ_ERR], "RETRY_EXC_ERR")}


@pytest.mark.parametrize("profile", RECEIVER)
def test_a_receive_too_many_ends_its_queue_pair(profile: str) -> None:
    """Soft-RoCE says nothing to the requester, which then gives up."""
    lab = services("RC", profile, recv(1), recv(2), send(1), "run", cqe=1)
    assert statuses(lab, "A.cq0") == ok(1)
    for line in (send(2), "run"):
        well(lab, line)
    events, requester = RECEIVER[profile]
    assert raised(lab, "B") == events
    assert (state(lab, "A.qp0"), state(lab, "B.qp0")) == ("ERR", "ERR")
    assert statuses(lab, "A.cq0") == [(2, requester)]
    assert statuses(lab, "B.cq1") == ok(1)


@pytest.mark.parametrize("qp_type", ["UC", "UD"])
def test_an_error_state_is_recorded_once(qp_type: str) -> None:
    lab = services(qp_type, STRICT, recv(1), recv(2), cqe=1)
    for line in (send(1) + to(qp_type), "run", "poll_cq A.cq0", send(2) + to(qp_type), "run"):
        well(lab, line)
    (died,) = [after for _, _, after in seen(lab, Kind.STATE_CHANGED, "B") if after.name == "ERR"]
    assert died.name == state(lab, "B.qp0")


# --------------------------------------------------------------------------- 7. wake-ups
# armed for solicited only?, profile, lines, cq → events on B's channel, arm left
_LONG, _SOLICITED = 60, "SIGNALED|SOLICITED"
WAKES: dict[str, tuple[int, str, tuple[str, ...], int, Arm]] = {
    "any: the next receive": (0, STRICT, (recv(1), send(1), "run"), 1, Arm.NONE),
    "any: one for many": (0, STRICT, (recv(1), recv(2), send(1), send(2), "run"), 1, Arm.NONE),
    "solicited: not this one": (1, STRICT, (recv(1), send(1), "run"), 0, Arm.SOLICITED),
    "solicited: this one": (1, STRICT, (recv(1), send(1, _SOLICITED), "run"), 1, Arm.NONE),
    "solicited: an error": (1, STRICT, (SHORT, send(1, length=_LONG), "run"), 1, Arm.NONE),
    "solicited: a flush": (1, STRICT, (recv(1), "modify_qp B.qp0 state=ERR"), 1, Arm.NONE),
    "solicited: a flush, rxe": (1, SOFT, (recv(1), "modify_qp B.qp0 state=ERR"), 1, Arm.NONE),
    "solicited: an error, rxe": (
        1, SOFT, ("post_recv B.qp0 wr_id=1 sg=B.mr0[0:4]", send(1), "run"), 0, Arm.SOLICITED,
    ),
    "solicited: its SE bit, rxe": (
        1, SOFT, ("post_recv B.qp0 wr_id=1 sg=B.mr0[0:4]", send(1, _SOLICITED), "run"), 1, Arm.NONE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WAKES)
def test_completions_that_raise_a_cq_event(case: str) -> None:
    solicited, profile, lines, events, left = WAKES[case]
    lab = services("RC", profile, f"req_notify_cq B.cq1 solicited_only={solicited}", *lines)
    assert (lab.look("B.ch0.events"), lab.look("B.cq1.armed")) == (events, left)


@pytest.mark.parametrize(("profile", "events"), [(STRICT, 0), (SOFT, 0), (FAST, 1)])
def test_req_notify_cq_with_a_completion_already_queued(profile: str, events: int) -> None:
    """[ORACLE rc_notify_with_completion_already_queued]: no event."""
    lab = services("RC", profile, recv(1), send(1), "run", "req_notify_cq B.cq1")
    assert lab.look("B.ch0.events") == events


def test_a_failed_send_raises_a_solicited_event_except_on_rxe() -> None:
    for profile, events in ((STRICT, 1), (SOFT, 0)):
        lab = services("RC", profile, "req_notify_cq A.cq0 solicited_only=1", BAD_WRITE, "run")
        assert lab.look("A.ch0.events") == events


def test_arming_twice_any_wins() -> None:
    lab = services("RC", STRICT, "req_notify_cq B.cq1", "req_notify_cq B.cq1 solicited_only=1")
    for line in (recv(1), send(1), "run"):
        well(lab, line)
    assert lab.look("B.ch0.events") == 1


def test_a_wake_up_for_nothing_and_the_wait_after_it() -> None:
    lab = services("RC", STRICT, "req_notify_cq B.cq1", recv(1), send(1), "run", "poll_cq B.cq1")
    well(lab, "get_cq_event B.ch0")
    assert well(lab, "poll_cq B.cq1").value == []
    assert refusal(lab, "get_cq_event B.ch0").errno == 11


def test_two_queues_share_a_channel() -> None:
    lab = services("RC", STRICT, "req_notify_cq A.cq0", "req_notify_cq A.cq1")
    for line in ("post_recv A.qp0 wr_id=7", write(1), "run", _DIE):
        well(lab, line)
    names = [lab.session.names.of(well(lab, "get_cq_event A.ch0").value.cq) for _ in range(2)]
    assert names == ["A.cq0", "A.cq1"]


# --------------------------------------------------------------------------- 8. async events
_NOTIFIED = "modify_qp A.qp0 state=SQD en_sqd_async_notify=1"
_STOCK = "create_srq B.srq0 pd=B.pd0 max_wr=4"
_QP7 = "create_qp {0}.qp7 pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq1"
_TIED = (_QP7.format("A"), _QP7.format("B") + " srq=B.srq0", "connect A.qp7 B.qp7")
# event → node, rights, moves of B, lines
RAISED: dict[AsyncEvent, tuple[str, str, int, tuple[str, ...]]] = {
    E.CQ_ERR: ("A", "REMOTE_WRITE", 3, (*map(write, range(3)), "run")),
    E.QP_FATAL: ("A", "REMOTE_WRITE", 3, (*map(write, range(3)), "run")),
    E.QP_REQ_ERR: ("B", "0", 3, (READ, "run")),
    E.QP_ACCESS_ERR: ("B", "REMOTE_WRITE", 3, (BAD_WRITE, "run")),
    E.COMM_EST: ("B", "REMOTE_WRITE", 2, (write(1), "run")),
    E.SQ_DRAINED: ("A", "REMOTE_WRITE", 3, (write(1), "run", _NOTIFIED, "run")),
    E.PORT_ERR: ("A", "0", 3, ("link down",)),
    E.PORT_ACTIVE: ("A", "0", 3, ("link down", "link up")),
    E.SRQ_ERR: ("B", "0", 3, (_STOCK, "fault srq_error srq=B.srq0")),
    E.SRQ_LIMIT_REACHED: (
        "B", "0", 3, (_STOCK, *_TIED, "modify_srq B.srq0 srq_limit=1", "post_srq_recv B.srq0",
                      "post_send A.qp7 wr_id=1 opcode=SEND", "run"),
    ),
    E.QP_LAST_WQE_REACHED: ("B", "0", 3, (_STOCK, *_TIED, "modify_qp B.qp7 state=ERR")),
    E.DEVICE_FATAL: ("A", "0", 3, ("device_fatal A",)),
    E.GID_CHANGE: ("A", "0", 3, ("gid add A 10.0.0.7",)),
    E.PKEY_CHANGE: ("A", "0", 3, ("pkey set A 0 0x8001",)),
    E.DEVICE_SPEED_CHANGE: ("A", "0", 3, ("link rate=25Gbps",)),
}  # fmt: skip
# Whom it is about, where that is not the first queue pair, and not number 1.
ABOUT = {E.SRQ_ERR: 0x31, E.SRQ_LIMIT_REACHED: 0x31, E.QP_LAST_WQE_REACHED: 0x12, E.DEVICE_FATAL: 0}
NEVER = {
    E.PATH_MIG: "no alternate paths on RoCE", E.PATH_MIG_ERR: "no alternate paths on RoCE",
    E.LID_CHANGE: "InfiniBand only", E.SM_CHANGE: "InfiniBand only",
    E.CLIENT_REREGISTER: "InfiniBand only", E.WQ_FATAL: "no WQ objects",
}  # fmt: skip
# A device dies, and tables change, because somebody says so at the prompt.
ON_SOFT_ROCE = {
    E.CQ_ERR, E.SQ_DRAINED, E.PORT_ERR, E.PORT_ACTIVE, E.GID_CHANGE,
    E.SRQ_LIMIT_REACHED, E.DEVICE_FATAL,
}  # fmt: skip


def test_every_async_event_of_the_table_has_a_row() -> None:
    found = re.findall(r"^\| (\d+) \| (\w+) \| ([^|]+) \| ([^|]+) \|", section(8), re.MULTILINE)
    assert [(int(number), name, text) for number, name, text, _ in found] == [
        (int(event), event.name, row.text) for event, row in EVENTS.items()
    ]
    assert {*RAISED, *NEVER} == set(AsyncEvent)
    assert not set(RAISED) & set(NEVER)


def played(event: AsyncEvent, profile: str) -> Lab:
    _, rights, moves, lines = RAISED[event]
    overruns = event in (E.CQ_ERR, E.QP_FATAL)
    return services(
        "RC", profile, *lines, rights=rights, peer_state=moves, cqe=1 if overruns else 16
    )


@pytest.mark.parametrize("event", RAISED, ids=lambda e: e.name)
def test_an_event_is_raised_about_its_object(event: AsyncEvent) -> None:
    lab = played(event, STRICT)
    node = RAISED[event][0]
    assert event in raised(lab, node)
    noun = EVENTS[event].noun
    numbers = {number for e, number in lab.session.world.nodes[node].async_events if e is event}
    assert numbers == {ABOUT.get(event, 0x11 if noun == "qp" else 1)}


def test_soft_roce_raises_no_pkey_change_for_its_table_stays() -> None:
    with pytest.raises(AssertionError, match="P_Key table of this device cannot be changed"):
        played(E.PKEY_CHANGE, SOFT)


@pytest.mark.parametrize(
    "event", [e for e in RAISED if e is not E.PKEY_CHANGE], ids=lambda e: e.name
)
def test_soft_roce_raises_only_these(event: AsyncEvent) -> None:
    lab = played(event, SOFT)
    assert {*raised(lab, "A"), *raised(lab, "B")} <= ON_SOFT_ROCE
    assert (event in raised(lab, RAISED[event][0])) is (event in ON_SOFT_ROCE)


def test_sq_drained_on_request_and_always_on_rxe() -> None:
    for profile, events in ((STRICT, []), (SOFT, [E.SQ_DRAINED])):
        lab = services("RC", profile, "modify_qp A.qp0 state=SQD", "run")
        assert raised(lab, "A") == events


def test_sq_drained_is_raised_on_err_too() -> None:
    lab = services("RC", STRICT, "fault drop B->A", READ, "step packet", _NOTIFIED)
    assert raised(lab, "A") == []
    well(lab, _DIE)
    assert raised(lab, "A") == [E.SQ_DRAINED]


def test_an_error_with_a_completion_raises_nothing_at_the_requester() -> None:
    lab = services("RC", STRICT, BAD_WRITE, "run")
    assert (raised(lab, "A"), raised(lab, "B")) == ([], [E.QP_ACCESS_ERR])


def test_async_events_queue_until_they_are_read() -> None:
    lab = services("RC", STRICT, *["link down", "link up"] * 3)
    taken = [well(lab, "get_async_event A").value.event for _ in range(6)]
    assert taken == [E.PORT_ERR, E.PORT_ACTIVE] * 3
    assert refusal(lab, "get_async_event A").errno == 11
    assert len(raised(lab, "B")) == 6
