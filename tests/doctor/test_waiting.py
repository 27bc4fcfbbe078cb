"""Threads that wait: who took what they wait for, what is never raised, what a fix does to all."""

from collections.abc import Callable

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.report.report import Report
from rdmalab.lab import Lab
from rdmalab.session.session import Session
from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all, drain

_PAIR = "use rc_pair"
_CHANNEL = "use rc_pair channel=1"


def program(name: str, *lines: str) -> str:
    return f"program {name} lines={{{'; '.join(lines)}}}"


def send(node: str, wr_id: int, flags: str = " flags=SIGNALED") -> str:
    return f"post_send {node}.qp0 wr_id={wr_id} opcode=SEND sg={node}.mr0[0:8]{flags}"


def evidence(report: Report) -> str:
    return "\n".join(each.text for each in report.causes[0].finding.evidence)


# --------------------------------------------------------------------------- completion events
_WRITE = "post_send B.qp0 wr_id=40 opcode=RDMA_WRITE sg=B.mr0[64:96] remote=A.mr0[64]"
_TAKES_ONE = ("get_cq_event B.ch0", "ack_cq_events B.cq0")


def waiting_twice(*between: str) -> Lab:
    """B waits for a second message, after an unsignaled WRITE; A sends one."""
    recv = "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:16]}"
    loop = program("B.loop", _WRITE, *_TAKES_ONE, *between, "poll_cq B.cq0", *_TAKES_ONE)
    tx = program("A.tx", send("A", 30), "poll A.cq0")
    return played(_CHANNEL, recv, "req_notify_cq B.cq0", loop, tx, "run")


def test_silent_peer_and_not_an_old_unsignaled_send() -> None:
    for asked in ("B.loop", ""):
        report = why(waiting_twice("req_notify_cq B.cq0"), asked)
        assert (report.slug, report.outcome.kind) == ("silent-peer", Status.NEVER)
        assert "unsignaled" not in [cause.check.slug for cause in report.chain]


def test_a_queue_that_was_not_armed_again_stands_before_an_unsignaled_send() -> None:
    for asked in ("B.loop", ""):
        report = why(waiting_twice(), asked)
        assert report.slug == "cq-not-armed"
        assert "unsignaled" not in [cause.check.slug for cause in report.chain]


def test_unsignaled_of_a_thread_that_waits_for_its_last_send() -> None:
    lab = played(_CHANNEL, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]", "req_notify_cq B.cq0",
                 program("B.loop", _WRITE, *_TAKES_ONE), "run")  # fmt: skip
    assert why(lab, "B.loop").slug == "unsignaled"


def test_already_polled_names_the_thread_that_read_the_event() -> None:
    recv = "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:16]}"
    waits = [program(f"B.{name}", "get_cq_event B.ch0", "ack_cq_events B.cq0", "poll_cq B.cq0")
             for name in ("one", "two")]  # fmt: skip
    lab = played(_CHANNEL, recv, "req_notify_cq B.cq0", *waits, send("A", 1), "run")
    report = why(lab, "B.two")
    assert report.slug == "already-polled"
    assert "B.one" in evidence(report)
    assert "event" in evidence(report)


# --------------------------------------------------------------------------- completions
def test_already_polled_by_the_thread_itself() -> None:
    read = "post_send A.qp0 wr_id=8 opcode=RDMA_READ sg=A.mr0[0:32] remote=B.mr0[0] flags=SIGNALED"
    lab = played(_PAIR, program("A.main", read, "poll A.cq0", "poll A.cq0"), "run 40us")
    for asked in ("A.main", ""):
        report = why(lab, asked)
        assert (report.slug, report.outcome.kind) == ("already-polled", Status.NEVER)
        assert "A.main itself polled wr8 in line 2: poll A.cq0" in evidence(report)
        assert report.remedy is not None
        assert "line 3" in report.remedy.cure.program


def test_already_polled_by_another_thread() -> None:
    read = "post_send A.qp0 wr_id={} opcode=RDMA_READ sg=A.mr0[0:32] remote=B.mr0[0] flags=SIGNALED"
    main = program(
        "A.main", read.format(7), "poll A.cq0", read.format(8), "sleep 9us", "poll A.cq0"
    )
    lab = played(_PAIR, main, program("A.thief", "sleep 8us", "poll A.cq0"), "run 60us")
    report = why(lab, "A.main")
    assert report.slug == "already-polled"
    assert "A.thief polled the last" in report.text
    assert report.remedy is not None
    assert not report.remedy.works  # the READ once more ends the wait; the bug stays


_OTHER_WRITE = (
    "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[64:72] remote=B.mr0[64] flags=SIGNALED"
)


@pytest.mark.parametrize("tidy", [(), ("stop A.t2", "reset A.qp0", "reset B.qp0")])
@pytest.mark.parametrize("polls", [
    ("poll A.cq0", "poll A.cq0"), ("loop", "poll_cq A.cq0", "end"),
    ("poll A.cq0 until A.cq0.total == 2",),
])  # fmt: skip
def test_already_polled_by_a_thread_that_then_got_its_own(
    polls: tuple[str, ...], tidy: tuple[str, ...]
) -> None:
    read = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    other = program("A.t1", "sleep 300ns", _OTHER_WRITE, *polls)
    waiter = program("A.t2", read, "sleep 10us", "poll A.cq0")
    lab = played(_PAIR, waiter, other, "run 100us", *tidy)
    for asked in ("A.t2", ""):
        report = why(lab, asked)
        assert (report.slug, report.outcome.kind) == ("already-polled", Status.NEVER)
        assert "A.t1 polled one of 2 completions from A.cq0, of A.qp0.wr[1]" in evidence(report)
        assert "nothing-outstanding" not in [cause.check.slug for cause in report.chain]


# --------------------------------------------------------------------------- asynchronous events
def test_an_event_that_is_never_raised_is_waited_for_in_vain() -> None:
    lines = ("get_async_event B", "ack_async_event B", "destroy_qp B.qp0")
    for before, answer in (
        (("modify_qp B.qp0 qp_state=ERR",), "QP_LAST_WQE_REACHED"), ((), "no event was raised"),
    ):  # fmt: skip
        lab = played(_PAIR, program("B.watch", *before, *lines), "run")
        for asked in ("B.watch", ""):
            report = why(lab, asked)
            assert (report.slug, report.outcome.kind) == ("async-never", Status.NEVER)
            assert report.is_trouble
            assert answer in evidence(report)
            assert "destroy_qp B.qp0" in evidence(report)  # its own destroy comes after the wait


def test_no_trouble_of_a_thread_that_reads_async_events() -> None:
    watch = program("B.watch", "loop", "get_async_event B", "ack_async_event B", "end")
    lab = played(_PAIR, watch, "gid add B 10.0.0.31", "run")
    assert not why(lab).is_trouble
    assert not why(lab, "B.watch").is_trouble


def test_a_device_that_never_raises_an_event_is_named() -> None:
    lines = ("modify_qp B.qp0 qp_state=ERR", "get_async_event B", "destroy_qp B.qp0")
    lab = played("use srq_pair", program("B.watch", *lines), "run", profile="rxe")
    report = why(lab, "B.watch")
    assert report.slug == "async-never"
    assert "rxe" in evidence(report)


def test_unread_events_are_mentioned() -> None:
    gids = [f"gid add B 10.0.0.3{n}" for n in (1, 2, 3)]
    lines = ("get_async_event B", "ack_async_event B", "wait B.mr0[7] == 1")
    lab = played(_PAIR, program("B.ev", *lines), *gids, "run")
    for asked in ("B.ev", ""):
        report = why(lab, asked)
        assert "2 asynchronous events of B are unread, the oldest GID_CHANGE" in evidence(report)
        assert "stays false" not in report.text
    lab = played(_PAIR, *gids, "run")
    assert "3 unread asynchronous events" in why(lab).looked


# --------------------------------------------------------------------------- conditions
def test_condition_overwritten_by_a_late_message() -> None:
    write = "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[8:9] remote=B.mr0[8]"
    reset = ("sleep 1us", "fill B.mr0[0:64] 0x00", "sleep 9us", "wait B.mr0[8] == 0")
    lab = played(_PAIR, "link latency=3us", 'write A.mr0[8:9] "\\x05"', program("A.tx", write),
                 program("B.reset", *reset), "run")  # fmt: skip
    for asked in ("B.reset", ""):
        report = why(lab, asked)
        assert report.slug == "condition-false"
        assert "A.qp0.wr[4] wrote B.mr0[8:9]" in evidence(report)
        assert "had written them while that was under way" in evidence(report)
        assert "stays false" not in report.text


# --------------------------------------------------------------------------- what is tolerated
def test_a_refusal_that_a_program_tolerates_never_stands_before_a_hang() -> None:
    lab = played(
        _PAIR, "post_recv A.qp0 wr_id=1 sg=A.mr0[0:32]",
        program("B.s", "try EBUSY dealloc_pd B.pd0", "destroy_qp B.qp0", "stop"),
        program("A.c", "poll A.cq0", 'write A.mr0[64:65] "\\x01"'), "run 100us",
    )  # fmt: skip
    report = why(lab)
    assert (report.name, report.outcome.kind, report.slug) == (
        "A.c",
        Status.NEVER,
        "peer-destroyed",
    )
    assert "in-use" not in [cause.check.slug for cause in report.causes]


# --------------------------------------------------------------------------- the whole
def test_silent_peer_fix_with_an_unplanned_message_does_not_work() -> None:
    recv = [f"post_recv A.qp0 wr_id={n} sg=A.mr0[0:8]" for n in (1, 2, 3)]
    source = program("B.source", send("B", 10), send("B", 11))
    sink = program("A.sink", "loop 3", "poll A.cq0", "end", send("A", 20, ""))
    credit = program("B.credit", "poll B.cq0", "poll B.cq0", "poll B.cq0")
    lab = played(_PAIR, *recv, "post_recv B.qp0 wr_id=4 sg=B.mr0[0:8]", source, sink, credit,
                 "run 40us")  # fmt: skip
    for asked in ("B.credit", "A.sink", ""):
        report = why(lab, asked)
        assert report.slug == "silent-peer"
        assert report.remedy is not None
        assert not report.remedy.works
        assert "it works" not in report.text
        assert "ends the wait" in report.text


def test_an_empty_message_that_frees_a_receive_is_no_fix() -> None:
    recv = [f"post_recv A.qp0 wr_id={n} sg=A.mr0[0:8]" for n in (1, 2, 3)]
    report = why(played("use rc_pair max_recv_wr=2", *recv))
    assert report.slug == "rq-full"
    assert report.remedy is not None
    assert not report.remedy.works
    assert "it works" not in report.text


def test_rnr_infinite_of_a_polling_thread_has_a_working_fix() -> None:
    lab = played(_PAIR, program("A.tx", send("A", 1), "poll A.cq0"), "run 1ms")
    report = why(lab, "A.tx")
    assert report.remedy is not None
    assert (report.slug, report.remedy.works) == ("rnr-infinite", True)


def test_a_fix_after_which_another_thread_still_hangs_only_ends_a_wait() -> None:
    tx = program("A.tx", send("A", 4), "poll A.cq0")
    after = program("A.next", "wait A.tx.state == DONE", "poll A.cq0")
    report = why(played(_PAIR, tx, after, "run 1ms"), "A.tx")
    assert report.slug == "rnr-infinite"
    assert report.remedy is not None
    assert not report.remedy.works
    assert "A.next still waits in line 2: poll A.cq0" in report.text
    alone = why(played(_PAIR, tx, "run 1ms"), "A.tx").remedy
    assert alone is not None
    assert alone.works


def test_cq_not_armed_after_the_event_was_read() -> None:
    lines = ("req_notify_cq B.cq0", "get_cq_event B.ch0", "ack_cq_events B.cq0",
             "get_cq_event B.ch0", "poll_cq B.cq0")  # fmt: skip
    lab = played(_CHANNEL, program("B.w", *lines), "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
                 send("A", 5), "run")  # fmt: skip
    report = why(lab, "B.w")
    assert report.slug == "cq-not-armed"
    assert "its event was read, but no poll has returned it" in evidence(report)


def test_async_never_without_srq_limit() -> None:
    refill = program("B.refill", "get_async_event B", "ack_async_event B")
    lab = played("use srq_pair", "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]", refill,
                 send("A", 5), "run")  # fmt: skip
    report = why(lab, "B.refill")
    assert report.slug == "async-never"
    assert "B.srq0 has no limit armed" in evidence(report)


def test_srq_limit_of_create_srq_is_ignored() -> None:
    srq = "create_srq B.srq0 pd=B.pd0 max_wr=8 srq_limit=2"
    qp = "create_qp {0}.qp1 pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0 "
    ends = (qp.format("A"), qp.format("B") + "srq=B.srq0", "connect A.qp1 B.qp1")
    refill = program("B.refill", "get_async_event B", "ack_async_event B")
    lab = played(_PAIR, srq, *ends, "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]", refill, "run")
    report = why(lab, "B.refill")
    assert "create_srq ignores srq_limit=2" in evidence(report)
    taken_back = (srq, "modify_srq B.srq0 srq_limit=0", refill, "run")
    report = why(played(_PAIR, *taken_back, profile="rxe"), "B.refill")  # which arms it
    assert "B.srq0 has no limit armed: it" in evidence(report)
    assert "modify_srq B.srq0 srq_limit=N" in report.text
    drain(lab.session)  # QP_LAST_WQE_REACHED is not the event that the thread waited for
    for asked in ("B.refill", ""):
        report = why(lab, asked)
        assert (report.slug, report.is_trouble) == ("async-never", True)
        assert "QP_LAST_WQE_REACHED ended the wait" in report.text
        assert "wrong data" not in report.text


def test_silent_peer_of_a_server_is_no_trouble() -> None:
    server = program("B.rx", "loop", "poll B.cq0", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:8]", "end")
    lab = played(_PAIR, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]", server, send("A", 30), "run 40us",
                 "poll_cq A.cq0")  # fmt: skip
    assert why(lab).outcome.kind is Status.WELL
    report = why(lab, "B.rx")
    assert (report.slug, report.is_trouble) == ("silent-peer", False)
    lab.do("stop B.rx")
    assert why(lab).slug == "well"


def test_a_thread_that_hung_before_the_teardown_still_hangs() -> None:
    lab = played(_PAIR, program("A.w", "poll A.cq0"), send("A", 30), "run 1ms", "destroy_qp A.qp0",
                 "destroy_qp B.qp0")  # fmt: skip
    assert why(lab).outcome.kind is Status.NEVER
    assert why(lab, "A.w").outcome.kind is Status.NEVER


def test_json_cure_has_ends() -> None:
    lab = played(
        _PAIR, "post_recv A.qp0 wr_id=1 sg=A.mr0[0:8]", program("A.x", "poll A.cq0"), "run 9us"
    )
    cure = why(lab, "A.x").as_json()["cure"]
    assert isinstance(cure, dict)
    assert (cure["works"], cure["ends"]) == (False, "B.qp0 sends a message that no program posts")


# --------------------------------------------------------------------------- after a teardown
_RECV_B = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"


@pytest.mark.parametrize(
    ("lines", "slug"),
    [
        ((_RECV_B, send("A", 5), "run", "get_cq_event B.ch0"), "cq-not-armed"),
        ((_RECV_B, send("A", 5), "run", "req_notify_cq B.cq0", "get_cq_event B.ch0"),
         "armed-after-cqe"),
        (("req_notify_cq B.cq0 solicited_only=1", _RECV_B, send("A", 5), "run",
          "get_cq_event B.ch0"), "solicited-only"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tidy", [None, destroy_all, drain])
def test_blocked_get_cq_event_after_destroy_cq(
    lines: tuple[str, ...], slug: str, tidy: Callable[[Session], None] | None
) -> None:
    lab = played(_CHANNEL, *lines)
    if tidy is not None:
        tidy(lab.session)
    for question in ("", "B.cq0", "B.ch0"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == (slug, True), question


def test_a_wait_that_would_block_is_no_trouble_after_a_poll() -> None:
    lab = played(_CHANNEL, _RECV_B, send("A", 5), "run", "get_cq_event B.ch0", "poll_cq B.cq0",
                 "poll_cq A.cq0")  # fmt: skip
    for question in ("", "B.cq0"):
        assert not why(lab, question).is_trouble
    destroy_all(lab.session)
    for question in ("", "B.cq0"):
        assert not why(lab, question).is_trouble


# --------------------------------------------------------------------------- values
def test_condition_names_the_thread_that_wrote_the_bytes() -> None:
    waits = program("B.w", "sleep 4us", "wait B.mr0[8] == 0")
    lab = played(_PAIR, program("B.reset", "sleep 1us", "fill B.mr0[0:64] 0x07"), waits, "run")
    for question in ("", "B.w"):
        assert "B.reset wrote B.mr0[8:9]" in why(lab, question).text
    lab = played(_PAIR, 'write B.mr0[8:9] "x"', waits, "run")
    assert "a call wrote B.mr0[8:9]" in why(lab).text
    nothing = played(_PAIR, program("B.w", "wait B.mr0[8] == 5"), "run")
    assert " wrote " not in why(nothing).text


def test_region_aborted_of_a_polling_thread() -> None:
    made = ("create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4"
            " max_recv_wr=4 send_ops_flags=RDMA_WRITE",
            "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=4"
            " max_recv_wr=4", "connect A.qx0 B.qp1")  # fmt: skip
    batch = ("wr_start A.qx0", "wr_rdma_write A.qx0 wr_id=91 wr_flags=SIGNALED remote=B.mr0[0]",
             "wr_set_sge A.qx0 sg=A.mr0[0:64]")  # fmt: skip
    lab = played(_PAIR, *made, program("A.app", *batch, "wr_abort A.qx0", "poll A.cq0"), "run 50us")
    for question in ("", "A.app"):
        assert why(lab, question).slug == "region-aborted"
    again = program("A.app", *batch, "wr_abort A.qx0", *batch, "wr_complete A.qx0", "poll A.cq0",
                    "poll A.cq0")  # fmt: skip
    assert why(played(_PAIR, *made, again, "run 50us"), "A.app").slug != "region-aborted"


def test_an_aborted_batch_is_not_the_cause_where_another_send_was_posted_since() -> None:
    made = ("create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4"
            " max_recv_wr=4 send_ops_flags=RDMA_WRITE",
            "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=4"
            " max_recv_wr=4", "connect A.qx0 B.qp1")  # fmt: skip
    app = program("A.app", "wr_start A.qx0",
                  "wr_rdma_write A.qx0 wr_id=91 wr_flags=SIGNALED remote=B.mr0[0]",
                  "wr_set_sge A.qx0 sg=A.mr0[0:64]", "wr_abort A.qx0",
                  "post_send A.qx0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]",
                  "poll A.cq0")  # fmt: skip
    assert why(played(_PAIR, *made, app, "run 50us"), "A.app").slug == "unsignaled"


def test_silent_peer_of_a_thread_that_polls_the_queue_of_an_xrc_srq() -> None:
    recv = "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}"
    tx = program("A.tx", send("A", 5, " flags=SIGNALED remote_srqn=B.srq0"), "poll A.cq0")
    lab = played("use xrc_pair", recv, tx, program("B.rx", "poll B.cq0", "poll B.cq0"), "run 100us")
    report = why(lab, "B.rx")
    assert report.slug == "silent-peer"
    assert "1 receive posted on B.srq0, and no message has come for it" in report.text
    assert report.remedy is not None
    assert "remote_srqn=B.srq0" in report.remedy.cure.lines[0]


@pytest.mark.parametrize(
    ("line", "says", "advice"),
    [
        ("create_cq A.cq0 cqe=8", "A.cq0 was made", "another name than A.cq0"),
        ("post_recv A.qp9 wr_id=1", "nothing is called A.qp9", "make the object before"),
        ("wait A.cq9.count == 1", 'nothing is called "A.cq9"', "make the object before"),
    ],
)
def test_no_such_object_of_a_thread_that_stopped_at_a_name(
    line: str, says: str, advice: str
) -> None:
    lab = played(_PAIR, program("A.p", line, "poll A.cq0"), "run")
    for asked in ("A.p", ""):
        report = why(lab, asked)
        assert (report.slug, report.is_trouble) == ("no-such-object", True)
        assert says in report.text
        assert report.remedy is not None
        assert advice in report.remedy.cure.program


def test_no_such_object_leaves_a_destroyed_one_to_its_own_cause() -> None:
    lab = played(_PAIR, program("A.p", "create_cq A.cq1 cqe=8", "destroy_cq A.cq1", "poll A.cq1"),
                 "run")  # fmt: skip
    assert why(lab, "A.p").slug == "segfault-class"


def test_a_thread_whose_message_finds_no_receive_has_not_polled_too_often() -> None:
    recv = "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}"
    first = program("A.t0", send("A", 10), "poll A.cq0", send("A", 11), "poll A.cq0")
    last = send("A", 20).replace("qp0", "qp1")
    second = program("A.t1", "sleep 30us", last, "poll A.cq0")
    rx = program("B.rx", "poll B.cq0", "poll B.cq0", "poll B.cq0")
    lab = played("use srq_pair", recv, first, second, rx, "run 1500us")
    assert (why(lab, "").slug, why(lab, "A.t1").slug) == ("no-rr", "no-rr")
    report = why(lab, "B.rx")
    assert report.slug == "no-rr"
    assert "poll once for each" not in report.text


# --------------------------------------------------------------------------- what led to the wait
_DATAGRAM = ("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0"
             " remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip


def test_a_thread_that_waits_for_the_answer_to_a_lost_datagram_never_goes_on() -> None:
    lab = played("use ud_pair", "post_recv A.qp0 wr_id=5 sg=A.mr0[512:640]",
                 program("A.tx", _DATAGRAM, "poll A.cq0", "poll A.cq0"), "run 1ms")  # fmt: skip
    for asked in ("A.tx", "A.qp0.recv_wr[5]"):
        report = why(lab, asked)
        assert (report.slug, report.outcome.kind) == ("no-rr", Status.NEVER)
        assert report.is_trouble
    answered = played("use ud_pair", "post_recv B.qp0 wr_id=9 sg=B.mr0[0:104]",
                      program("A.tx", _DATAGRAM, "poll A.cq0"), "run 1ms")  # fmt: skip
    assert not why(answered, "A.tx").is_trouble


def test_a_refused_receive_is_the_root_of_the_message_that_found_none() -> None:
    pieces = ",".join(f"B.mr0[{n}:{n + 8}]" for n in range(0, 40, 8))
    again = f"post_recv B.qp0 wr_id=9 sg={pieces}"
    rx = program("B.rx", "post_recv B.qp0 wr_id=9 sg=B.mr0[0:64]", "poll B.cq0", again)
    tx = program("A.tx", "sleep 2us", send("A", 1), "poll A.cq0", send("A", 1), "poll A.cq0")
    lab = played("use rc_pair rnr_retry=2", rx, tx, "run")
    for asked in ("A.qp0.wr[1]", ""):
        report = why(lab, asked)
        slugs = [cause.check.slug for cause in (*report.causes, *report.stations)]
        assert slugs[:2] == ["too-many-sges", "no-rr"]
    refused = f"post_recv B.qp0 wr_id=9 sg={pieces}"
    lost = played("use ud_pair", refused, _DATAGRAM, "run")
    assert why(lost, "A.qp0.wr[1]").slug == "too-many-sges"
    good = played("use ud_pair", refused, "post_recv B.qp0 wr_id=9 sg=B.mr0[0:104]", _DATAGRAM,
                  "run")  # fmt: skip
    assert not why(good, "A.qp0.wr[1]").is_trouble


def test_async_never_of_a_limit_that_was_used_up() -> None:
    refill = program("B.refill", "loop 3", "get_async_event B", "ack_async_event B",
                     "post_srq_recv B.srq0 wr_id=2 sg=B.mr0[64:128]", "end")  # fmt: skip
    lab = played("use srq_pair", "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]",
                 "modify_srq B.srq0 srq_limit=1", refill, send("A", 10), "run")  # fmt: skip
    report = why(lab, "B.refill")
    assert report.slug == "async-never"
    assert "SRQ_LIMIT_REACHED was raised for B.srq0, and disarmed its limit" in report.text
    assert report.remedy is not None
    assert report.remedy.cure.program.startswith("modify_srq B.srq0 srq_limit=N after each")


def test_a_thread_that_waits_for_bytes_polls_no_wrong_queue() -> None:
    recv = "post_recv B.qp0 wr_id={} sg=B.mr0[0:8]"
    rx = program("B.rx", "poll B.cq0", recv.format(2), 'wait B.mr0[0:5] == "first"')
    lab = played(_PAIR, recv.format(1), 'write A.mr0[0:5] "other"', rx, send("A", 1), "run",
                 send("A", 2), "run 1ms")  # fmt: skip
    for asked in ("B.rx", ""):
        assert why(lab, asked).slug == "condition-false"


def test_a_thread_that_polls_for_a_datagram_which_went_to_another_queue_pair_hangs() -> None:
    to_qp1 = "post_send B.qp0 opcode=SEND sg=B.mr0[0:8] ah=B.ah0 remote_qpn=A.qp1"
    lab = played(
        "use ud_pair", "create_cq A.cq1 cqe=8",
        "create_qp A.qp1 pd=A.pd0 qp_type=UD send_cq=A.cq1 recv_cq=A.cq1",
        "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
        "modify_qp A.qp1 state=RTR", "modify_qp A.qp1 state=RTS sq_psn=0",
        "post_recv A.qp1 sg=A.mr0[0:128]",
        f"program B.srv lines={{sleep 2us; {to_qp1} remote_qkey=0x11111111}}",
        "program A.c1 lines={post_recv A.qp0 sg=A.mr0[128:256]; poll A.cq0}", "run 100us",
    )  # fmt: skip
    report = why(lab, "A.c1")
    assert (report.outcome.kind, report.is_trouble) == (Status.NEVER, True)
