"""Looking at the right completion queue, in the right way? Near misses for every suspicion."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from rdmalab.spec.records import A, Kind, kind_of
from tests.doctor.asking import answer, chain, evidence_of, finding, played, verdict, why
from tests.labs import RECV, SEND, lab_of

_CHANNEL = "use rc_pair channel=1"
_ASLEEP = ("cq-not-armed", "armed-after-cqe", "solicited-only", "no-channel")


def program(name: str, *lines: str) -> str:
    return f"program {name} lines={{{'; '.join(lines)}}}"


def only(lab: Lab, slug: str, asked: str = "B.rx") -> bool:
    """Whether of the four ways to sleep in vain it is this one, or none if empty."""
    failing = [each for each in _ASLEEP if verdict(lab, asked, each) is Verdict.FAIL]
    return failing == ([slug] if slug else [])


def helps(lab: Lab, asked: str) -> bool:
    remedy = why(lab, asked).remedy
    return remedy is not None and remedy.helps


# --------------------------------------------------------------------------- wrong-cq
TWO_CQS = (
    "create_cq B.rcq cqe=16",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.rcq",
    "reset A.qp0",
    "connect A.qp0 B.qp1",
    "post_recv B.qp1 wr_id=2 sg=B.mr0[0:64]",
    SEND,
    "run",
)


def test_wrong_cq_of_the_other_cq_of_the_qp() -> None:
    lab = lab_of(*TWO_CQS, "poll_cq B.cq0")
    assert chain(lab, "B.qp1.recv_wr[2]") == ["wrong-cq"]


@pytest.mark.parametrize("polled", [[], ["poll_cq B.rcq"], ["poll_cq B.cq0", "poll_cq B.rcq"]])
def test_wrong_cq_not_without_a_poll_or_with_the_right_one(polled: list[str]) -> None:
    lab = lab_of(*TWO_CQS, *polled)
    assert chain(lab, "B.qp1.recv_wr[2]") == []


def test_many_polls_of_the_wrong_queue_are_counted_as_a_person_counts() -> None:
    lab = lab_of(*TWO_CQS, *["poll_cq B.cq0"] * 22)
    assert "polled B.cq0 for the 22nd time" in evidence_of(lab, "B.qp1.recv_wr[2]", "wrong-cq")


def test_wrong_cq_not_for_polls_of_another_pair() -> None:
    lab = lab_of(RECV, SEND, "run", "use rc_pair", "poll_cq B.cq1")
    assert verdict(lab, "B.qp0.recv_wr[2]", "wrong-cq") is Verdict.OK


def test_wrong_cq_not_for_a_poll_with_completions() -> None:
    answer = (
        "post_send B.qp1 wr_id=9 opcode=RDMA_WRITE sg=B.mr0[0:4] remote=A.mr0[0] flags=SIGNALED"
    )
    lab = lab_of(*TWO_CQS, answer, "run", "poll_cq B.cq0")
    assert verdict(lab, "B.qp1.recv_wr[2]", "wrong-cq") is Verdict.OK


def test_wrong_cq_of_a_cq_without_qps() -> None:
    lab = lab_of(RECV, SEND, "run", "create_cq B.mine cqe=4", "poll_cq B.mine")
    assert chain(lab, "B.qp0.recv_wr[2]") == ["wrong-cq"]


def test_wrong_cq_not_for_a_loop_over_both_cqs() -> None:
    rounds = program("B.rx", "loop 3", "poll_cq B.cq0", "sleep 5us", "poll_cq B.rcq", "end")
    lab = lab_of(*TWO_CQS, rounds, "run 2us")
    assert verdict(lab, "B.qp1.recv_wr[2]", "wrong-cq") is Verdict.OK


# --------------------------------------------------------------------------- already-polled
_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED"


def _two_threads(*main: str, janitor: str = "3us") -> Lab:
    return lab_of(program("A.janitor", f"sleep {janitor}", "poll_cq A.cq0 num_entries=16"),
                  program("A.main", _WRITE.format(4), *main), "run 1ms")  # fmt: skip


def test_already_polled_needs_another_waiting_thread() -> None:
    assert chain(_two_threads("sleep 1us"), "A.qp0.wr[4]") == []


def test_a_thread_that_waits_for_work_that_is_still_to_come_is_fine() -> None:
    polls = ("sleep 3us", "poll_cq A.cq0 num_entries=16", "sleep 5us", _WRITE.format(9))
    main = program("A.main", _WRITE.format(4), "sleep 5us", "poll A.cq0")
    lab = lab_of(program("A.janitor", *polls), main, "run 6us")
    assert verdict(lab, "A.qp0.wr[4]", "already-polled") is Verdict.OK


def test_asked_about_the_thread_that_waits_the_answer_is_the_same() -> None:
    lab = _two_threads("sleep 5us", "poll A.cq0")
    assert chain(lab, "A.main") == ["already-polled"]
    assert helps(lab, "A.qp0.wr[4]")


def test_already_polled_not_by_the_posting_thread() -> None:
    assert chain(_two_threads("poll A.cq0", janitor="50us"), "A.qp0.wr[4]") == []


def test_already_polled_not_for_a_second_wait_of_the_posting_thread() -> None:
    assert chain(_two_threads("poll A.cq0", "poll A.cq0", janitor="50us"), "A.qp0.wr[4]") == []


def test_already_polled_not_while_another_receive_waits() -> None:
    lab = lab_of(RECV, program("B.other", "poll B.cq0"),
                 program("B.rx", "post_recv B.qp0 wr_id=5 sg=B.mr0[64:128]", "poll B.cq0"),
                 SEND, "run 1ms")  # fmt: skip
    assert verdict(lab, "B.qp0.recv_wr[2]", "already-polled") is Verdict.OK


# --------------------------------------------------------------------------- wr-id-ambiguous
def test_wr_id_ambiguous_not_after_a_poll() -> None:
    lab = lab_of(_WRITE.format(4), "run", "poll_cq A.cq0", _WRITE.format(4))
    assert verdict(lab, "A.qp0.wr[4]", "wr-id-ambiguous") is Verdict.OK


def test_wr_id_ambiguous_not_for_an_unsignaled_request() -> None:
    unsignaled = _WRITE.format(4).removesuffix(" flags=SIGNALED")
    lab = lab_of(unsignaled, _WRITE.format(4))
    assert verdict(lab, "A.qp0.wr[4]", "wr-id-ambiguous") is Verdict.OK


def test_wr_id_ambiguous_of_two_unpolled_completions() -> None:
    lab = lab_of(_WRITE.format(4), _WRITE.format(4), "run")
    report = why(lab, "A.qp0.wr[4]")
    assert [w.check.slug for w in report.warnings] == ["wr-id-ambiguous"]
    assert report.causes == []


def test_receives_and_shared_receives_are_asked_too() -> None:
    twice = [f"post_srq_recv B.srq0 wr_id=2 sg=B.mr0[{n}:{n + 64}]" for n in (0, 64)]
    lab = lab_of(
        *twice, RECV.replace("B.qp0", "A.qp0").replace("B.mr", "A.mr"), pair="use srq_pair"
    )
    assert verdict(lab, "B.srq0.recv_wr[2]", "wr-id-ambiguous") is Verdict.WARN
    assert verdict(lab, "A.qp0.recv_wr[2]", "wr-id-ambiguous") is Verdict.OK


def test_wr_id_ambiguous_not_for_equal_receives_polled_one_by_one() -> None:
    """As ibv_rc_pingpong posts them: whichever a completion means, the bytes are the same."""
    send = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
    lines = [RECV] * 3 + [send, "run", "poll_cq B.cq0", send, "run", "poll_cq B.cq0"]
    lab = lab_of(*lines)
    assert verdict(lab, "B.qp0.recv_wr[2]", "wr-id-ambiguous") is Verdict.OK
    assert why(lab, "B.cq0").warnings == []
    late = lab_of(RECV, RECV, send, send, "run", "poll_cq B.cq0 num_entries=2")
    assert verdict(late, "B.qp0.recv_wr[2]", "wr-id-ambiguous") is Verdict.WARN


def test_wr_id_ambiguous_not_for_a_send_and_a_receive() -> None:
    lab = lab_of("post_recv A.qp0 wr_id=4 sg=A.mr0[0:64]", _WRITE.format(4))
    assert verdict(lab, "A.qp0.wr[4]", "wr-id-ambiguous") is Verdict.OK


# --------------------------------------------------------------------------- asleep on a channel
_SLEEP = ("get_cq_event B.ch0", "ack_cq_events B.cq0", "poll_cq B.cq0")


def test_silent_peer_of_a_thread_that_armed_the_cq() -> None:
    lab = lab_of(RECV, program("B.rx", "req_notify_cq B.cq0", *_SLEEP), "run", pair=_CHANNEL)
    assert only(lab, "")
    assert chain(lab) == ["silent-peer"]


def test_cq_not_armed_has_a_working_fix() -> None:
    lab = lab_of(RECV, program("B.rx", *_SLEEP), SEND, "run", pair=_CHANNEL)
    assert only(lab, "cq-not-armed")
    assert "never armed" in finding(lab, "B.rx", "cq-not-armed").evidence[0].text
    assert helps(lab, "B.rx")


def test_cq_not_armed_of_a_waiting_thread() -> None:
    lab = lab_of(RECV, program("B.rx", *_SLEEP), "run", pair=_CHANNEL)
    assert chain(lab)[0] == "cq-not-armed"
    assert chain(lab, "B.rx")[0] == "cq-not-armed"


def test_cq_not_armed_not_if_another_thread_arms_later() -> None:
    late = program("B.late", "sleep 5us", "req_notify_cq B.cq0")
    send = program("A.tx", "sleep 20us", SEND)
    lab = lab_of(RECV, RECV, program("B.rx", *_SLEEP), late, SEND, send, "run 3us", pair=_CHANNEL)
    assert only(lab, "")


def test_on_a_device_that_looks_back_an_arm_is_enough() -> None:
    lab = Lab(profile="mlx5")
    for line in (_CHANNEL, RECV, program("B.rx", *_SLEEP), SEND, "run"):
        lab.do(line)
    assert only(lab, "cq-not-armed")
    remedy = why(lab, "B.rx").remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.lines == ["req_notify_cq B.cq0"]


def test_armed_after_cqe_not_with_a_poll_after_arming() -> None:
    once = program("B.rx", "sleep 3us", "req_notify_cq B.cq0", "poll_cq B.cq0", *_SLEEP)
    lab = lab_of(RECV, RECV, once, SEND, SEND, "run", pair=_CHANNEL)
    assert verdict(lab, "B.rx", "armed-after-cqe") is Verdict.OK


@pytest.mark.parametrize("solicited", ["", " solicited_only=1"])
def test_the_fix_of_a_late_arm_is_a_poll_and_not_the_message_again(solicited: str) -> None:
    late = program("B.rx", "sleep 3us", f"req_notify_cq B.cq0{solicited}", *_SLEEP)
    send = SEND.replace("SIGNALED", "SIGNALED|SOLICITED") if solicited else SEND
    lab = lab_of(RECV, RECV, late, send, "run", pair=_CHANNEL)
    assert only(lab, "armed-after-cqe")
    remedy = why(lab, "B.rx").remedy
    assert remedy is not None
    assert not remedy.cure.lines
    assert remedy.cure.program.startswith("after req_notify_cq B.cq0 poll B.cq0 until it is empty")
    assert remedy.cure.program.endswith("this works: req_notify_cq B.cq0")


def test_solicited_only_with_a_solicited_message() -> None:
    arm = program("B.rx", "req_notify_cq B.cq0 solicited_only=1", *_SLEEP)
    lab = lab_of(RECV, arm, "run 1us", SEND.replace("SIGNALED", "SIGNALED|SOLICITED"), "run",
                 pair=_CHANNEL)  # fmt: skip
    assert chain(lab, "B.rx") == []


def test_solicited_only_of_a_send_completion() -> None:
    arm = program("A.tx", "req_notify_cq A.cq0 solicited_only=1", _WRITE.format(4),
                  "get_cq_event A.ch0", "ack_cq_events A.cq0", "poll_cq A.cq0")  # fmt: skip
    lab = lab_of(arm, "run", pair=_CHANNEL)
    assert only(lab, "solicited-only", "A.tx")
    assert helps(lab, "A.tx")


def test_solicited_only_not_for_an_error_on_strict() -> None:
    bad = _WRITE.format(4).replace("sg=A.mr0[0:4]", "sg={addr=0x1 length=8 lkey=0xdead}")
    arm = program("A.tx", "req_notify_cq A.cq0 solicited_only=1", bad, "get_cq_event A.ch0",
                  "ack_cq_events A.cq0", "poll_cq A.cq0")  # fmt: skip
    lab = lab_of(arm, "run", pair=_CHANNEL)
    assert "solicited-only" not in chain(lab, "A.tx")


def test_no_channel_of_a_cq_on_another_channel() -> None:
    lab = lab_of("create_comp_channel B.other", RECV,
                 program("B.rx", "req_notify_cq B.cq0", "get_cq_event B.other", "poll B.cq0"),
                 "run 1us", SEND, "run", pair=_CHANNEL)  # fmt: skip
    assert only(lab, "no-channel")
    assert "channel=B.ch0" in finding(lab, "B.rx", "no-channel").evidence[0].text


def test_no_channel_not_without_a_named_cq() -> None:
    lab = lab_of(RECV, program("B.rx", "get_cq_event B.ch0"), "run", pair=_CHANNEL)
    assert verdict(lab, "B.rx", "no-channel") is Verdict.OK


def test_a_program_that_polls_does_not_sleep() -> None:
    lab = lab_of(RECV, program("B.rx", "poll B.cq0"), "run 5us", pair=_CHANNEL)
    assert all(verdict(lab, "B.rx", slug) is Verdict.NA for slug in _ASLEEP)


# --------------------------------------------------------------------------- cq-overrun
_THREE = [_WRITE.format(n) for n in (1, 2, 3)]


def test_cq_overrun_not_for_a_full_cq() -> None:
    lab = lab_of(*_THREE, "run", pair="use rc_pair cqe=3")
    assert chain(lab, "A.qp0.wr[3]") == []
    assert verdict(lab, "A.qp0.wr[3]", "cq-overrun") is Verdict.OK


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
def test_cq_overrun_of_a_lost_send_completion_has_a_working_fix(profile: str) -> None:
    many = 4 if profile == "strict" else 9  # the others give more room than they were asked for
    lab = Lab(profile=profile)
    for line in ("use rc_pair cqe=3 max_send_wr=16", *map(_WRITE.format, range(many)), "run"):
        lab.do(line)
    lost = [r[A].wr_id for r in lab.session.world.trace.records if kind_of(r) is Kind.CQ_OVERRUN]
    last = max(lost)
    assert chain(lab, f"A.qp0.wr[{last}]")[0] == "cq-overrun"
    assert helps(lab, f"A.qp0.wr[{last}]")


def test_cq_overrun_by_a_flush_after_destroy_cq() -> None:
    receives = [f"post_recv A.qp0 wr_id={n} sg=A.mr0[0:8]" for n in range(4)]
    ends = ("modify_qp A.qp0 state=ERR", "destroy_qp A.qp0", "destroy_cq A.cq0")
    lab = lab_of(*receives, *ends, pair="use rc_pair cqe=3")
    assert chain(lab, "A.cq0")[0] == chain(lab)[0] == "cq-overrun"


def test_work_flushed_by_a_dead_queue_leads_to_the_overrun() -> None:
    lab = lab_of(*_THREE, "post_recv A.qp0 wr_id=9 sg=A.mr0[0:8]", "run", pair="use rc_pair cqe=2")
    assert chain(lab, "A.qp0.recv_wr[9]")[0] == "cq-overrun"
    assert chain(lab)[0] == "cq-overrun"


def test_a_poll_for_a_completion_that_an_overrun_lost_is_not_one_poll_too_many() -> None:
    makes = "create_qp {0}.q pd={0}.pd0 qp_type=RC send_cq={1} recv_cq={1} max_recv_wr=4"
    receives = [f"post_recv B.q wr_id={n} sg=B.mr0[{n}:{n + 1}]" for n in range(3)]
    sends = [f"post_send A.q wr_id={n} opcode=SEND sg=A.mr0[0:1]" for n in range(3)]
    polls = program("B.rx", "sleep 20us", *["poll B.small"] * 3)
    lab = lab_of("create_cq B.small cqe=1", makes.format("A", "A.cq0"),
                 makes.format("B", "B.small"), "connect A.q B.q", *receives, polls, *sends,
                 "run 1ms")  # fmt: skip
    report = why(lab, "B.rx")
    assert report.slug == "cq-overrun"
    assert "already-polled" not in [cause.check.slug for cause in report.chain]


# --------------------------------------------------------------------------- unacked-events
_TAKES = ("req_notify_cq B.cq0", "get_cq_event B.ch0", "poll B.cq0", "destroy_qp B.qp0")


def test_unacked_events_not_after_ack_cq_events() -> None:
    lines = (*_TAKES[:2], "ack_cq_events B.cq0", *_TAKES[2:], "destroy_cq B.cq0")
    lab = lab_of(RECV, program("B.rx", *lines), "run 1us", SEND, "run", pair=_CHANNEL)
    assert why(lab, "B.rx").outcome.good


def test_another_thread_that_acknowledges_later_is_waited_for() -> None:
    lab = lab_of(RECV, program("B.rx", *_TAKES, "destroy_cq B.cq0"),
                 program("B.acks", "sleep 9us", "ack_cq_events B.cq0"), "run 1us", SEND, "run 5us",
                 pair=_CHANNEL)  # fmt: skip
    assert verdict(lab, "B.rx", "unacked-events") is Verdict.OK


def test_unacked_events_of_a_typed_destroy_cq() -> None:
    lab = lab_of(RECV, "req_notify_cq B.cq0", SEND, "run", "get_cq_event B.ch0", "destroy_qp B.qp0",
                 pair=_CHANNEL)  # fmt: skip
    lab.do("destroy_cq B.cq0")
    report = why(lab, "EAGAIN")
    assert report.slug == "unacked-events"
    assert report.remedy is not None
    assert report.remedy.cure.lines == ["ack_cq_events B.cq0 nevents=1"]


def test_unacked_events_of_an_earlier_refusal_not_after_ack() -> None:
    lab = lab_of(RECV, "req_notify_cq B.cq0", SEND, "run", "get_cq_event B.ch0", "destroy_qp B.qp0",
                 pair=_CHANNEL)  # fmt: skip
    lab.do("destroy_cq B.cq0")
    lab.do("ack_cq_events B.cq0")
    assert verdict(lab, "EAGAIN", "unacked-events") is Verdict.OK


def test_an_empty_channel_is_no_event_to_acknowledge() -> None:
    lab = lab_of(pair=_CHANNEL)
    lab.do("get_cq_event B.ch0")
    assert verdict(lab, "EAGAIN", "unacked-events") is Verdict.NA


_UNUSED = ("use rc_pair", "create_cq A.cq1 cqe=8", "post_recv B.qp0 sg=B.mr0[0:64]",
           "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run",
           "poll_cq A.cq1")  # fmt: skip


@pytest.mark.parametrize("question", ["why", "why A.cq1"])
def test_polling_a_queue_on_which_no_queue_pair_completes(question: str) -> None:
    report = answer(played(*_UNUSED), question)
    assert (report.outcome.kind, report.slug, report.name) == (Status.NEVER, "wrong-cq", "A.cq1")
    assert "no queue pair completes on A.cq1; completions wait on A.cq0" in report.text
    assert "fix: change the program: poll A.cq0 instead" in report.text


def test_no_completion_comes_on_a_queue_of_no_queue_pair() -> None:
    report = answer(played("use rc_pair", "create_cq A.cq1 cqe=8", "poll_cq A.cq1"), "why A.cq1")
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "wrong-cq")


def test_an_unused_queue_is_no_trouble_where_no_completion_waits() -> None:
    assert answer(played(*_UNUSED, "poll_cq A.cq0", "poll_cq A.cq1"), "why").slug == "well"
    lab = played("use rc_pair", "destroy_qp A.qp0")
    assert answer(lab, "why A.cq0").outcome.kind is Status.PENDING


def test_an_overrun_has_the_capacity_of_its_moment() -> None:
    write = (
        "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    )
    lab = lab_of(*map(write.format, (1, 2, 3)), "run", "resize_cq A.cq0 cqe=16",
                 pair="use rc_pair cqe=2")  # fmt: skip
    assert "A.cq0 has room for 2, and was full from here" in why(lab, "A.cq0").text


def test_wrong_cq_is_no_cause_where_a_thread_waits_on_the_channel_of_the_queue() -> None:
    lab = played(
        "use rc_pair channel=1", "create_cq A.cq1 cqe=16 channel=A.ch0",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq0 max_send_wr=8",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=8",
        "connect A.qp1 B.qp1",
        "program A.ev lines={req_notify_cq A.cq0; post_send A.qp1 wr_id=2 opcode=RDMA_WRITE "
        "sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED; get_cq_event A.ch0}", "run 1ms",
    )  # fmt: skip
    assert verdict(lab, "A.qp1.wr[2]", "wrong-cq") is not Verdict.FAIL
    assert chain(lab, "A.ev")[0] == "cq-not-armed"
