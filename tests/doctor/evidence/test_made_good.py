"""What was repaired is no failure any more: plain `why` after a fix, before and after `run`."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all

_BAD = (
    "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x100000 rkey=0xdead"
    " flags=SIGNALED"
)
_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
_RECV = "post_recv B.qp0 wr_id=10 sg=B.mr0[0:64]"
_AGAIN = ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")


def test_a_receive_flushed_by_a_repaired_failure_is_no_failure() -> None:
    lab = played("use rc_pair", _RECV, _BAD, "run")
    assert why(lab).slug == "rem-access"
    for line in ("apply", "run"):
        lab.do(line)
    assert why(lab).outcome.kind is Status.WELL


def test_after_a_reconnection_by_hand_only_the_flushed_receive_is_posted_again() -> None:
    lab = played("use rc_pair", _RECV, _BAD, "run", "poll_cq A.cq0 num_entries=2",
                 "poll_cq B.cq0 num_entries=2", *_AGAIN, _WRITE.format(4), "run")  # fmt: skip
    assert why(lab).outcome.kind is Status.WELL
    remedy = why(lab, "B.qp0.recv_wr[10]").remedy
    assert remedy is not None
    assert remedy.helps
    assert remedy.cure.lines == [_RECV]


def test_after_a_reconnection_by_hand_only_the_flushed_send_is_posted_again() -> None:
    lab = played("use rc_pair", _BAD, _WRITE.format(4), "run", "poll_cq A.cq0 num_entries=2",
                 *_AGAIN, _WRITE.format(5), "run")  # fmt: skip
    assert why(lab).outcome.kind is Status.WELL
    remedy = why(lab, "A.qp0.wr[4]").remedy
    assert remedy is not None
    assert remedy.works
    assert [line.split()[:3] for line in remedy.cure.lines] == [["post_send", "A.qp0", "wr_id=4"]]


def test_a_completion_queue_that_the_fix_destroyed_is_no_loss() -> None:
    lab = played("use rc_pair cqe=2 max_send_wr=8", *[_WRITE.format(n) for n in range(1, 5)], "run")
    assert why(lab).slug == "cq-overrun"
    for line in ("apply A.qp0.wr[3]", "run"):
        lab.do(line)
    assert lab.look("A.qp0.state == RTS") is True
    assert why(lab).outcome.kind is Status.WELL


def test_between_the_fix_and_run_the_request_is_pending() -> None:
    lab = played("use rc_pair", _BAD, "run", "apply")
    report = why(lab)
    assert (report.outcome.kind, report.name) == (Status.PENDING, "A.qp0.wr[3]")
    assert report.outcome.event == lab.session.world.event
    lab.do("run")
    assert why(lab).outcome.kind is Status.WELL


def test_a_second_failure_after_a_repair_is_trouble() -> None:
    report = why(played("use rc_pair", _BAD, "run", *_AGAIN, _BAD, "run"))
    assert (report.slug, report.is_trouble) == ("rem-access", True)


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_a_send_without_a_receive_is_pending_or_never_as_when_pointed_at(steps: int) -> None:
    send = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    lab = played("use rc_pair", send, f"step {steps}")
    report, pointed = why(lab), why(lab, "A.qp0.wr[2]")
    assert pointed.outcome.kind in (Status.PENDING, Status.NEVER)
    assert (report.outcome.kind, report.slug) == (pointed.outcome.kind, pointed.slug)


_INIT = "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1"
_OBJECTS = (
    "alloc_pd A.pd0", "alloc_pd B.pd0", "create_cq A.cq0 cqe=4", "create_cq B.cq0 cqe=4",
    "reg_mr A.mr0 pd=A.pd0 length=4096 access=LOCAL_WRITE",
    "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=2 max_recv_wr=2",
    "create_qp B.qp0 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=2 max_recv_wr=2",
)  # fmt: skip
_SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"


def test_a_call_that_was_repeated_is_counted_as_such() -> None:
    lab = played(*_OBJECTS, _INIT, "connect A.qp0 B.qp0")
    report = why(lab)
    assert report.outcome.kind is Status.WELL
    assert report.outcome.sentence == "nothing is left that failed, was refused, or hangs"
    assert report.looked.endswith("1 refused call, since repeated with success")


def test_a_call_that_was_repeated_is_no_failure_however_long_the_log() -> None:
    lab = played(*_OBJECTS, _INIT, "connect A.qp0 B.qp0", _SEND)
    lab.session.history.run(40_000)
    report, pointed = why(lab), why(lab, "A.qp0.wr[2]")
    assert (report.slug, report.outcome.kind) == (pointed.slug, pointed.outcome.kind)
    assert report.slug == "rnr-infinite"
    assert {cause.check.slug for cause in report.causes} == {"rnr-infinite"}


def test_a_pair_that_was_used_and_brought_up_once_more_stays_repaired() -> None:
    lab = played("use rc_pair", _BAD, "run", "poll_cq A.cq0", *_AGAIN, _WRITE.format(5), "run",
                 "poll_cq A.cq0", *_AGAIN)  # fmt: skip
    assert why(lab).outcome.kind is Status.WELL


_LATE = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"
_SENT = (_RECV, "post_send A.qp0 wr_id=4 opcode=SEND sg=A.mr0[0:5]", "run")


def test_a_refused_step_of_the_bring_up_is_past_once_the_queue_pair_has_worked() -> None:
    lab = played("use rc_pair", _LATE)
    assert why(lab).name.startswith("the call of event")
    for line in _SENT:
        lab.do(line)
    report = why(lab)
    assert report.outcome.kind is Status.WELL
    assert [cause.check.slug for cause in report.warnings] == ["unsignaled"]


def test_a_refused_change_of_an_attribute_is_not_past() -> None:
    lab = played("use rc_pair", "modify_qp A.qp0 timeout=14 retry_cnt=3", *_SENT)
    assert why(lab).name.startswith("the call of event")


_BUILDER = (
    "use rc_pair",
    "create_qp_ex A.x pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND "
    "max_send_wr=2",
    "create_qp B.q pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_recv_wr=4",
    "connect A.x B.q", "post_recv B.q wr_id=1 sg=B.mr0[64:128]",
)  # fmt: skip


def _batch(*wr_ids: int) -> list[str]:
    """A region that builds these sends."""
    built = (f"wr_send A.x wr_id={n} wr_flags=SIGNALED; wr_set_sge A.x sg=A.mr0[0:8]"
             for n in wr_ids)  # fmt: skip
    return ["wr_start A.x", *built, "wr_complete A.x"]


def test_a_refused_batch_is_not_made_good_by_another_batch_whose_message_came() -> None:
    lab = played(*_BUILDER, *_batch(9, 10, 11), *_batch(20), "run", "poll_cq A.cq0")
    assert lab.look("B.cq0.total(wr_id=1, status=SUCCESS)") == 1
    report = why(lab)
    assert report.slug == "region-aborted"
    assert report.is_trouble


def test_a_refused_batch_is_made_good_when_all_of_it_was_posted_since() -> None:
    more = ("post_recv B.q wr_id=2 sg=B.mr0[0:64]", "post_recv B.q wr_id=3 sg=B.mr0[0:64]")
    lab = played(*_BUILDER, *more, *_batch(9, 10, 11), *_batch(9, 10), "run", "poll_cq A.cq0")
    assert why(lab).slug == "region-aborted"
    for line in (*_batch(11), "run"):
        lab.do(line)
    assert not why(lab).is_trouble


_INLINE = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:{}] flags=SIGNALED{}"
_TWO = "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:128]} wr={wr_id=2 sg=B.mr0[128:256]}"
_TOO_LONG = _INLINE.format(1, 100, "|INLINE")


@pytest.mark.parametrize(
    ("again", "well"),
    [
        (_INLINE.format(2, 32, ""), False),  # another message
        (_INLINE.format(1, 100, ""), True),
        (_INLINE.format(2, 100, ""), True),
        (f'write A.mr0[0:4] "next"; {_INLINE.format(2, 100, "")}', False),
        (_INLINE.format(1, 64, "|INLINE"), True),
        (_INLINE.format(1, 32, "").replace("SEND sg", "RDMA_WRITE remote=B.mr0[0] sg"), False),
    ],
)
def test_a_refused_post_is_repeated_by_the_same_request_alone(again: str, *, well: bool) -> None:
    lines = ("use rc_pair", _TWO, _TOO_LONG, *again.split("; "), "run", "poll_cq A.cq0")
    report = why(played(*lines))
    assert (report.outcome.kind is Status.WELL) is well
    assert ("since repeated with success" in report.looked) is well
    assert report.is_trouble is not well


def test_an_atomic_that_was_refused_is_not_repeated_by_a_write() -> None:
    atomic = "post_send A.qp0 wr_id=3 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[12] "
    lab = Lab(profile="rxe")
    for line in ("use rc_pair", atomic + "compare_add=1 flags=SIGNALED", _WRITE.format(4), "run",
                 "poll_cq A.cq0"):  # fmt: skip
        lab.do(line)
    report = why(lab)
    assert (report.outcome.kind, report.is_trouble) == (Status.REFUSED, True)


_SECOND = tuple(
    f"create_qp {n}.qp1 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0" for n in "AB"
)
_UP = ("connect A.qp1 B.qp1", "post_recv B.qp1 wr_id=5 sg=B.mr0[0:64]")
_EARLY = "post_send A.qp1 wr_id={} opcode=SEND sg=A.mr0[{}] flags=SIGNALED"
_FILL = ("fill A.mr0[0:8] 7",)


@pytest.mark.parametrize("destroyed", [False, True])
@pytest.mark.parametrize(
    ("again", "between", "well"),
    [
        (_EARLY.format(7, "0:8"), (), True),
        (_EARLY.format(8, "0:8"), (), True),
        (_EARLY.format(7, "0:8"), _FILL, True),
        (_EARLY.format(8, "0:8"), _FILL, False),  # the next message, and the first is lost
        (_EARLY.format(8, "8:16"), (), False),
    ],
)
def test_a_post_refused_for_the_state_is_repeated_after_the_bring_up(
    again: str, between: tuple[str, ...], *, well: bool, destroyed: bool
) -> None:
    lab = played("use rc_pair", *_SECOND, _EARLY.format(7, "0:8"), *_UP, *between, again, "run",
                 "poll_cq A.cq0", "poll_cq B.cq0")  # fmt: skip
    if destroyed:
        destroy_all(lab.session)
    report = why(lab)
    assert report.is_trouble is not well
    assert report.slug == ("well" if well else "wrong-state-post")


_WRONG_QUEUE_ACKNOWLEDGED = (
    "use rc_pair channel=1", "create_cq B.cq1 cqe=8 channel=B.ch0", "req_notify_cq B.cq0",
    "req_notify_cq B.cq1", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "program B.rx lines={get_cq_event B.ch0; try ack_cq_events B.cq1; poll B.cq0;"
    " destroy_qp B.qp0; destroy_cq B.cq0; destroy_cq B.cq1}",
    "program A.tx lines={sleep 2us; post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"
    " flags=SIGNALED; poll A.cq0}", "run",
)  # fmt: skip


def test_events_acknowledged_on_the_wrong_queue_are_past_once_none_is_left() -> None:
    lab = played(*_WRONG_QUEUE_ACKNOWLEDGED)
    assert "unacked-events" in [cause.check.slug for cause in why(lab).warnings]
    lab.do("apply")
    lab.do("run 1ms")
    report = why(lab)
    assert (report.outcome.kind, report.causes) == (Status.WELL, [])


def test_a_refused_acknowledgement_stays_while_events_are_unacknowledged() -> None:
    lab = played(*_WRONG_QUEUE_ACKNOWLEDGED[:5], _WRONG_QUEUE_ACKNOWLEDGED[6], "run",
                 "get_cq_event B.ch0", "ack_cq_events B.cq1")  # fmt: skip
    assert why(lab).slug == "unacked-events"


def test_the_next_message_of_a_loop_is_no_repetition_of_one_that_a_full_queue_refused() -> None:
    lab = played("use rc_pair max_send_wr=2", *map(_WRITE.format, (1, 2, 3)), "run",
                 "poll_cq A.cq0 num_entries=2", _WRITE.format(4), "run")  # fmt: skip
    assert why(lab).slug == "sq-too-small"
