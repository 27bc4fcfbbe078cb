"""NEVER, or pending: what time alone brings, the time of the end, and what it waits for."""

from pathlib import Path

import pytest

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status, outcome_of
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.doctor.moments.what_if import attempt
from rdmalab.grammar.expressions import parse_expression
from rdmalab.views import fmt
from rdmalab.world.relations import exists
from tests.doctor import tidying
from tests.doctor.asking import answer, played
from tests.each import a_tenth, each

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_OUTAGE = ("use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "link down", _SEND, "run 10ms")
_LATE = ("use rc_pair rnr_retry=6 min_rnr_timer=0", _SEND, "run 100ms")
_TENFOLD_NS = 10 * 655_360_000 * 8
"""Ten times the longest wait for a receiver, with all its retries."""


BOTH = pytest.mark.parametrize("question", ["why", "why A.qp0.wr[7]"])


_EIGHT = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"  # wr_id 0, as by default


def test_a_second_request_of_one_wr_id_leaves_the_verdict_of_the_first() -> None:
    alone = answer(played("use rc_pair", _EIGHT), "why")
    beside = answer(played("use rc_pair", _EIGHT, _EIGHT), "why")
    assert alone.outcome.kind is Status.PENDING
    assert (beside.outcome.kind, beside.slug) == (alone.outcome.kind, alone.slug)
    assert beside.remedy is None


def test_the_end_of_an_unsignaled_send_is_one_sentence() -> None:
    unsignaled = _EIGHT.removesuffix(" flags=SIGNALED")
    report = answer(played("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]", unsignaled),
                    "why A.qp0.wr[0]")  # fmt: skip
    assert report.outcome.sentence == (
        "it has no completion; without another call it is carried out, unsignaled and so without"
        " a CQE, at 2.211 us"
    )


def test_a_fix_is_judged_by_the_request_that_it_is_for() -> None:
    lab = played("use rc_pair", _EIGHT, _EIGHT, "run 5ms")
    report = answer(lab, "why")
    assert report.remedy is not None
    assert (report.slug, report.remedy.works) == ("rnr-infinite", True)


@BOTH
def test_a_timer_that_counts_down_is_no_never(question: str) -> None:
    lab = played(*_OUTAGE)
    report = answer(lab, question)
    assert (report.outcome.kind, report.slug) == (Status.PENDING, "port-not-active")
    assert "it ends with RETRY_EXC_ERR at 536.8710 ms" in report.outcome.sentence
    lab.do("run")
    (last,) = lab.do("poll_cq A.cq0")[-1].value
    assert (last.status.name, last.at_ns) == ("RETRY_EXC_ERR", 536_871_012)


@BOTH
def test_rnr_wait_of_a_pending_send(question: str) -> None:
    report = answer(played(*_LATE), question)
    assert (report.outcome.kind, report.slug) == (Status.PENDING, "rnr-wait")
    assert "RNR retry 1 of 6" in report.text
    assert "it ends with RNR_RETRY_EXC_ERR" in report.outcome.sentence
    assert report.remedy is not None
    assert report.remedy.works


@BOTH
def test_rnr_infinite_outcome_is_never(question: str) -> None:
    report = answer(played("use rc_pair", _SEND, "run 100ms"), question)
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "rnr-infinite")


@BOTH
def test_retry_7_of_soft_roce_never_ends(question: str) -> None:
    lines = ("use rc_pair retry_cnt=7 timeout=8", "fault drop A->B", _SEND, "run 50ms")
    assert answer(played(*lines, profile="rxe"), question).outcome.kind is Status.NEVER


def test_a_long_timeout_is_pending() -> None:
    report = answer(played("use rc_pair timeout=30", "fault drop A->B", _SEND, "run 1s"), "why")
    assert report.outcome.kind is Status.PENDING


@each("path", a_tenth(tidying.files()))
def test_every_never_is_true(path: Path) -> None:
    for session, step in tidying.failed(path):
        question = step.why or ""
        report, log = tidying.why(session, question), Log(session)
        asked = parse_expression(question, session.default_node).node if question else None
        meant = [
            s for s in subjects(session, log, asked) if name_of(session.names, s) == report.name
        ]
        if report.outcome.kind is not Status.NEVER or not exists(session.world, meant[0].thing):
            continue
        before = outcome_of(session, meant[0], log)
        session.world.run(20_000, session.world.now_ns + _TENFOLD_NS)
        assert outcome_of(session, meant[0], Log(session)) == before, question


def test_fix_must_complete_earlier_than_no_fix() -> None:
    post = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
    lab = played("use rc_pair min_rnr_timer=0", _SEND, "run 10us", post)
    remedy = answer(lab, "why A.qp0.wr[7]").remedy
    assert remedy is not None
    assert not remedy.works
    assert remedy.failure == "it completes no earlier than without the fix"


def test_too_early_has_no_fix() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]", _SEND, "step")
    report = answer(lab, "why A.qp0.wr[7]")
    assert report.slug == "too-early"
    assert "fix" not in report.text


def test_a_fix_that_leaves_the_peer_in_err_does_not_work() -> None:
    lab = played("use rc_pair", _SEND, "run 10us", "modify_qp B.qp0 state=ERR")
    lines = ["modify_qp A.qp0 state=ERR", "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64]"]
    (subject, *_) = subjects(lab.session, Log(lab.session), parse_expression("A.qp0.wr[7]").node)
    assert not attempt(lab.session, lines, subject).works


@pytest.mark.parametrize("wr_id", [6, 8])
def test_waiting_for_a_read_has_an_end_and_no_fix(wr_id: int) -> None:
    lab = played(
        "use rc_pair", "fault delay A->B 3ms opcode=RDMA_READ_REQUEST",
        "post_send A.qp0 wr_id=5 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0]",
        "post_send A.qp0 wr_id=6 opcode=RDMA_WRITE sg=A.mr0[64:128] remote=B.mr0[512] "
        "flags=SIGNALED|FENCE",
        "post_send A.qp0 wr_id=8 opcode=RDMA_READ sg=A.mr0[128:192] remote=B.mr0[0] flags=SIGNALED",
        "run 10us",
    )  # fmt: skip
    report = answer(lab, f"why A.qp0.wr[{wr_id}]")
    lab.do("run")
    ended = fmt.clock(lab.look(f"A.qp0.wr[{wr_id}].completed_ns"))
    assert f"completes at {ended} if time goes on" in report.text
    assert "fix" not in report.text


_SERVER = (
    "program B.rx pace=50us lines={loop; poll B.cq0; sleep 20us; post_recv B.qp0 wr_id=9 "
    "sg=B.mr0[0:64]; end}"
)
_THREE = "; ".join(_SEND.replace("=7", f"={n}") for n in (1, 2, 3))
_SLOW_RNR = ("use rc_pair min_rnr_timer=0",
             "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}", _SERVER,
             f"program A.tx pace=50us lines={{{_THREE}; poll A.cq0; poll A.cq0; poll A.cq0}}",
             "run 300ms")  # fmt: skip


def test_a_thread_that_polls_names_the_wait_of_its_work() -> None:
    lab = played(*_SLOW_RNR)
    for question in ("why A.tx", "why A.qp0.wr[3]", "why"):
        report = answer(lab, question)
        assert (report.outcome.kind, report.slug) == (Status.PENDING, "rnr-slow"), question
        assert not report.is_trouble
        assert report.remedy is None or not report.remedy.works
    lab.do("run 500ms")
    report = answer(lab, "why")
    assert (report.name, report.outcome.kind) == ("A.qp0.wr[3]", Status.LATE)
    assert report.slug == "rnr-slow"


def test_a_server_that_has_served_waits_for_the_next_request_and_is_well() -> None:
    recv = "post_recv B.qp0 wr_id={} sg=B.mr0[{}:{}]"
    served = ("use rc_pair", recv.format(1, 0, 64), "program B.rx lines={loop; poll B.cq0; "
              f"{recv.format(2, 0, 64)}; end}}", f"program A.tx lines={{{_SEND}; poll A.cq0}}",
              "run 100us")  # fmt: skip
    events = ("use rc_pair channel=1", recv.format(1, 0, 64), recv.format(2, 64, 128),
              "program B.rx lines={loop; req_notify_cq B.cq0; poll B.cq0 until B.cq0.count == 0; "
              "get_cq_event B.ch0; ack_cq_events B.cq0; end}",
              f"program A.tx lines={{sleep 2us; {_SEND}; poll A.cq0}}", "run 100us")  # fmt: skip
    for lines in (served, events):
        lab = played(*lines)
        assert answer(lab, "why").outcome.kind is Status.WELL
        report = answer(lab, "why B.rx")
        assert (report.outcome.kind, report.slug) == (Status.PENDING, "silent-peer")
        assert report.remedy is None


_REPLY = "post_send B.qp0 wr_id=8 opcode={} sg=B.mr0[512:576]{}"
_REPLIES = (_REPLY.format("SEND", ""), _REPLY.format("SEND", " flags=INLINE"),
            _REPLY.format("RDMA_WRITE", " remote=A.mr0[512]"))  # fmt: skip
_CLIENT = f"program A.tx lines={{sleep 2us; {_SEND}; poll A.cq0; sleep 9us; poll_cq A.cq0}}"


@pytest.mark.parametrize("reply", _REPLIES)
@pytest.mark.parametrize("again", ["", "post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]; "])
def test_an_event_server_whose_replies_are_unsignaled_is_well(reply: str, again: str) -> None:
    receives = "wr={wr_id=3 sg=B.mr0[128:192]} wr={wr_id=4 sg=B.mr0[192:256]}"
    loop = ("get_cq_event B.ch0; ack_cq_events B.cq0; req_notify_cq B.cq0; "
            "poll B.cq0 until B.cq0.count == 0")  # fmt: skip
    lab = played("use rc_pair channel=1 max_inline_data=64", f"post_recv B.qp0 {receives}",
                 f"program B.srv lines={{req_notify_cq B.cq0; loop; {loop}; {again}{reply}; end}}",
                 "post_recv A.qp0 wr_id=5 sg=A.mr0[512:576]",
                 _CLIENT, "run 100us")  # fmt: skip
    assert answer(lab, "why").outcome.kind is Status.WELL
    report = answer(lab, "why B.srv")
    assert (report.outcome.kind, report.slug) == (Status.PENDING, "silent-peer")


def test_an_event_server_that_waits_for_its_own_unsignaled_send_hangs() -> None:
    loop = "get_cq_event B.ch0; ack_cq_events B.cq0; req_notify_cq B.cq0; poll B.cq0"
    lab = played("use rc_pair channel=1", "post_recv B.qp0 wr_id=3 sg=B.mr0[128:192]",
                 f"program B.srv lines={{req_notify_cq B.cq0; loop; {loop}; {_REPLIES[0]}; end}}",
                 "post_recv A.qp0 wr_id=5 sg=A.mr0[512:576]",
                 _CLIENT, "run 100us")  # fmt: skip
    assert answer(lab, "why").slug == "unsignaled"
