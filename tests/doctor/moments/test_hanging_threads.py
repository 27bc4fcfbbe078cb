"""A thread that hangs is named after the objects that it waits for were destroyed, too."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor.asking import answer, played, why

_SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
SRQ = (
    "use srq_pair", "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]",
    "program B.drain lines={modify_qp B.qp0 state=ERR; poll B.cq0; poll B.cq0}", "run 100us",
)  # fmt: skip
SOLICITED = (
    "use rc_pair channel=1", _RECV, "program B.rx lines={req_notify_cq B.cq0 solicited_only=1; "
    "get_cq_event B.ch0; poll B.cq0}", _SEND, "run 1ms",
)  # fmt: skip
POLLED = (
    "use rc_pair", _RECV, f"program A.t1 lines={{{_SEND}; sleep 6us; poll A.cq0}}",
    "program A.stats lines={loop 10; poll_cq A.cq0; sleep 1us; end}", "run 1ms",
)  # fmt: skip
_ALL = ("destroy_qp A.qp0", "destroy_qp A.qp1", "destroy_qp B.qp0", "destroy_qp B.qp1",
        "destroy_srq B.srq0", "destroy_cq A.cq0", "destroy_cq B.cq0",
        "destroy_comp_channel B.ch0")  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "thread", "slug"),
    [
        (SRQ, "B.drain", "srq-qp-err-no-flush"), (SOLICITED, "B.rx", "solicited-only"),
        (POLLED, "A.t1", "already-polled"),
    ],
)  # fmt: skip
def test_a_hanging_thread_stays_one_after_a_teardown(
    lines: tuple[str, ...], thread: str, slug: str
) -> None:
    lab = played(*lines)
    assert answer(lab, "why").slug == slug
    for line in _ALL:
        lab.do(line)
    for question in ("why", f"why {thread}"):
        report = answer(lab, question)
        assert (report.outcome.kind, report.slug) == (Status.NEVER, slug), question
        assert report.is_trouble


def test_a_thread_says_which_of_its_objects_was_destroyed() -> None:
    lab = played("use rc_pair", "program A.t lines={sleep 1us; poll A.cq0}", "run 2us",
                 "destroy_qp A.qp0", "destroy_cq A.cq0")  # fmt: skip
    report = answer(lab, "why A.t")
    assert (report.outcome.kind, report.outcome.sentence) == (
        Status.NEVER, "it is in line 2: poll A.cq0; A.cq0 was destroyed",
    )  # fmt: skip


def test_a_thread_that_serves_without_end_is_no_trouble_after_a_teardown() -> None:
    lab = played("use rc_pair", "program B.srv lines={loop; poll_cq B.cq0; sleep 1us; end}",
                 _RECV, _SEND, "run 100us", "poll_cq A.cq0", *_ALL)  # fmt: skip
    assert answer(lab, "why").slug == "well"


_MESSAGE = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:8]{}"
_SIGNALED = _MESSAGE.format(7, " flags=SIGNALED")
_TAKES = "get_cq_event B.ch0; ack_cq_events B.cq0"


def _event_server(lines: str, *tidy: str) -> Lab:
    """An event loop of B; one message comes to it, and three more that wake it once."""
    posts = " ".join(f"wr={{wr_id={n} sg=B.mr0[{64 * n}:{64 * n + 64}]}}" for n in range(4))
    three = "; ".join([*(_MESSAGE.format(n, "") for n in (5, 6)), _SIGNALED])
    tx = f"program A.tx lines={{sleep 1us; {_SIGNALED}; poll A.cq0; sleep 50us; {three}}}"
    return played("use rc_pair channel=1", f"post_recv B.qp0 {posts}",
                  f"program B.rx lines={{req_notify_cq B.cq0; loop; {lines}; end}}", tx,
                  "run 1ms", *tidy)  # fmt: skip


_ARMS_ONCE = f"{_TAKES}; poll B.cq0 until B.cq0.count == 0"
_TAKES_TWO = f"{_TAKES}; req_notify_cq B.cq0; poll_cq B.cq0 num_entries=2"


@pytest.mark.parametrize(
    "tidy",
    [
        (),
        ("stop B.rx",),
        ("stop B.rx", "reset A.qp0", "reset B.qp0"),
        ("stop B.rx", "destroy_qp A.qp0", "destroy_qp B.qp0"),
    ],
)
@pytest.mark.parametrize(("lines", "slug", "advice"), [
    (_ARMS_ONCE, "cq-not-armed", "put req_notify_cq B.cq0 into its loop"),
    (_TAKES_TWO, "polled-once", "poll B.cq0 until it is empty"),
])  # fmt: skip
def test_an_event_loop_that_left_completions_unread(
    lines: str, slug: str, advice: str, tidy: tuple[str, ...]
) -> None:
    lab = _event_server(lines, *tidy)
    report = why(lab)
    assert (report.name, report.slug, report.is_trouble) == ("B.rx", slug, True)
    assert report.remedy is not None
    assert advice in report.remedy.cure.program


def test_an_event_loop_that_read_all_may_be_stopped() -> None:
    lab = _event_server(f"{_TAKES}; req_notify_cq B.cq0; poll_cq B.cq0 num_entries=4", "stop B.rx")
    assert not why(lab).is_trouble
