"""SUCCESS does not end a question: what waited, what was ambiguous, lost or read too early."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import played, why

_PAIR = "use rc_pair"
_READ = (
    "post_send A.qp0 wr_id={n} opcode=RDMA_READ sg=A.mr0[{at}:{end}] remote=B.mr0[{at}]"
    " flags=SIGNALED"
)
_READS = [_READ.format(n=n, at=512 * n, end=512 * n + 512) for n in range(6)]
_SEND = "post_send A.qp0 wr_id={n} opcode=SEND sg=A.mr0[0:16] flags=SIGNALED"
_RECV = "post_recv B.qp0 wr_id={n} sg=B.mr0[{at}:{end}]"
_LONG = "post_send A.qp0 wr_id=1 opcode={} sg=A.mr0[0:{}] remote=B.mr0[0] flags=SIGNALED"
_GONE = ("destroy_qp A.qp0", "destroy_qp B.qp0")


# --------------------------------------------------------------------------- it took long
@pytest.mark.parametrize("tidy", [(), _GONE])
def test_rd_atomic_depth_of_late_reads(tidy: tuple[str, ...]) -> None:
    slow = ("use rc_pair max_rd_atomic=1 max_dest_rd_atomic=1", "link latency=4us", *_READS)
    lab = played(*slow, "run", "poll_cq A.cq0 num_entries=6", *tidy)
    for report in (why(lab, "A.qp0.wr[5]"), why(lab)):
        assert (report.outcome.kind, report.slug) == (Status.LATE, "rd-atomic-depth")
        assert not report.is_trouble
        assert "after 49.51 us in all, 8.382 us without these waits" in report.text
        assert "max_rd_atomic=1" in report.text
        assert report.remedy is not None
        assert "up to 16" in report.remedy.cure.program


def test_rd_atomic_depth_warns_of_a_read_after_two_others() -> None:
    lab = played("use rc_pair max_rd_atomic=1 max_dest_rd_atomic=1", "link latency=6us",
                 *_READS[:3], "run", "poll_cq A.cq0 num_entries=3")  # fmt: skip
    for report in (why(lab, "A.qp0.wr[2]"), why(lab)):
        assert (report.outcome.good, report.is_trouble) == (True, False)
        assert report.warnings[0].check.slug == "rd-atomic-depth"
        assert "us on the send queue after wr1" in report.text


def test_reads_that_do_not_wait_and_writes_that_fill_the_link_are_not_late() -> None:
    deep = ("use rc_pair max_rd_atomic=16 max_dest_rd_atomic=16", "link latency=4us", *_READS)
    assert not why(played(*deep, "run", "poll_cq A.cq0 num_entries=6")).is_trouble
    write = (
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:60000] remote=B.mr0[0] flags=SIGNALED"
    )
    lab = played("use rc_pair length=65536", "link rate=1Gbps", *[write] * 8, "run")
    assert why(lab, "A.qp0.wr[1]").outcome.kind is Status.COMPLETED
    assert not why(lab).is_trouble


@pytest.mark.parametrize("question", ["A.qp0.wr[1]", ""])
def test_rnr_slow_of_a_send_that_completed_late(question: str) -> None:
    late = (_SEND.format(n=1), "run 10us", _RECV.format(n=2, at=0, end=16), "run", "poll_cq A.cq0")
    report = why(played("use rc_pair min_rnr_timer=20", *late), question)
    assert (report.outcome.kind, report.is_trouble) == (Status.LATE, False)
    assert report.remedy is not None
    assert "post a receive on B.qp0 before A.qp0 sends" in report.remedy.cure.program
    long = why(played("use rc_pair min_rnr_timer=31", *late), question)
    assert (long.slug, long.is_trouble) == ("rnr-slow", False)
    assert "after 491.5 ms in all, 4.4" in long.text
    assert "the next try is at" not in long.text


def test_rnr_slow_names_the_shared_receive_queue() -> None:
    late = (_SEND.format(n=1), "run 10us", "post_srq_recv B.srq0 wr_id=2 sg=B.mr0[0:16]", "run")
    remedy = why(played("use srq_pair min_rnr_timer=20", *late), "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert "post a receive on B.srq0 before A.qp0 sends" in remedy.cure.program


def test_mtu_small_warns_after_success() -> None:
    read = (
        "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:40000] remote=B.mr0[0] flags=SIGNALED"
    )
    lab = played("use rc_pair path_mtu=256 length=65536", read, "run", "poll_cq A.cq0")
    for report in (why(lab), why(lab, "A.qp0.wr[1]")):
        assert (report.warnings[0].check.slug, report.is_trouble) == ("mtu-small", False)
        assert "path_mtu=256" in report.text
        assert "active_mtu is 4096" in report.text
    assert "mtu-small" in str(lab.do("checklist slow A.qp0.wr[1]")[-1].value.text)
    healthy = played("use rc_pair length=65536", read, "run", "poll_cq A.cq0")
    assert not why(healthy).warnings


def test_late_send_by_fault_rate() -> None:
    lab = played(_PAIR, "fault rate A->B 1Mbps", _LONG.format("RDMA_WRITE", 4096), "run")
    for report in (why(lab, "A.qp0.wr[1]"), why(lab)):
        assert (report.outcome.kind, report.is_trouble) == (Status.LATE, False)
        assert "36.61 ms on the way: RDMA_WRITE_LAST from A was delayed" in report.text
    fenced = ("post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[512]"
              " flags=SIGNALED|FENCE")  # fmt: skip
    lab = played(_PAIR, "fault delay A->B 300us", _LONG.format("RDMA_READ", 64), fenced, "run")
    for report in (why(lab, "A.qp0.wr[2]"), why(lab)):
        assert (report.slug, report.is_trouble) == ("fence-wait", False)


def test_timeout_huge_warns_after_a_late_failure() -> None:
    write = "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    lab = played("use rc_pair timeout=18", "port A down", write, "run", "poll_cq A.cq0")
    for report in (why(lab, "A.qp0.wr[2]"), why(lab)):
        assert report.slug == "port-not-active"
        assert "timeout-huge" in [cause.check.slug for cause in report.warnings]
        assert "A.qp0.wr[2] failed 8.59" in report.text


def test_fence_wait_warns_after_success() -> None:
    fenced = ("post_send A.qp0 wr_id=6 opcode=RDMA_WRITE sg=A.mr0[64:128] remote=B.mr0[512]"
              " flags=SIGNALED|FENCE")  # fmt: skip
    lab = played(_PAIR, "link latency=400us", _LONG.format("RDMA_READ", 64), fenced, "run")
    for report in (why(lab, "A.qp0.wr[6]"), why(lab)):
        assert report.warnings[0].check.slug == "fence-wait"
        assert not report.is_trouble


# --------------------------------------------------------------------------- what a poll returned
_CASES = {
    "wr-id-ambiguous": (
        (
            _PAIR, _RECV.format(n=42, at=0, end=16), _RECV.format(n=42, at=16, end=32),
            _SEND.format(n=1), _SEND.format(n=2), "run", "poll_cq B.cq0 num_entries=2",
        ),
        ("B.qp0.recv_wr[42]", "B.cq0"),
    ),
    "cross-qp-order": (
        (
            "use srq_pair",
            "post_send A.qp0 wr_id=100 opcode=RDMA_READ sg=A.mr0[0:4096] remote=B.mr0[0]"
            " flags=SIGNALED",
            "post_send A.qp1 wr_id=101 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0]"
            " flags=SIGNALED",
            "run", "poll_cq A.cq0 num_entries=2",
        ),
        ("A.cq0", "A.qp0.wr[100]", "A.qp1.wr[101]"),
    ),
    "polled-after-destroy": (
        (
            _PAIR, _RECV.format(n=21, at=0, end=16), _SEND.format(n=22), "run",
            "destroy_qp B.qp0", "poll_cq B.cq0",
        ),
        ("B.qp0.recv_wr[21]", "B.cq0", "B.qp0"),
    ),
    "loc-prot": (
        (
            _PAIR, "post_recv B.qp0 wr_id=12 sg=B.mr0[4000:4200]", _SEND.format(n=13), "run",
            "poll_cq B.cq0",
        ),
        ("B.qp0.recv_wr[12]", "B.qp0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("slug", _CASES)
def test_warnings_of_a_completion_stay_after_destruction(slug: str) -> None:
    lines, questions = _CASES[slug]
    lab = played(*lines)
    for question in (*questions, ""):
        report = why(lab, question)
        assert [cause.check.slug for cause in report.warnings][:1] == [slug], question
        assert not report.is_trouble, question
    lab = played(*lines, "destroy_qp A.qp0", "run 5us")
    for question in (questions[0], questions[1], ""):
        assert slug in [cause.check.slug for cause in why(lab, question).warnings], question


@pytest.mark.parametrize(
    ("use", "post", "queue", "taken"),
    [
        ("use srq_pair", "post_srq_recv B.srq0", "B.srq0", True),
        (_PAIR, "post_recv B.qp0", "B.qp0", True),
        (_PAIR, "post_recv B.qp0", "B.qp0", False),
    ],
)
def test_dereg_early_of_a_receive_before_and_after_a_short_message(
    use: str, post: str, queue: str, *, taken: bool
) -> None:
    lab = played(
        use, "reg_mr B.mr9 pd=B.pd0 length=64 access=LOCAL_WRITE", "dereg_mr B.mr9",
        f"{post} wr_id=3 sg=B.mr0[0:64],{{addr=0x20101000 length=64 lkey=0x4c3}}",
        *((_SEND.format(n=1), "run", "poll_cq B.cq0") if taken else ()),
    )  # fmt: skip
    for question in (queue, f"{queue}.recv_wr[3]"):
        report = why(lab, question)
        assert "loc-prot" in [cause.check.slug for cause in report.warnings], question
        assert not report.is_trouble


def test_no_poll_is_ambiguous_where_each_request_was_polled_before_the_next() -> None:
    lab = played(
        _PAIR, *[line for n in (1, 2) for line in (_RECV.format(n=5, at=0, end=16),
                 _SEND.format(n=4), "run", "poll_cq A.cq0", "poll_cq B.cq0")],
    )  # fmt: skip
    assert not why(lab).warnings
    assert not why(lab, "B.qp0.recv_wr[5]").warnings


# --------------------------------------------------------------------------- stale bytes
_STALE = 'write B.mr0[0:4] "new!"', 'write A.mr0[0:4] "old!"'
_FETCH = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED"
_PASS_ON = (
    "post_send A.{qp} wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[512] flags={flags}"
)


@pytest.mark.parametrize("qp", ["qp0", "qp1"])
def test_stale_bytes_that_were_delivered_are_a_failure(qp: str) -> None:
    use = "use srq_pair" if qp == "qp1" else _PAIR
    lab = played(use, *_STALE, _FETCH, _PASS_ON.format(qp=qp, flags="SIGNALED"), "run",
                 "poll_cq A.cq0 num_entries=2")  # fmt: skip
    assert lab.look('B.mr0[512:516] == "old!"')
    for question in ("", f"A.{qp}.wr[2]", "B.mr0[512:516]"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("ordering", True), question


@pytest.mark.parametrize("flags", ["SIGNALED|INLINE", "SIGNALED|INLINE|FENCE"])
def test_inline_bytes_are_those_of_the_post_with_and_without_fence(flags: str) -> None:
    lab = played(_PAIR, *_STALE, _FETCH, _PASS_ON.format(qp="qp0", flags=flags), "run",
                 "poll_cq A.cq0 num_entries=2")  # fmt: skip
    assert lab.look('B.mr0[512:516] == "old!"')
    for question in ("", "A.qp0.wr[2]", "B.mr0[512:516]"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("ordering", True), question
        assert "INLINE and so as of its post" in report.text
        assert report.remedy is not None
        assert report.remedy.cure.program.endswith("after the completion of A.qp0.wr[1]")


@pytest.mark.parametrize("flags", ["SIGNALED", "SIGNALED|FENCE"])
def test_bytes_that_are_the_same_before_and_after_are_not_stale(flags: str) -> None:
    lab = played(_PAIR, _FETCH, _PASS_ON.format(qp="qp0", flags=flags), "run", "poll_cq A.cq0")
    report = why(lab)
    assert not report.is_trouble
    assert bool(report.warnings) is ("FENCE" not in flags)


# --------------------------------------------------------------------------- places
def test_ud_40_bytes_count_in_questions_about_the_payload() -> None:
    send = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[{}] ah=A.ah0 remote_qpn=B.qp0"
    post = f"{send} remote_qkey=0x11111111 flags=SIGNALED"
    lab = played(
        "use ud_pair", "link rate=1Gbps", 'write A.mr0[0:4] "1111"',
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:1000]", "post_recv B.qp0 wr_id=2 sg=B.mr0[1000:1100]",
        f"program A.p lines={{{post.format(1, '500:1300')}; {post.format(2, '0:4')};"
        ' write A.mr0[0:4] "2222"; poll A.cq0; poll A.cq0}', "run",
    )  # fmt: skip
    assert lab.look('B.mr0[1040:1044] == "2222"')
    for question in ("", "B.mr0[1040:1044]", "B.mr0[1042:1044]"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("buffer-reused-early", True), question
    assert not why(lab, "B.mr0[40:60]").is_trouble
    assert why(lab, "B.mr0[1000:1040]").slug == "ud-40-bytes"


def test_rnr_infinite_by_the_receiving_qp() -> None:
    lab = played(_PAIR, _SEND.format(n=1), "run 100us")
    report = why(lab, "B.qp0")
    assert (report.slug, report.name, report.is_trouble) == ("rnr-infinite", "A.qp0.wr[1]", True)
    assert "B.qp0 had no receive" in report.text
    assert not why(played(_PAIR, _RECV.format(n=1, at=0, end=16)), "B.qp0").is_trouble
    assert not why(played(_PAIR), "B.qp0").is_trouble
