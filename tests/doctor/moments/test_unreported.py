"""Work and threads that were thrown away: by destroy, by RESET, by stop; and who did it."""

from collections.abc import Callable

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.session.session import Session
from tests.doctor.asking import chain, played, why
from tests.doctor.tidying import destroy_all, drain, reset

_PAIR = "use rc_pair"
_RECEIVES = tuple(f"post_recv A.qp0 wr_id={n} sg=A.mr0[0:64]" for n in (31, 32, 33))
_SEND = "post_send {0}.qp0 wr_id={1} opcode=SEND sg={0}.mr0[0:32] flags=SIGNALED"
_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"


# --------------------------------------------------------------------------- receives
@pytest.mark.parametrize(
    ("act", "slug"),
    [
        ("destroy_qp A.qp0", "destroyed-with-work"),
        ("modify_qp A.qp0 state=RESET", "reset-swallowed"),
    ],
)
def test_plain_why_finds_receives_discarded_by_a_call(act: str, slug: str) -> None:
    lab = played(_PAIR, *_RECEIVES, act)
    report, pointed = why(lab), why(lab, "A.qp0.recv_wr[31]")
    assert (report.slug, report.outcome.kind) == (slug, Status.LOST)
    assert (pointed.slug, pointed.outcome.kind) == (slug, Status.LOST)
    assert report.is_trouble
    assert report.remedy is not None
    assert "modify_qp A.qp0 state=ERR" in report.remedy.cure.program
    assert "poll" in report.remedy.cure.program.partition("state=ERR")[2]


_USED = (*_RECEIVES, _SEND.format("B", 1), "run", "poll_cq A.cq0", "poll_cq B.cq0")


@pytest.mark.parametrize("act", ["destroy_qp", "reset"])
def test_spare_receives_that_go_with_their_queue_pair_are_no_trouble(act: str) -> None:
    """Whether the peer has closed yet, too: nothing was sent for them."""
    slug = {"destroy_qp": "destroyed-with-work", "reset": "reset-swallowed"}[act]
    lab = played(_PAIR, *_USED, f"{act} A.qp0")
    report = why(lab)
    assert (report.slug, report.is_trouble) == ("well", False)
    assert [cause.check.slug for cause in report.warnings] == [slug]
    lab.do(f"{act} B.qp0")
    report = why(lab)
    assert (report.slug, report.is_trouble, report.warnings) == ("well", False, [])


def test_receives_are_missed_where_a_message_was_to_come() -> None:
    lab = played(_PAIR, *_USED, "destroy_qp A.qp0", "destroy_qp B.qp0", "poll_cq A.cq0")
    assert why(lab).slug == "destroyed-with-work"
    for sender in (_SEND.format("B", 2), f"program B.tx lines={{{_SEND.format('B', 2)}}}"):
        lab = played("use rc_pair timeout=5 retry_cnt=1", *_USED, "destroy_qp A.qp0", sender, "run")
        assert (why(lab).slug, why(lab).is_trouble) == ("peer-destroyed", True)


def test_receives_that_were_flushed_and_polled_are_no_trouble() -> None:
    drain = ("modify_qp A.qp0 state=ERR", "poll_cq A.cq0 num_entries=3", "destroy_qp A.qp0")
    assert why(played(_PAIR, *_RECEIVES, *drain)).slug == "well"


# --------------------------------------------------------------------------- RESET
_LOST_ONCE = ("fault drop A->B count=1", _SEND.format("A", 8), "run 5us")


def test_a_reset_stands_before_a_loss_that_was_still_retried() -> None:
    reset = (_PAIR, *_LOST_ONCE, "modify_qp A.qp0 state=RESET")
    for lab in (played(*reset), played(*reset, "destroy_qp A.qp0")):
        report = why(lab, "A.qp0.wr[8]")
        assert report.slug == "reset-swallowed"
        assert "RESET discarded it" in report.outcome.sentence
        assert why(lab).slug == "reset-swallowed"


def test_loss_is_the_cause_after_reset() -> None:
    lost = ("fault drop A->B", _SEND.format("A", 8), "run", "modify_qp A.qp0 state=RESET")
    assert why(played("use rc_pair retry_cnt=1", *lost), "A.qp0.wr[8]").slug == "loss"


# --------------------------------------------------------------------------- what had ended
def test_completed_request_has_no_wait_before_its_end() -> None:
    lab = played(_PAIR, _WRITE.format(5), "program A.p lines={poll A.cq0}", "run")
    for line in ("", "destroy_qp A.qp0"):
        lab.do(line)
        report = why(lab, "A.qp0.wr[5]")
        assert (report.outcome.kind, report.waits, report.remedy) == (Status.COMPLETED, [], None)


def test_the_depth_of_the_reads_is_no_answer_by_accident() -> None:
    read = (
        "post_send A.qp0 wr_id={0} opcode=RDMA_READ sg=A.mr0[{1}:{2}] remote=B.mr0[0]"
        " flags=SIGNALED"
    )
    reads = "; ".join(read.format(n, 256 * n, 256 * n + 256) for n in range(3))
    program = f"program A.g lines={{{reads}; poll A.cq0 until A.cq0.total == 3}}"
    lab = played("use rc_pair max_rd_atomic=1 max_dest_rd_atomic=1", "link latency=6us",
                 program, "run")  # fmt: skip
    before = why(lab, "A.qp0.wr[2]")
    lab.do("destroy_qp A.qp0")
    after = why(lab, "A.qp0.wr[2]")
    assert (after.slug, len(after.waits)) == (before.slug, len(before.waits))


# --------------------------------------------------------------------------- stopped threads
def test_plain_why_finds_a_stopped_thread() -> None:
    hangs = 'program A.rx lines={poll A.cq0; write A.mr0[0:1] "\\x01"}'
    lab = played(_PAIR, hangs, "run 20us")
    slug = why(lab).slug
    lab.do("stop A.rx")
    for report in (why(lab), why(lab, "A.rx")):
        assert (report.slug, report.outcome.kind) == (slug, Status.NEVER)
        assert "a call stopped" in report.outcome.sentence
        assert report.is_trouble


def test_a_stopped_busy_thread_is_no_trouble() -> None:
    busy = f"program A.tx lines={{loop; {_WRITE.format(5)}; poll A.cq0; end}}"
    lab = played(_PAIR, busy, "run 20us", "stop A.tx", "run")
    assert why(lab).slug == "well"
    assert not why(lab, "A.tx").is_trouble


def test_a_thread_that_ended_after_a_restart_is_no_trouble() -> None:
    program = "program A.rx lines={poll A.cq0}"
    lab = played(_PAIR, program, "run 5us", "stop A.rx", program, _WRITE.format(5), "run")
    assert why(lab).slug == "well"


# --------------------------------------------------------------------------- who destroyed it
def test_segfault_class_names_the_destroying_thread() -> None:
    janitor = "program A.janitor lines={sleep 2us; destroy_qp A.qp0}"
    user = "program A.user lines={sleep 4us; post_recv A.qp0 wr_id=1 sg=A.mr0[0:8]}"
    lab = played(_PAIR, janitor, user, "run")
    for asked in ("A.user", "A.qp0", ""):
        report = why(lab, asked)
        assert report.slug == "segfault-class"
        text = report.text
        assert "A.janitor destroyed A.qp0" in text
        assert "A.user used A.qp0" in text
        assert "NULL" not in text
        assert "in A.janitor, wait A.user.state == DONE before destroy_qp A.qp0" in text


def test_of_a_double_destroy_the_first_is_named() -> None:
    lab = played(_PAIR, "destroy_qp A.qp0", "destroy_qp A.qp0")
    for asked in ("A.qp0", ""):
        report = why(lab, asked)
        assert report.slug == "segfault-class"
        events = [e.event for e in report.causes[0].finding.evidence]
        assert events[:2] == [14, 15]
        assert "NULL" in report.text


def test_own_err_of_a_destroyed_qp() -> None:
    moved = (_PAIR, "post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]", "modify_qp B.qp0 state=ERR")
    for lab in (played(*moved), played(*moved, "destroy_qp B.qp0")):
        assert chain(lab, "B.qp0")[0] == "own-err"
        assert "no-remote-send" not in why(lab).text


# --------------------------------------------------------------------------- ERR, used again
def test_qp_err_flush_of_a_post_after_the_polled_failure() -> None:
    lab = played("use rc_pair timeout=6 retry_cnt=1", "fault drop A->B count=4", _WRITE.format(1),
                 "run", "poll_cq A.cq0", _WRITE.format(2), "run", "poll_cq A.cq0")  # fmt: skip
    report = why(lab, "A.qp0.wr[2]")
    assert report.slug == "loss"
    assert "qp-err-flush" in [cause.check.slug for cause in report.stations]
    assert "A.qp0 has been in ERR since" in report.text
    assert "no call had reset A.qp0 when wr2 was posted" in report.text
    assert why(lab).slug == "loss"


def test_loss_is_the_cause_of_a_post_before_the_poll() -> None:
    lab = played("use rc_pair timeout=6 retry_cnt=1", "fault drop A->B count=4", _WRITE.format(1),
                 "run", _WRITE.format(2), "run", "poll_cq A.cq0 num_entries=2")  # fmt: skip
    assert why(lab, "A.qp0.wr[2]").slug == "loss"


def test_destroyed_with_work_of_a_waiting_thread() -> None:
    lab = played(_PAIR, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "program B.rx lines={poll B.cq0}",
                 "program B.mgr lines={sleep 2us; destroy_qp B.qp0}", "run 40us")  # fmt: skip
    report = why(lab, "B.rx")
    assert report.slug == "destroyed-with-work"
    assert "B.mgr destroyed B.qp0" in report.text
    assert report.remedy is not None
    advice = report.remedy.cure.program
    assert advice.index("state=ERR") < advice.index("let B.rx poll") < advice.index("destroy_qp")


def test_qp_err_flush_of_a_receive_after_the_polled_failure() -> None:
    bad = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] rkey=1 flags=SIGNALED"
    lab = played(_PAIR, bad, "run", "poll_cq A.cq0", "post_recv A.qp0 wr_id=2 sg=A.mr0[0:8]", "run")
    report = why(lab, "A.qp0.recv_wr[2]")
    assert report.slug == why(lab).slug == "rem-access"
    assert "no call had reset A.qp0 when wr2 was posted" in report.text


def test_own_err_of_a_waiting_send() -> None:
    keepalive = "program A.keepalive lines={sleep 100us; modify_qp A.qp0 state=ERR}"
    lab = played(_PAIR, _SEND.format("A", 5), keepalive, "run 1ms")
    for asked in ("A.qp0.wr[5]", ""):
        report = why(lab, asked)
        assert report.slug == "own-err"
        assert "A.keepalive moved A.qp0 from RTS to ERR" in report.text
    done = (*_RECEIVES, _SEND.format("B", 5), "run", "modify_qp B.qp0 state=ERR")
    assert not why(played(_PAIR, *done)).is_trouble


def test_reset_swallowed_of_a_thread_after_teardown() -> None:
    lab = played(_PAIR, _RECEIVES[0], "program A.rx lines={poll A.cq0}", "run 2us",
                 "modify_qp A.qp0 state=RESET", "run 20us")  # fmt: skip
    for line in ("", "destroy_qp A.qp0", "destroy_qp B.qp0"):
        lab.do(line)
        assert (why(lab, "A.rx").slug, why(lab).slug) == ("reset-swallowed", "reset-swallowed")


def test_destroyed_with_work_of_a_removed_completion_on_mlx5() -> None:
    main = "program A.main lines={poll A.cq0}"
    lines = (_PAIR, _WRITE.format(6), "run", "destroy_qp A.qp0", main, "run 50us")
    report = why(played(*lines, profile="mlx5"), "A.main")
    assert report.slug == "destroyed-with-work"
    assert "removed its completion from A.cq0" in report.text
    assert why(played(*lines), "A.main").slug != "destroyed-with-work"


@pytest.mark.parametrize(
    ("act", "slug"),
    [
        ("modify_qp A.qp0 state=RESET", "reset-swallowed"),
        ("modify_qp A.qp0 state=ERR", "own-err"),
        ("destroy_qp A.qp0", "destroyed-with-work"),
        ("dereg_mr B.mr0", "dereg-early"),
    ],
)
def test_work_that_another_thread_took_away_gets_an_order(act: str, slug: str) -> None:
    node = act.partition(" ")[2][0]
    read = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    user = f"program A.user lines={{{read}; poll A.cq0}}"
    lab = played(_PAIR, user, f"program {node}.gc lines={{sleep 500ns; {act}}}", "run 50us")
    report = why(lab, "A.qp0.wr[1]")
    assert report.slug == slug
    assert f"{node}.gc" in report.causes[0].finding.evidence[0].text + report.text
    assert report.remedy is not None
    assert report.remedy.cure.program.startswith("let A.user end its use of ")
    assert f"wait A.user.state == DONE before {act}" in report.remedy.cure.program


@pytest.mark.parametrize("tidy", [None, destroy_all, reset, drain])
def test_two_threads_that_destroy_one_cq(tidy: Callable[[Session], None] | None) -> None:
    bad = "post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0x777000 rkey=0x77"
    lab = played(_PAIR, f"{bad} flags=SIGNALED", "run", "create_cq A.cq1 cqe=8",
                 "program A.t1 lines={sleep 1us; destroy_cq A.cq1}",
                 "program A.t2 lines={sleep 3us; destroy_cq A.cq1}", "run")  # fmt: skip
    if tidy is not None:
        tidy(lab.session)
    report = why(lab)
    assert report.slug == "rem-access"
    assert "polls in vain" not in report.text
    assert chain(lab, "A.t2") == ["segfault-class"]


def test_beyond_device_after_all_objects_were_destroyed() -> None:
    lab = played(
        *(f"alloc_pd A.p{n}" for n in range(65)), *(f"dealloc_pd A.p{n}" for n in range(64))
    )
    for question in ("", "ENOMEM"):
        report = why(lab, question)
        assert report.slug == "beyond-device"
        assert "64 PDs of A exist" in report.text


# --------------------------------------------------------------------------- open regions
_BUILT = ("wr_start A.qx0", "wr_rdma_write A.qx0 wr_id=9 remote=B.mr0[0] wr_flags=SIGNALED",
          "wr_set_sge A.qx0 sg=A.mr0[0:64]")  # fmt: skip
_EX = (
    "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=RDMA_WRITE",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0", "connect A.qx0 B.qp1",
)  # fmt: skip


def test_a_region_that_its_thread_or_a_destroy_left_open_is_trouble() -> None:
    thread = f"program A.t lines={{{'; '.join(_BUILT)}}}"
    for lines in ((thread, "run"), (*_BUILT, "destroy_qp A.qx0")):
        report = why(played(_PAIR, *_EX, *lines))
        assert (report.slug, report.is_trouble) == ("region-not-completed", True)
    for more in ((), ("wr_abort A.qx0", "destroy_qp A.qx0"), ("wr_complete A.qx0", "run")):
        assert not why(played(_PAIR, *_EX, *_BUILT, *more)).is_trouble


# --------------------------------------------------------------------------- unsignaled and lost
_DATAGRAM = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x1"
_UC_WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]"


@pytest.mark.parametrize("question", ["", "A.qp0.wr[0]"])
@pytest.mark.parametrize(
    ("lines", "slug"),
    [
        (("use uc_pair", "fault drop A->B count=1", _UC_WRITE), "uc-loss"),
        (("use ud_pair", _DATAGRAM), "ud-qkey"),
    ],
)
def test_what_lost_an_unsignaled_message_comes_before_the_flag(
    lines: tuple[str, ...], slug: str, question: str
) -> None:
    report = why(played(*lines, "run"), question)
    assert (report.slug, report.is_trouble) == (slug, True)
    assert "unsignaled" in [cause.check.slug for cause in report.warnings]


def test_the_failure_of_a_send_is_wrong_and_not_the_bytes_that_it_brought_before() -> None:
    lab = played(
        "use rc_pair rnr_retry=0",
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:1100] remote=B.mr0[0]"
        " imm_data=7 flags=SIGNALED", 'write A.mr0[0:4] "abcd"', "run",
    )  # fmt: skip
    assert [cause.check.slug for cause in why(lab).causes] == ["no-rr"]
    for line in ("apply", "run"):
        lab.do(line)
    assert why(lab).outcome.kind is Status.WELL
