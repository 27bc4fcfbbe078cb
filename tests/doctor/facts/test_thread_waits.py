"""Threads that wait or poll in vain: the same root, and NEVER, from each side."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.report.report import Report
from rdmalab.lab import Lab
from tests.each import each

_POLL = "program A.x lines={poll A.cq0}"
_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
_UNSIGNALED = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64]"
_SEND = f"{_UNSIGNALED} flags=SIGNALED"
_FAILS = "reg_mr A.mr9 pd=A.pd0 length=64 access=REMOTE_WRITE"
EVERYWHERE = pytest.mark.parametrize("question", ["why", "why A.x", "why A.cq0"])
THREAD = pytest.mark.parametrize("question", ["why", "why A.x"])


def why(question: str, *lines: str) -> Report:
    lab = Lab()
    for line in ("use rc_pair", *lines, "run 1ms"):
        lab.do(line)
    report = lab.do(question)[-1].value
    assert isinstance(report, Report), question
    return report


def never(report: Report) -> str:
    """The root of what never ends."""
    assert report.outcome.kind is Status.NEVER
    assert report.text.startswith("NEVER ")
    assert report.is_trouble
    return report.slug


@EVERYWHERE
@pytest.mark.parametrize("lines", ["poll A.cq0", "loop; poll_cq A.cq0; sleep 1us; end"])
def test_nothing_outstanding_of_a_polling_thread(question: str, lines: str) -> None:
    report = why(question, f"program A.x lines={{{lines}}}")
    assert never(report) == "nothing-outstanding"
    assert "nothing was posted on A.qp0" in report.text


@EVERYWHERE
def test_a_thread_that_polls_for_an_unsignaled_send(question: str) -> None:
    report = why(question, _RECV, _UNSIGNALED, _POLL)
    assert never(report) == "unsignaled"
    assert [cause.check.slug for cause in report.chain] == ["unsignaled"]
    assert report.remedy is not None
    assert report.remedy.cure.program == "post wr7 with flags=SIGNALED"  # again would send it twice


@EVERYWHERE
def test_silent_peer_of_a_polling_thread(question: str) -> None:
    report = why(question, "post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]", _POLL)
    assert never(report) == "silent-peer"
    assert report.remedy is not None
    assert report.remedy.ends == "B.qp0 sends a message that no program posts"


@THREAD
def test_thread_stopped_of_a_waiting_thread(question: str) -> None:
    report = why(question, f"program A.tx lines={{{_FAILS}}}",
                 "program A.x lines={wait A.tx.state == DONE}")  # fmt: skip
    assert report.slug == "thread-stopped"
    assert "A.tx failed in line 1" in report.text


@THREAD
def test_thread_stopped_of_a_polling_thread(question: str) -> None:
    tx = f"program B.tx lines={{{_FAILS.replace('A.', 'B.')}; post_send B.qp0 opcode=SEND}}"
    report = why(question, "post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]", tx, _POLL)
    assert report.slug == "thread-stopped"
    assert "B.tx failed in line 1" in report.text


@THREAD
def test_nothing_outstanding_of_a_thread_that_waits_for_a_polling_one(question: str) -> None:
    report = why(question, "program A.tx lines={poll A.cq0; sleep 1us}",
                 "program A.x lines={wait A.tx.state == DONE; sleep 1us}")  # fmt: skip
    assert never(report) == "nothing-outstanding"


@THREAD
@pytest.mark.parametrize(
    "lines",
    [
        ("A.x lines={wait A.y.state == DONE}", "A.y lines={wait A.x.state == DONE}"),
        ("A.x lines={post_recv A.qp0 sg=A.mr0[0:8]; poll A.cq0; post_send A.qp0 opcode=SEND}",
         "B.x lines={post_recv B.qp0 sg=B.mr0[0:8]; poll B.cq0; post_send B.qp0 opcode=SEND}"),
        ("A.x lines={wait A.y.state == DONE}", "A.y lines={wait A.z.state == DONE}",
         "A.z lines={wait A.x.state == DONE}"),
    ],
)  # fmt: skip
def test_mutual_wait(question: str, lines: tuple[str, ...]) -> None:
    report = why(question, *(f"program {line}" for line in lines))
    assert never(report) == "mutual-wait"
    assert [c.check.slug for c in report.causes].count("mutual-wait") == 1


@THREAD
def test_a_wait_for_a_number_that_was_passed(question: str) -> None:
    report = why(question, _RECV, _RECV, _SEND, _SEND, "run",
                 "program A.x lines={wait A.cq0.total == 1}")  # fmt: skip
    assert never(report) == "condition-false"
    assert "A.cq0.total is 2" in report.text


@THREAD
def test_an_open_region_beside_a_thread_that_polls(question: str) -> None:
    qp = "create_qp_ex A.q pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    lines = (qp, "reset B.qp0", "connect A.q B.qp0", "wr_start A.q")
    built = ("wr_send A.q wr_id=7 wr_flags=SIGNALED", "wr_set_sge A.q sg=A.mr0[0:64]")
    report = why(question, *lines, *built, _RECV, _POLL)
    assert never(report) == "region-not-completed"


@pytest.mark.parametrize("run", ["run 1us", "run 2us"])
def test_a_thread_that_polls_while_work_is_under_way_is_no_trouble(run: str) -> None:
    lab = Lab()
    for line in ("use rc_pair", _RECV, _SEND, _POLL, run):
        lab.do(line)
    assert not lab.do("why")[-1].value.is_trouble
    assert lab.do("why A.x")[-1].value.outcome.kind is Status.PENDING


@EVERYWHERE
def test_a_thread_that_polls_for_a_send_that_never_ends(question: str) -> None:
    assert never(why(question, _SEND, _POLL)) == "rnr-infinite"


def test_a_loop_that_counts_down_goes_on() -> None:
    report = why("why", "program A.x lines={loop 50000; poll_cq A.cq0; end}")
    assert report.outcome.kind is Status.WELL


_REPLY = (
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "program B.rx lines={poll B.cq0; %s}",
    "program A.tx lines={post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:64]; poll A.cq0%s}",
)  # fmt: skip
_SENDS = "post_send B.qp0 wr_id=3 opcode=SEND sg=B.mr0[512:516]"
_WRITES = "post_send B.qp0 wr_id=3 opcode=RDMA_WRITE sg=B.mr0[512:516] remote=A.mr0[512]"


@each("receives, server, until, slug", [
    (0, _SENDS, "", "rnr-infinite"),
    (1, _WRITES, " until A.cq0.last.opcode == RECV", "write-no-signal"),
    (1, "stop", " until A.cq0.last.wr_id == 11", "silent-peer"),
    (1, f"reg_mr B.mr1 pd=B.pd0 length=8 access=REMOTE_WRITE; {_SENDS}", "", "thread-stopped"),
    (1, "stop", " until A.cq0.last.wr_id == 5", "unsignaled"),
])  # fmt: skip
def test_an_unsignaled_request_is_not_to_blame_where_a_reply_is_waited_for(
    receives: int, server: str, until: str, slug: str
) -> None:
    post, rx, tx = _REPLY
    own = ("post_recv A.qp0 wr_id=11 sg=A.mr0[512:576]",) * receives
    found = why("why A.tx", *own, post, rx % server, tx % until)
    assert found.slug == slug
