"""Threads of two nodes that wait for each other while their sends are retried without limit."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.grammar.expressions import parse_expression
from tests.doctor.asking import answer, played

_THREAD = (
    "program {0}.main lines={{post_send {0}.qp0 wr_id=1 opcode=SEND sg={0}.mr0[0:64] "
    "flags=SIGNALED; poll {0}.cq0; {1}post_recv {0}.qp0 wr_id=2 sg={0}.mr0[64:128]; poll {0}.cq0}}"
)


@pytest.mark.parametrize(
    ("time", "questions"),
    [*((time, ("why", "why A.main", "why B.main")) for time in ("100us", "635us", "700us")),
     ("3ms", ("why",))],
)  # fmt: skip
def test_sends_before_receives_at_both_ends(time: str, questions: tuple[str, ...]) -> None:
    lab = played("use rc_pair", *(_THREAD.format(node, "") for node in "AB"), f"run {time}")
    for question in questions:
        report = answer(lab, question)
        assert (report.outcome.kind, report.slug) == (Status.NEVER, "mutual-wait"), question
        assert "A.main polls in vain in line 2" in report.text, question


def test_a_thread_that_will_post_its_receive_holds_nothing_up_for_long() -> None:
    late = "program B.main lines={sleep 2ms; post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]; poll B.cq0}"
    lab = played("use rc_pair", _THREAD.format("A", ""), late, "run 100us")
    assert answer(lab, "why").outcome.kind in (Status.WELL, Status.PENDING)
    assert "mutual-wait" not in answer(lab, "why A.main").text


_CREDITS = (
    "post_recv A.qp0 wr={wr_id=1 sg=A.mr0[0:64]} wr={wr_id=2 sg=A.mr0[0:64]}",
    "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[0:64]}",
    "program A.main lines={{loop{0}; post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[64:72] "
    "flags=SIGNALED; poll A.cq0; poll A.cq0; end}}",
    "program B.main lines={{loop{0}; poll B.cq0; poll B.cq0; post_send B.qp0 wr_id=3 opcode=SEND "
    "sg=B.mr0[64:72]; end}}",
)


@pytest.mark.parametrize("question", ["why", "why A.main", "why B.main"])
@pytest.mark.parametrize("turns", ["", " 4"])
def test_a_message_of_the_next_turn_of_a_loop(question: str, turns: str) -> None:
    """A sends once per credit, B returns a credit for two messages: each waits for the other."""
    calls, programs = _CREDITS[:2], (line.format(turns) for line in _CREDITS[2:])
    report = answer(played("use rc_pair", *calls, *programs, "run 1ms"), question)
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "mutual-wait")


@pytest.mark.parametrize("question", ["why", "why A.main", "why B.main"])
def test_datagrams_that_each_end_sends_after_it_has_received_one(question: str) -> None:
    thread = (
        "program {0}.main lines={{poll {0}.cq0; post_send {0}.qp0 wr_id=2 opcode=SEND "
        "sg={0}.mr0[128:136] ah={0}.ah0 remote_qpn={1}.qp0 remote_qkey=0x11111111}}"
    )
    receives = (f"post_recv {node}.qp0 wr_id=1 sg={node}.mr0[0:104]" for node in "AB")
    threads = (thread.format(*ends) for ends in ("AB", "BA"))
    report = answer(played("use ud_pair", *receives, *threads, "run 1ms"), question)
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "mutual-wait")


@pytest.mark.parametrize("question", ["why A.main", "why B.main"])
def test_a_peer_that_only_posts_receives_sends_nothing(question: str) -> None:
    """Both wait, but no line of A.main sends: B.main waits for no thread."""
    lab = played(
        "use rc_pair", *(f"post_recv {node}.qp0 wr_id=1 sg={node}.mr0[0:64]" for node in "AB"),
        "program A.main lines={loop; poll A.cq0; post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]; end}",
        "program B.main lines={poll B.cq0; post_send B.qp0 wr_id=2 opcode=SEND sg=B.mr0[64:72]}",
        "run 1ms",
    )  # fmt: skip
    report = answer(lab, question)
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "silent-peer")
    assert "1. silent-peer" in report.text
    assert "A.qp0 has sent nothing" in report.text


_RECVS = ("use rc_pair channel=1", "post_recv A.qp0 wr_id=1", "post_recv B.qp0 wr_id=2", "run")


@pytest.mark.parametrize("waits", [("A.cq0", "B.cq0"), ("A.ch0", "B.ch0"), ("A.cq0", "B.ch0")])
def test_programs_of_the_host_that_wait_for_each_other(waits: tuple[str, str]) -> None:
    """Of these no lines are known: only that each waits, and that nothing is under way."""
    lab = played(*_RECVS)
    lab.session.unanswered = [parse_expression(each).node for each in waits]
    for question in ("why", f"why {waits[0]}", f"why {waits[1]}"):
        report = answer(lab, question)
        assert (report.outcome.kind, report.slug) == (Status.NEVER, "mutual-wait"), question
        assert "programs wait for a completion on" in report.text


@pytest.mark.parametrize(
    ("more", "waits"),
    [((), ("A.cq0",)), ((), ("A.cq0", "B.qp0")),
     (("post_send B.qp0 opcode=SEND sg=B.mr0[0:8]",), ("A.cq0", "B.cq0"))],
)  # fmt: skip
def test_a_program_whose_peer_does_not_wait_or_has_sent_is_in_no_circle(
    more: tuple[str, ...], waits: tuple[str, ...]
) -> None:
    lab = played(*_RECVS, *more)
    lab.session.unanswered = [parse_expression(each).node for each in waits]
    assert answer(lab, "why").slug != "mutual-wait"


_CLIENT = ("post_recv A.qp0 wr_id=1 sg=A.mr0[512:576]", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
           "program A.cli lines={post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:8] "
           "flags=SIGNALED; poll A.cq0; poll A.cq0}",
           "program B.srv lines={loop; poll B.cq0; post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]; "
           "if B.mr0[0] == 1; post_send B.qp0 wr_id=8 opcode=SEND sg=B.mr0[256:264] "
           "flags=SIGNALED; poll B.cq0; end; end}",
           "run 1ms")  # fmt: skip


@pytest.mark.parametrize("question", ["why", "why A.cli"])
@pytest.mark.parametrize("stopped", [(), ("stop A.cli", "stop B.srv")])
def test_silent_peer_of_a_server_that_took_a_request_and_sent_no_reply(
    question: str, stopped: tuple[str, ...]
) -> None:
    report = answer(played("use rc_pair", *_CLIENT, *stopped), question)
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "silent-peer")
    assert "B.srv took a message on B.qp0; B.qp0 has sent nothing" in report.text
    assert "B.srv left out line 5, for B.mr0[0] == 1 was false in line 4" in report.text


def test_a_server_in_a_loop_without_end_may_wait_for_its_next_request() -> None:
    served = [line.replace("if B.mr0[0] == 1", "if B.mr0[0] == 0") for line in _CLIENT]
    assert not answer(played("use rc_pair", *served), "why").is_trouble


@pytest.mark.parametrize("question", ["why", "why B.srv"])
def test_a_wake_up_that_is_lost_as_its_flag_was_read_before_it_was_set(question: str) -> None:
    flag = "post_send A.qp0 wr_id={} opcode={} sg=A.mr0[{}] remote=B.mr0[{}] flags=SIGNALED"
    wake = "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:1] flags=SIGNALED"
    lab = played(
        "use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[512:576]",
        "program B.srv lines={if B.mr0[0] == 0; sleep 30us; write B.mr0[8:9] 1; poll B.cq0; end}",
        f"program A.cli lines={{sleep 2us; {flag.format(1, 'RDMA_WRITE', '0:1', 0)}; poll A.cq0; "
        f"{flag.format(2, 'RDMA_READ', '64:65', '8:9')}; poll A.cq0; "
        f"if A.mr0[64] == 1; {wake}; end}}",
        "run 1ms",
    )  # fmt: skip
    report = answer(lab, question)
    assert report.outcome.kind is Status.NEVER
    texts = [each.text for each in report.causes[0].finding.evidence]
    assert texts[0] == "A.cli left out line 7, for A.mr0[64] == 1 was false in line 6"
    assert texts[1] == "B.srv wrote B.mr0[8:9] after A.qp0.wr[2] had read it"
    assert report.remedy is not None
    assert report.remedy.cure.program.startswith("let B.srv look again")
