"""Completion queues that are polled although no work is left for them."""

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.grammar.expressions import parse_expression
from tests.doctor.asking import chain, verdict, why
from tests.doctor.checks.test_polling import TWO_CQS
from tests.each import each
from tests.labs import lab_of

_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED"
_TWO = [
    "use rc_pair",
    "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]",
    _WRITE.format(3),
    "run",
]


def test_a_queue_that_is_polled_for_an_unsignaled_request_names_it() -> None:
    lab = lab_of(*_TWO, "poll_cq A.cq0", "poll_cq A.cq0")
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.WARN
    assert not why(lab, "A.cq0").is_trouble  # who polls until it is empty does so, too
    lab.session.unanswered = [parse_expression("A.cq0").node]  # a program of the host hangs
    assert (chain(lab, "")[0], why(lab, "").outcome.kind) == ("unsignaled", Status.NEVER)


def test_a_queue_that_is_polled_once_too_often_has_no_work_left() -> None:
    lab = lab_of("use rc_pair", _WRITE.format(3), "run", "poll_cq A.cq0", "poll_cq A.cq0")
    assert verdict(lab, "A.cq0", "nothing-outstanding") is Verdict.WARN
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.NA


def _armed(*more: str) -> list[str]:
    """A queue with a channel, armed, on which a WRITE raises an event before `more`."""
    return [
        "create_comp_channel A.channel0", "create_cq A.ecq cqe=8 channel=A.channel0",
        *(f"create_qp {n}.qp1 pd={n}.pd0 qp_type=RC send_cq={cq} recv_cq={cq} max_send_wr=4"
          for n, cq in (("A", "A.ecq"), ("B", "B.cq0"))),
        "connect A.qp1 B.qp1", "req_notify_cq A.ecq",
        _WRITE.format(1).replace("qp0", "qp1"), "run", *more,
    ]  # fmt: skip


def test_an_event_whose_completion_was_polled_before_it_was_read_is_named() -> None:
    early = _armed("poll_cq A.ecq", "get_cq_event A.channel0", "poll_cq A.ecq")
    rows = " ".join(row.text for row in why(lab_of(*early), "A.ecq").rows)
    assert "the event that was read here had been raised for wr1" in rows
    assert "the completion of wr1 was polled before that" in rows
    late = _armed("get_cq_event A.channel0", "poll_cq A.ecq", "poll_cq A.ecq")
    assert not [row for row in why(lab_of(*late), "A.ecq").rows if "the event" in row.text]


def test_a_queue_that_is_polled_for_the_completion_of_another_one_names_that() -> None:
    *before, send, run = TWO_CQS
    lab = lab_of(*before, "poll_cq B.cq0", send, run)  # of many polls in vain the log has the first
    assert not why(lab, "B.cq0").is_trouble
    lab.session.unanswered = [parse_expression("B.cq0").node]
    assert (chain(lab, ""), why(lab, "").outcome.kind) == (["wrong-cq"], Status.NEVER)
    remedy = why(lab, "").remedy
    assert remedy is not None
    assert remedy.cure.program == "poll B.rcq instead of B.cq0, or both"


def test_a_queue_with_work_outstanding_is_not_blamed_for_a_silent_one() -> None:
    receive = "post_recv A.qp0 wr_id=9 sg=A.mr0[0:64]"
    lab = lab_of(*_TWO, receive, "poll_cq A.cq0", "poll_cq A.cq0")
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.NA
    lab = lab_of(*_TWO, "poll_cq A.cq0")  # and no poll was in vain
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.NA


_SLOTS = (f"wr={{wr_id={20 + n} sg=#.mr0[{512 + 64 * n}:{576 + 64 * n}]}}" for n in range(3))
_RECEIVES = f"post_recv #.qp0 {' '.join(_SLOTS)}"
_CREDIT = "post_send B.qp0 wr_id=7 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0[64] flags=SIGNALED"
_THREE = ("program A.tx lines={loop 3; post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]; "
          "sleep 20us; end; poll A.cq0; poll A.cq0}")  # fmt: skip
_ANSWER = "post_send B.qp0 wr_id=9 opcode=SEND sg=B.mr0[0:8]"


@each(
    "lines, thread",
    [
        (f"{_CREDIT}; loop 3; poll B.cq0; end; poll B.cq0; poll B.cq0", "B.rx"),
        (f"{_CREDIT}; poll B.cq0 until B.cq0.total == 3; poll B.cq0; poll B.cq0", "B.rx"),
        (f"loop 3; poll B.cq0; {_CREDIT}; end; {_ANSWER}", "A.tx"),
    ],
)
def test_a_thread_that_polls_its_own_sends_as_messages_is_named(lines: str, thread: str) -> None:
    three = _THREE if thread == "A.tx" else _THREE.replace("; poll A.cq0", "").replace("3", "2")
    lab = lab_of("use rc_pair", _RECEIVES.replace("#", "A"), _RECEIVES.replace("#", "B"),
                 f"program B.rx lines={{{lines}}}", three, "run 1ms")  # fmt: skip
    for question in ("", thread):
        report = why(lab, question)
        assert (report.slug, report.outcome.kind) == ("already-polled", Status.NEVER)
        assert "B.rx polled wr7, a send of its own, in line" in report.text


@each(
    "lines",
    [
        f"{_CREDIT}; poll B.cq0; loop 3; poll B.cq0; end",
        f"{_CREDIT}; loop 9; poll B.cq0; if B.cq0.last.opcode == RECV; sleep 1us; end; end",
    ],
)
def test_a_thread_that_polls_its_sends_apart_from_messages_waits_for_a_message(lines: str) -> None:
    lab = lab_of("use rc_pair", _RECEIVES.replace("#", "B"), f"program B.rx lines={{{lines}}}",
                 _THREE.replace("; poll A.cq0", "").replace("loop 3", "sleep 9us; loop 2"),
                 "run 1ms")  # fmt: skip
    assert why(lab, "B.rx").slug == "silent-peer"
