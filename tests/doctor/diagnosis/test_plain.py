"""`why` alone: what no failure tells of, the order of headlines, and what waits."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.report.brief import Budget, brief
from tests.doctor.asking import played, why

_PAIR = "use rc_pair"
_UD = "use ud_pair"
_DATAGRAM = (
    "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0"
    " remote_qkey={qkey} flags=SIGNALED"
)
_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_UNSIGNALED = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]"
_TEARDOWN = ("destroy_qp A.qp0", "destroy_qp B.qp0", "destroy_cq A.cq0", "destroy_cq B.cq0")


def test_a_refused_move_is_answered_where_the_queue_pair_stands_now() -> None:
    lab = played(
        "alloc_pd A.pd0", "create_cq A.cq0 cqe=4",
        "create_qp A.qp0 qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0",
        "modify_qp A.qp0 state=RTR",
        "modify_qp A.qp0 state=INIT qp_access_flags=REMOTE_WRITE pkey_index=0 port_num=1",
        "modify_qp A.qp0 state=RTR path_mtu=1024 dest_qp_num=0x11 rq_psn=100",
    )  # fmt: skip
    assert "also needs ah_attr" in why(lab).outcome.sentence


_RKEY = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0 rkey=1"


@pytest.mark.parametrize(
    ("lines", "causes"),
    [
        (["destroy_cq A.cq0"], ["in-use", "rem-access"]),
        (["destroy_cq A.cq0", "query_qp A.qp0"], ["in-use", "rem-access"]),
        (["destroy_cq A.cq0", "alloc_pd A.pd1"], ["rem-access", "in-use"]),
        (["modify_qp A.qp0 state=RESET", "modify_qp A.qp0 state=RTS"],
         ["bring-up-attr", "rem-access"]),
        (["modify_qp A.qp0 state=INIT"], ["rem-access"]),  # ERR is the effect of the failure
    ],
)  # fmt: skip
def test_a_call_that_was_just_refused_stands_before_older_failures(
    lines: list[str], causes: list[str]
) -> None:
    lab = played(_PAIR, _RKEY, "run", *lines)
    assert [cause.check.slug for cause in why(lab).causes] == causes


def test_a_second_loss_of_another_cause_is_named() -> None:
    lost = _DATAGRAM.format(qkey="0x11111111")
    lab = played(_UD, lost, "run", "post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]",
                 lost.replace("wr_id=7", "wr_id=8"), "run", profile="mlx5")  # fmt: skip
    report = why(lab)
    assert [(c.check.slug, c.name) for c in report.causes] == [
        ("no-rr", "A.qp0.wr[7]"), ("ud-40-bytes", "A.qp0.wr[8]"),
    ]  # fmt: skip
    short = [row.line for row in brief(report, Budget(roots=1))]
    assert any("also: A.qp0.wr[8] ud-40-bytes  [ev 2" in line for line in short)


def test_well_names_unread_errors_after_a_repair() -> None:
    bad = (
        "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[4094] flags=SIGNALED"
    )
    lab = played(_PAIR, bad, "run", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0",
                 f"{_UNSIGNALED} flags=SIGNALED", "run")  # fmt: skip
    report = why(lab)
    assert report.slug == "well"
    assert report.outcome.sentence == (
        "nothing is left that failed, was refused, or hangs; 1 completion with an error to be"
        " polled on A.cq0: REM_ACCESS_ERR; 1 asynchronous event of B not read: QP_ACCESS_ERR"
    )


def test_well_has_no_warning_of_a_life_that_was_repaired() -> None:
    lab = played(
        "use rc_pair retry_cnt=1 timeout=8", "link down", f"{_UNSIGNALED} flags=SIGNALED", "run",
        "link up", _UNSIGNALED.replace("wr_id=7", "wr_id=8"), "apply A.qp0.wr[7]", "run",
    )  # fmt: skip
    report = why(lab)
    assert report.slug == "well"
    assert "cached-state" not in [cause.check.slug for cause in report.warnings]


@pytest.mark.parametrize("tidy", [(), _TEARDOWN])
def test_a_datagram_that_was_dropped_is_no_success(tidy: tuple[str, ...]) -> None:
    recv = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:128]"
    lab = played(_UD, recv, _DATAGRAM.format(qkey="0x1"), "run", *tidy)
    assert why(lab).slug == "ud-qkey"
    lab = played(_UD, recv, _DATAGRAM.format(qkey="0x11111111"), "run", *tidy)
    assert why(lab).slug == "well"


@pytest.mark.parametrize("tidy", [(), _TEARDOWN])
def test_plain_why_warns_of_unsignaled(tidy: tuple[str, ...]) -> None:
    report = why(played(_PAIR, _UNSIGNALED, "run", *tidy))
    assert (report.slug, report.is_trouble) == ("well", False)
    of_it = [
        line for line in report.lines if line.startswith("warning: unsignaled of A.qp0.wr[7]: ")
    ]
    assert tidy or of_it  # the answer about A.qp0.wr[7] says the same
    assert why(played(_PAIR, _UNSIGNALED, "run", "poll_cq A.cq0", *tidy)).slug == "unsignaled"
    signaled = f"{_UNSIGNALED} flags=SIGNALED"
    polls = ("poll_cq A.cq0", "poll_cq A.cq0")
    assert why(played(_PAIR, signaled, _UNSIGNALED, "run", *polls, *tidy)).slug == "well"


def test_a_receive_discarded_by_reset_is_named_by_why_alone() -> None:
    """Nothing failed, was refused or waits: the reset alone is left to name."""
    init = "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qkey=0x11111111"
    recv = "post_recv B.qp0 wr_id=63 sg=B.mr0[0:104]"
    lab = played(_UD, recv, "modify_qp B.qp0 state=RESET", init, "modify_qp B.qp0 state=RTR")
    assert why(lab).name == "B.qp0.recv_wr[63]"


def test_plain_why_of_a_queue_full_of_unsignaled_sends() -> None:
    lab = played(_PAIR, *[_UNSIGNALED] * 8, "run")
    assert lab.look("A.qp0.sq.used") == 8
    report, pointed = why(lab), why(lab, "A.qp0.wr[7]")
    assert report.is_trouble
    assert (report.slug, report.outcome.kind) == (pointed.slug, pointed.outcome.kind)
    assert report.remedy is not None
    assert "with flags=SIGNALED" in report.remedy.cure.program


def test_plain_why_of_a_qp_killed_by_a_fault() -> None:
    lab = played(_PAIR, "fault kill B.qp0", "run 10us")
    assert why(lab).is_trouble
    assert not why(played(_PAIR, "modify_qp B.qp0 state=ERR")).is_trouble


def test_plain_why_of_outstanding_work_is_pending() -> None:
    lab = played(_PAIR, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", _SEND, "run 500ns")
    report = why(lab)
    assert (report.outcome.kind, report.name) == (Status.PENDING, "A.qp0.wr[7]")
    assert not report.is_trouble


def test_plain_why_equals_why_of_the_named_subject() -> None:
    bad = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"
    lab = played(_PAIR, "use rc_pair", bad.replace("qp0", "qp1").replace("mr0", "mr1"), "run",
                 "modify_qp A.qp0 state=INIT", _SEND, "run 1ms")  # fmt: skip
    report = why(lab)
    pointed = why(lab, report.name)
    assert (report.slug, report.outcome.kind) == (pointed.slug, pointed.outcome.kind)
    assert {"rem-access", "rnr-infinite"} <= {c.check.slug for c in report.causes}
    assert "bring-up-attr" in {c.check.slug for c in report.warnings}  # it is no cause of them


def test_peer_state_beside_a_busy_pair() -> None:
    busy = "loop; post_send A.qp1 opcode=RDMA_WRITE flags=SIGNALED; poll A.cq1; end"
    lab = played(_PAIR, "modify_qp B.qp0 state=RESET", _SEND, "run 1us", "use rc_pair",
                 f"program A.busy lines={{{busy}}}", "run 6ms")  # fmt: skip
    assert lab.session.world.event > 5_000
    assert why(lab).slug == why(lab, "A.qp0.wr[7]").slug == "peer-state"


def test_a_failed_receive_without_a_cause_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=31 sg=B.mr0[0:8]",
                 "post_send A.qp0 wr_id=32 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED", "run",
                 "poll_cq B.cq0", "poll_cq A.cq0")  # fmt: skip
    monkeypatch.setattr("rdmalab.doctor.diagnosis.diagnose.CHECKS", ())
    report = why(lab)
    assert (report.slug, report.is_trouble) == ("unknown", True)
    assert "no check matched" in report.text


_SILENT_SUCCESS = (
    _PAIR, _PAIR, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64]", "run", "poll_cq B.cq0", "poll_cq A.cq0",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "slug"),
    [
        (("post_send A.qp1 wr_id=2 opcode=RDMA_WRITE sg=A.mr1[0:64] remote_addr=0x20000000 "
          "rkey=0xdead flags=SIGNALED", "run", "poll_cq A.cq1"), "rem-access"),
        (("post_send A.qp1 wr_id=2 opcode=RDMA_READ sg=A.mr1[0:64] remote=B.mr1[0] "
          "flags=SIGNALED|INLINE",), "inline-opcode"),
        (("post_send A.qp1 wr_id=2 opcode=SEND sg=A.mr1[0:64] flags=SIGNALED", "run 3ms"),
         "rnr-infinite"),
    ],
)  # fmt: skip
def test_a_success_that_was_polled_for_in_vain_is_the_last_in_rank(
    lines: tuple[str, ...], slug: str
) -> None:
    report = why(played(*_SILENT_SUCCESS, *lines))
    assert report.slug == slug
    assert "unsignaled" in [cause.check.slug for cause in report.warnings]
    assert why(played(*_SILENT_SUCCESS)).slug == "unsignaled"


def test_a_region_that_was_deregistered_after_its_receive_gives_no_warning() -> None:
    recv, polls = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:256]", ("poll_cq A.cq0", "poll_cq B.cq0")
    lab = played(_PAIR, recv, _SEND, "run", *polls, "dereg_mr B.mr0")
    report = why(lab)
    assert (report.slug, report.warnings) == ("well", [])
    assert not why(lab, "B.qp0.recv_wr[1]").warnings


def test_a_peer_in_reset_comes_before_the_receive_that_the_reset_took() -> None:
    lab = played(_PAIR, "post_recv B.qp0 sg=B.mr0[0:64]", "modify_qp B.qp0 state=RESET", _SEND,
                 "run")  # fmt: skip
    for asked in ("", "A.qp0.wr[7]"):
        report = why(lab, asked)
        assert [cause.check.slug for cause in report.causes] == ["peer-state", "reset-swallowed"]
        assert report.causes[1].finding.evidence[0].text == "a call moved B.qp0 to RESET"


def test_a_request_and_its_answer_without_completions_of_the_sends_are_well() -> None:
    send = "post_send {0}.qp0 wr_id={1} opcode=SEND sg={0}.mr0[0:64]"
    lab = played(_PAIR, *(f"post_recv {n}.qp0 wr_id=10 sg={n}.mr0[64:128]" for n in "AB"))
    for line in (send.format("A", 1), "run", "poll_cq A.cq0", "poll_cq B.cq0", send.format("B", 2),
                 "run", "poll_cq A.cq0", "poll_cq B.cq0"):  # fmt: skip
        lab.do(line)
        assert not why(lab).is_trouble, line
    assert "unsignaled" in [cause.check.slug for cause in why(lab).warnings]


_BAD_KEY = (
    "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:64] remote_addr=0x20000000 rkey=0xdead"
    " flags=SIGNALED"
)


def test_receives_that_an_older_reset_took_are_no_cause_of_a_write() -> None:
    up = ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
    lab = played(_PAIR, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", *up, _BAD_KEY, "run 1ms")
    for asked in ("", "A.qp0.wr[2]"):
        assert [cause.check.slug for cause in why(lab, asked).causes] == ["rem-access"]
    read = "post_send A.qp0 wr_id=3 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"
    for line in (*up, read, "run"):
        lab.do(line)
    assert (why(lab, "A.qp0.wr[3]").slug, why(lab).slug) == ("completed", "well")


def test_a_thread_that_polls_for_nothing_comes_after_a_failure() -> None:
    idle = "program B.srv lines={loop; poll_cq B.cq0; sleep 1us; end}"
    report = why(played(_PAIR, idle, "run 100us", _BAD_KEY, "run 1ms", "poll_cq A.cq0"))
    assert report.slug == "rem-access"
    assert "nothing-outstanding" in [cause.check.slug for cause in report.warnings]


def test_a_send_queue_that_left_sqe_and_works_is_repaired() -> None:
    wrong = _DATAGRAM.format(qkey="0x11111111").replace("A.ah0", "A.ah1")
    recv = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:512]"
    handle = ("alloc_pd A.pd1", "create_ah A.ah1 pd=A.pd1 to=B")
    lab = played(_UD, *handle, recv, wrong, "run", "poll_cq A.cq0")
    report = why(lab)
    assert report.slug == "loc-qp-op"
    assert report.remedy is not None
    for line in (*report.remedy.cure.lines, "run", "poll_cq A.cq0"):
        lab.do(line)
    assert why(lab).slug == "well"


_LATE_RECEIVER = (
    "use rc_pair rnr_retry=0",
    "program B.rx lines={sleep 20us; post_recv B.qp0 wr_id=9 sg=B.mr0[0:64]; poll B.cq0}",
    "program A.tx lines={post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED;"
    " poll A.cq0}",
    "run 1ms", "apply", "run 1ms",
)  # fmt: skip
_TWO_ROUNDS = tuple(
    line.replace("64]; poll", "64]; poll B.cq0; post_recv B.qp0 wr_id=10 sg=B.mr0[0:64]; poll")
    for line in _LATE_RECEIVER
)
_NEWER_FAILURE = (
    "post_send A.qp0 wr_id=77 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0x20000000 rkey=0xbad"
    " flags=SIGNALED", "run 1ms",
)  # fmt: skip
_NOTIFIED = (
    "use rc_pair",
    "program B.rx lines={wait B.mr0[0] == 1; post_send B.qp0 wr_id=3 opcode=SEND sg=B.mr0[64:72]"
    " flags=SIGNALED}",
    "program A.tx lines={write A.mr0[0:1] \"\\x01\"; post_send A.qp0 wr_id=1 opcode=RDMA_WRITE"
    " sg=A.mr0[0:1] remote_addr=0x20000000 rkey=0xbad flags=SIGNALED; poll A.cq0}",
    "run 1ms", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0",
    "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0] flags=SIGNALED",
    "run 5ms",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "slug", "name"),
    [
        ((*_LATE_RECEIVER, *_NEWER_FAILURE), "rem-access", "A.qp0.wr[77]"),
        ((*_TWO_ROUNDS, *_NEWER_FAILURE), "rem-access", "A.qp0.wr[77]"),
        ((*_LATE_RECEIVER, _PAIR, _NEWER_FAILURE[0].replace("qp0", "qp1").replace("mr0", "mr1"),
          "run 1ms"), "rem-access",
         "A.qp1.wr[77]"),
        (_NOTIFIED, "rnr-infinite", "B.qp0.wr[3]"),
    ],
)  # fmt: skip
def test_a_thread_that_went_on_after_a_repair_hides_no_newer_failure(
    lines: tuple[str, ...], slug: str, name: str
) -> None:
    report = why(played(*lines))
    assert (report.slug, report.causes[0].name, report.is_trouble) == (slug, name, True)


@pytest.mark.parametrize("lines", [_LATE_RECEIVER, _TWO_ROUNDS])
def test_after_a_repair_the_thread_that_had_hung_is_not_the_heading(lines: tuple[str, ...]) -> None:
    report = why(played(*lines))
    if lines is _LATE_RECEIVER:
        assert (report.slug, report.name) == ("well", "")
    assert "A.qp0.wr[1]" not in [cause.name for cause in report.causes]


def test_a_call_refused_by_a_dead_device_is_not_before_what_the_device_ended() -> None:
    lab = played("use rc_pair timeout=8 retry_cnt=1", "device_fatal B",
                 "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]"
                 " flags=SIGNALED", "run", "modify_qp B.qp0 state=RESET")  # fmt: skip
    report = why(lab)
    assert report.slug == "port-not-active"
    assert "the device of B failed" in report.text
    lab.do("modify_qp A.qp0 state=RESET; modify_qp A.qp0 state=RTS")
    assert why(lab).slug == "bring-up-attr"


def test_work_that_failed_in_the_last_run_comes_before_a_datagram_that_was_lost_earlier() -> None:
    send = ("post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:{}] ah=A.ah0 remote_qpn=B.qp0 "
            "remote_qkey={:#x} flags=SIGNALED")  # fmt: skip
    lab = played("use ud_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
                 send.format(5, 64, 0x22222222), "run", send.format(6, 32, 0x11111111), "run",
                 "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]", send.format(7, 63, 0x11111111),
                 "run")  # fmt: skip
    report = why(lab)
    assert [cause.check.slug for cause in report.causes] == ["ud-40-bytes", "ud-qkey"]
    assert report.name == "B.qp0.recv_wr[2]"
