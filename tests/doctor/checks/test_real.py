"""What real people's cases add: each cause in the case that it is from, and its near misses."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.check import Finding, Verdict
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.diagnosis.diagnose import BY_SLUG
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.spec.profiles import STRICT
from rdmalab.vocabulary import VOCABULARY
from tests.labs import RECV, SEND, lab_of, refusal, well

FOLDER = Path(__file__).parents[3] / "scenarios/real"
FAIL, OK, NA, WARN = Verdict.FAIL, Verdict.OK, Verdict.NA, Verdict.WARN


def why(session: Session, asked: str = "") -> Report:
    return consult(session, parse_expression(asked, "A").node if asked else None)


def examined(lab: Lab, slug: str, asked: str) -> Finding:
    """What one check says of what is asked about, of a thread itself rather than of its work."""
    log = Log(lab.session)
    found = subjects(lab.session, log, parse_expression(asked, "A").node)
    subject = next((s for s in found if lab.session.names.of(s.thing) == asked), found[0])
    return BY_SLUG[slug].examine(Case(lab.session, subject, log, asked=True))


def verdict(lab: Lab, slug: str, asked: str) -> Verdict:
    return examined(lab, slug, asked).verdict


def advice(lab: Lab, slug: str, asked: str) -> str:
    """What only the program can do."""
    cure = examined(lab, slug, asked).cure
    return cure.program if cure is not None else ""


def lines(lab: Lab, slug: str, asked: str) -> list[str]:
    cure = examined(lab, slug, asked).cure
    return cure.lines if cure is not None else []


def program(name: str, *text: str) -> str:
    return f"program {name} lines={{{'; '.join(text)}}}"


# --------------------------------------------------------------------------- the cases themselves
_CASES = [
    ("perftest-137", "stuck", "B.server", "polled-once"),
    ("brpc-3132", "full", "ENOMEM", "recv-before-send"),
    ("brpc-3132", "full", "A.client", "recv-before-send"),
    ("perftest-12", "both-wait", "A.client", "flag-already-set"),
    ("perftest-12", "both-wait", "B.server", "flag-already-set"),
    ("pytorch-81628", "error-12", "A.qp0.wr[1]", "no-route"),
    ("gloo-147", "flushed", "A.qp1.recv_wr[10]", "no-route"),
    ("tf-9432", "too-long", "A.qp0.wr[2]", "link-mtu"),
    ("mori-424", "refused", "EINVAL", "inline-too-long"),
    ("fastdeploy-8091", "partly", "ENOMEM", "sq-too-small"),
    ("fastdeploy-8091", "twice", "B.cq0", "posted-twice"),
    ("tensorpipe-414", "no-room", "ENOMEM", "sq-too-small"),
    ("ompi-376", "returned", "ENOMEM", "rq-full"),
    ("perftest-139", "refused", "EINVAL", "beyond-device"),
    ("rdma-tutorial-6", "too-much", "ENOMEM", "beyond-device"),
    ("async-rdma-107", "refused", "ENOMEM", "memlock"),
    ("assise-26", "refused", "EFAULT", "unmapped"),
    ("nbs-6290", "garbage", "B.mr0[0:8]", "lent-buffer-reused"),
    ("spdk-298", "burst", "A.qp0.recv_wr[1]", "own-err"),
]


def played(case: str, step: str) -> Session:
    """The session behind the step of a case that shows the symptom."""
    runner = Runner(load(str(FOLDER / f"{case}{SUFFIX}"), VOCABULARY), open_session)
    done = False
    while not done:
        done = runner.coming is None or runner.coming.step.id == step
        runner.next_step()
    return runner.session


@pytest.mark.parametrize(("case", "step", "asked", "slug"), _CASES)
def test_cause_of_each_real_case(case: str, step: str, asked: str, slug: str) -> None:
    assert why(played(case, step), asked).causes[0].check.slug == slug


def test_status_ignored_is_a_warning() -> None:
    report = why(played("disni-59", "no-effect"), "A.writer")
    assert "status-ignored" in [c.check.slug for c in report.warnings]
    assert "status-ignored" not in [c.check.slug for c in report.chain]


def test_uccl_267_three_causes_of_enomem() -> None:
    runner = Runner(load(str(FOLDER / f"uccl-267{SUFFIX}"), VOCABULARY), open_session)
    found = []
    while runner.coming is not None:
        refused = runner.coming.errno != 0
        runner.next_step()
        found += [why(runner.session, "ENOMEM").slug] if refused else []
    assert found[:2] == ["inline-too-long", "too-many-sges"]
    assert found[2] not in ("sq-too-small", "recv-before-send")


# --------------------------------------------------------------------------- 93 polled-once
_SLEEPER = ("req_notify_cq B.cq0", "get_cq_event B.ch0")


def sleeping(*text: str) -> Lab:
    """Two messages have come, while B's thread did this and then armed and slept."""
    lines_ = (RECV, RECV, program("B.rx", *text), SEND, SEND, "run")
    return lab_of(*lines_, pair="use rc_pair channel=1")


def test_polled_once_not_before_the_completion() -> None:
    lab = sleeping("poll_cq B.cq0", "sleep 5us", *_SLEEPER)
    assert verdict(lab, "polled-once", "B.rx") is OK


def test_polled_once_not_after_polling_until_empty() -> None:
    lab = sleeping("sleep 5us", "req_notify_cq B.cq0", "poll_cq B.cq0 num_entries=4", _SLEEPER[1])
    assert verdict(lab, "polled-once", "B.rx") is OK


def test_polled_once_not_without_arming() -> None:
    lab = sleeping("sleep 5us", "poll_cq B.cq0", "get_cq_event B.ch0")
    assert verdict(lab, "polled-once", "B.rx") is OK


def test_polled_once_of_a_poll_before_arming() -> None:
    lab = sleeping("sleep 5us", "poll_cq B.cq0", *_SLEEPER)
    found = examined(lab, "polled-once", "B.rx")
    assert found.verdict is FAIL
    assert found.evidence[1].text.startswith("the last poll, of B.rx, returned 1 completion")
    remedy = why(lab.session, "B.rx").remedy
    assert remedy is not None
    assert remedy.cure.program == "poll B.cq0 until it is empty, only then wait for an event"


def test_polled_once_not_without_a_channel() -> None:
    lab = lab_of(RECV, RECV, program("B.rx", "poll B.cq0 until B.cq0.total == 9"), SEND, "run 9us")
    assert verdict(lab, "polled-once", "B.rx") is NA


# --------------------------------------------------------------------------- 94, 102: full queues
_FULL = "use rc_pair max_send_wr=2"
_READ = "post_send A.qp0 wr_id=5 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
_ANSWER = "post_send B.qp0 opcode=SEND sg=B.mr0[0:8]"


def full(*before: str, post: str = _READ) -> Lab:
    """A's queue of two has no slot after these."""
    lab = lab_of(*before, pair=_FULL)
    assert refusal(lab, post).rule == "queue-full"
    return lab


def test_requests_under_way_fill_a_queue_that_is_too_small() -> None:
    lab = full(_READ, _READ)
    assert verdict(lab, "sq-too-small", "ENOMEM") is FAIL
    assert verdict(lab, "recv-before-send", "ENOMEM") is OK
    assert lines(lab, "sq-too-small", "ENOMEM")[:2] == ["run", "poll_cq A.cq0 num_entries=2"]


def test_sq_too_small_at_the_event_of_the_call() -> None:
    lab = full(_READ, _READ)
    well(lab, "run")
    assert verdict(lab, "sq-too-small", "ENOMEM") is FAIL
    assert lines(lab, "sq-too-small", "ENOMEM")[0] == "poll_cq A.cq0 num_entries=2"


def test_recv_before_send_not_for_a_poll_before_the_last_post() -> None:
    receive = "post_recv A.qp0 sg=A.mr0[64:128]"
    lab = full(receive, _ANSWER, "run", "poll_cq A.cq0", _READ, _READ)
    assert verdict(lab, "recv-before-send", "ENOMEM") is OK
    assert verdict(lab, "sq-too-small", "ENOMEM") is FAIL


def test_recv_before_send_of_a_receive_polled_as_completion() -> None:
    receive = "post_recv A.qp0 wr_id=8 sg=A.mr0[64:128]"
    late = "fault delay B->A 50us opcode=RDMA_READ_RESPONSE_ONLY"
    lab = full(receive, late, _READ, _READ, _ANSWER, "run 5us", "poll_cq A.cq0")
    assert verdict(lab, "recv-before-send", "ENOMEM") is FAIL
    assert verdict(lab, "sq-too-small", "ENOMEM") is OK


@pytest.mark.parametrize("slug", ["sq-too-small", "recv-before-send"])
def test_completions_that_wait_to_be_polled_are_another_cause(slug: str) -> None:
    assert verdict(full(_READ, _READ, "run"), slug, "ENOMEM") is OK


def test_unsignaled_requests_are_another_cause() -> None:
    silent = _READ.replace(" flags=SIGNALED", "")
    assert verdict(full(silent, silent), "sq-too-small", "ENOMEM") is OK


def test_sq_too_small_not_while_requests_are_retried() -> None:
    assert verdict(full(SEND, SEND, "run 2ms"), "sq-too-small", "ENOMEM") is OK
    assert verdict(full("fault drop A->B", _READ, _READ, "run 1s"), "sq-too-small", "ENOMEM") is OK


def test_sq_too_small_without_an_argument() -> None:
    causes = why(full(_READ, _READ).session).causes
    assert [cause.check.slug for cause in causes] == ["sq-too-small"]


# --------------------------------------------------------------------------- 95 flag-already-set
_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:9] remote=B.mr0[0] flags=SIGNALED"
_PASS_ON = "post_send B.qp0 wr_id=2 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0[64]"


def passed_on(*worker: str, after: str = "run") -> Lab:
    return lab_of("fill A.mr0[0:9] 1", program("B.w", *worker, _PASS_ON), _WRITE, "run", after)


def test_a_flag_that_came_in_time_was_waited_for() -> None:
    for worker in (("wait B.mr0[8] == 1",), ("sleep 9us", "wait B.mr0[8] == 1")):
        assert verdict(passed_on(*worker), "flag-already-set", "A.mr0[64:72]") is OK


def test_flag_already_set_of_an_unwritten_byte() -> None:
    found = examined(passed_on("wait B.mr0[8] == 0"), "flag-already-set", "A.mr0[64:72]")
    assert found.verdict is FAIL
    assert found.evidence[0].text == "no message had ever written B.mr0[8]"


def test_a_second_wait_needs_a_second_message() -> None:
    twice = ("wait B.mr0[8] == 1", "wait B.mr0[8] == 1")
    lab = passed_on(*twice)
    assert verdict(lab, "flag-already-set", "A.mr0[64:72]") is FAIL
    assert "clear it" in advice(lab, "flag-already-set", "A.mr0[64:72]")


def test_a_flag_that_another_thread_has_set_counts() -> None:
    lab = lab_of(
        program("B.w", "sleep 1us", "wait B.mr0[8] == 3", _PASS_ON),
        program("B.other", "fill B.mr0[8:9] 3"), "run",
    )  # fmt: skip
    assert verdict(lab, "flag-already-set", "A.mr0[64:72]") is OK


def test_a_program_that_waits_for_a_completion_waits_for_no_flag() -> None:
    lab = lab_of(program("B.w", "wait B.cq0.count == 1"), "run")
    assert verdict(lab, "flag-already-set", "B.w") is NA


def test_flag_already_set_not_for_a_waiting_thread() -> None:
    lab = lab_of(program("B.w", "wait B.mr0[8] == 1"), "run")
    assert verdict(lab, "flag-already-set", "B.w") is OK


# --------------------------------------------------------------------------- 96 status-ignored
_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"


def test_status_ignored_after_an_error_completion() -> None:
    lab = lab_of(program("A.p", _BAD, "poll A.cq0", SEND), "run")
    assert verdict(lab, "status-ignored", "A.p") is WARN
    assert advice(lab, "status-ignored", "A.p").startswith("look at wc.status")


def test_a_thread_that_polled_a_failure_is_asked_about_that_first() -> None:
    report = why(lab_of(program("A.p", _BAD, "poll A.cq0", SEND), "run").session, "A.p")
    assert (report.slug, report.is_trouble) == ("rem-access", True)
    assert "status-ignored" in [cause.check.slug for cause in report.warnings]


def test_status_ignored_counts_the_flushes_after_the_first_failure() -> None:
    polls = ("poll A.cq0", "poll A.cq0")
    lab = lab_of(program("A.p", _BAD, SEND, *polls, SEND), "run")
    found = examined(lab, "status-ignored", "A.p")
    assert "1 more completion had WR_FLUSH_ERR" in [each.text for each in found.evidence]


def test_status_ignored_not_of_a_drain_that_the_thread_itself_began() -> None:
    recvs = [f"post_recv B.qp0 wr_id={n} sg=B.mr0[0:8]" for n in (1, 2)]
    drain = ("modify_qp B.qp0 state=ERR", "poll B.cq0", "poll B.cq0", "destroy_qp B.qp0")
    lab = lab_of(*recvs, program("B.end", *drain), "run")
    assert verdict(lab, "status-ignored", "B.end") is OK
    assert not why(lab.session, "B.end").is_trouble


@pytest.mark.parametrize(
    "lines",
    [
        (_BAD, "poll A.cq0", "if A.cq0.last.status != SUCCESS", "stop", "end", SEND),
        (_BAD, "poll A.cq0", "wait A.cq0.count == 5"),
        (_READ, "poll A.cq0", _READ, "poll A.cq0"),
    ],
)
def test_status_ignored_not_with_a_status_check_or_success(lines: tuple[str, ...]) -> None:
    assert verdict(lab_of(program("A.p", *lines), "run"), "status-ignored", "A.p") is OK


# --------------------------------------------------------------------------- 97, 98: the way
_BIG = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4096] remote=B.mr0[0] flags=SIGNALED"
_WIDE = "use rc_pair path_mtu=4096 timeout=8 retry_cnt=1"


@pytest.mark.parametrize("fault", ["longer=1514 nth=1", "longer=1514 p=50%", "A->B nth=1"])
def test_a_loss_by_chance_is_no_narrow_link(fault: str) -> None:
    lab = lab_of(f"fault drop {fault}", _BIG, "run 2us", pair=_WIDE)
    assert verdict(lab, "link-mtu", "A.qp0.wr[1]") is OK


def test_link_mtu_warns_unasked_while_retrying() -> None:
    lab = lab_of("fault drop longer=1514", _BIG, "run 1500us", pair=_WIDE)
    log = Log(lab.session)
    (subject, *_) = subjects(lab.session, log, None)
    case = Case(lab.session, subject, log, asked=False)
    assert BY_SLUG["link-mtu"].examine(case).verdict is WARN
    assert verdict(lab, "link-mtu", "A.qp0.wr[1]") is FAIL


def test_the_cure_is_the_largest_mtu_that_fits() -> None:
    for longer, mtu in ((1514, 1024), (3000, 2048), (400, 256)):
        lab = lab_of(f"fault drop longer={longer}", _BIG, "run", pair=_WIDE)
        assert f" path_mtu={mtu} " in "\n".join(lines(lab, "link-mtu", "A.qp0.wr[1]"))


def test_link_mtu_of_a_uc_message() -> None:
    lab = lab_of("fault drop longer=1514", _BIG, "run", pair="use uc_pair path_mtu=4096")
    assert verdict(lab, "link-mtu", "A.qp0.wr[1]") is FAIL


def test_a_datagram_cannot_be_cut() -> None:
    send = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:3000] ah=A.ah0 remote_qpn=B.qp0 " \
           "remote_qkey=0x11111111 flags=SIGNALED"  # fmt: skip
    lab = lab_of("fault drop longer=1514", send, "run", pair="use ud_pair")
    assert advice(lab, "link-mtu", "A.qp0.wr[1]").startswith("send no more than")


def test_a_loss_by_count_is_no_missing_route() -> None:
    lab = lab_of("fault drop gid=10.0.0.2 nth=1", _READ, "run 2us")
    assert verdict(lab, "no-route", "A.qp0.wr[5]") is OK


def test_no_route_not_for_an_unused_gid() -> None:
    lab = lab_of("fault drop gid=fe80::200:a00:2", "fault drop A->B", _READ, "run 2us")
    assert verdict(lab, "no-route", "A.qp0.wr[5]") is OK


def test_no_route_without_another_gid_has_advice() -> None:
    lab = lab_of("fault drop gid=10.0.0.2", _READ, "run", pair="use rc_pair timeout=8")
    assert verdict(lab, "no-route", "A.qp0.wr[5]") is FAIL
    assert "GID" in advice(lab, "no-route", "A.qp0.wr[5]")


# --------------------------------------------------------------------------- 99, 100: refused posts
def refused(line: str, *before: str, pair: str = "use rc_pair") -> Lab:
    lab = lab_of(*before, pair=pair)
    refusal(lab, line)
    return lab


def test_memory_without_a_key_must_go_inline() -> None:
    send = "post_send A.qp0 wr_id=3 opcode=SEND sg={addr=0x10000000 length=80 lkey=0} flags=INLINE"
    lab = refused(send)
    assert "max_inline_data=80" in advice(lab, "inline-too-long", "EINVAL")


def test_fix_of_inline_too_long_posts_the_rest_of_the_list() -> None:
    both = "post_send A.qp0 wr={wr_id=1 opcode=SEND sg=A.mr0[0:80] flags=INLINE|SIGNALED} " \
           "wr={wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=INLINE}"  # fmt: skip
    *rooms, again = lines(refused(both), "inline-too-long", "EINVAL")
    assert len(rooms) == 2
    assert "flags=SIGNALED}" in again
    assert "wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=INLINE" in again


def test_inline_with_an_opcode_that_has_none_is_another_cause() -> None:
    lab = refused(_READ.replace("SIGNALED", "INLINE"))
    assert verdict(lab, "inline-too-long", "EINVAL") is OK


_APART = ",".join(f"A.mr0[{at}:{at + 8}]" for at in range(0, 80, 16))


def test_pieces_that_do_not_touch_cannot_be_joined() -> None:
    lab = refused(f"post_recv A.qp0 wr_id=1 sg={_APART}")
    assert "max_recv_sge" in advice(lab, "too-many-sges", "EINVAL")
    lab = refused(f"post_send A.qp0 wr_id=1 opcode=SEND sg={_APART}")
    assert "max_send_sge" in advice(lab, "too-many-sges", "EINVAL")


def test_too_many_sges_of_an_srq() -> None:
    post = "post_srq_recv A.srq0 wr_id=1 sg=A.mr0[0:8],A.mr0[8:16],A.mr0[16:24]"
    lab = refused(post, "create_srq A.srq0 pd=A.pd0 max_wr=4 max_sge=1")
    assert lines(lab, "too-many-sges", "EINVAL") == ["post_srq_recv A.srq0 wr_id=1 sg=A.mr0[0:24]"]


def test_too_long_is_not_too_many() -> None:
    lab = refused("modify_qp A.qp0 state=RTR")
    assert verdict(lab, "too-many-sges", "EINVAL") is NA
    assert verdict(full(_READ, _READ), "too-many-sges", "ENOMEM") is OK


# --------------------------------------------------------------------------- 101 posted-twice
def listed(*ids: int) -> str:
    wrs = " ".join(f"wr={{wr_id={n} opcode=SEND sg=A.mr0[0:{n}] flags=SIGNALED}}" for n in ids)
    return f"post_send A.qp0 {wrs}"


def retried(again: str) -> Lab:
    lab = lab_of(*[RECV] * 6, pair=_FULL)
    refusal(lab, listed(1, 2, 3))
    well(lab, "run")
    well(lab, "poll_cq A.cq0 num_entries=2")
    lab.do(again)
    well(lab, "run")
    return lab


def test_posted_twice_not_from_bad_wr_on() -> None:
    assert verdict(retried(listed(3)), "posted-twice", "B.cq0") is OK


def test_posted_twice_not_for_another_wr_id() -> None:
    assert verdict(retried(listed(7)), "posted-twice", "B.cq0") is OK


def test_the_same_list_again_is() -> None:
    lab = retried(listed(1, 2, 3))
    for queue in ("B.cq0", "A.cq0"):
        assert verdict(lab, "posted-twice", queue) is FAIL
    assert verdict(lab, "posted-twice", "A.qp0.wr[1]") is WARN
    assert verdict(lab, "posted-twice", "A.qp0.wr[3]") is not FAIL
    assert why(lab.session).slug != "posted-twice"


def test_posted_twice_not_for_one_refused_call() -> None:
    lab = lab_of(RECV, RECV, pair=_FULL)
    refusal(lab, listed(1, 2, 3))
    assert verdict(lab, "posted-twice", "B.cq0") is OK


# --------------------------------------------------------------------------- 103 rq-full
_SMALL = "use rc_pair max_recv_wr=2"


def test_a_message_gives_a_slot_back() -> None:
    lab = refused(RECV, RECV, RECV, pair=_SMALL)
    assert verdict(lab, "rq-full", "ENOMEM") is FAIL
    assert lines(lab, "rq-full", "ENOMEM") == [
        "post_send A.qp0 opcode=SEND flags=SIGNALED", "run", "poll_cq B.cq0", RECV,
    ]  # fmt: skip
    remedy = why(lab.session, "ENOMEM").remedy
    assert remedy is not None
    assert (remedy.works, remedy.ends) == (False, "A.qp0 sends a message that no program posts")


def test_receives_that_messages_took_wait_for_a_poll() -> None:
    lab = refused(RECV, RECV, RECV, SEND, "run", pair=_SMALL)
    assert verdict(lab, "rq-full", "ENOMEM") is OK


def test_rq_full_at_the_event_of_the_call() -> None:
    lab = refused(RECV, RECV, RECV, pair=_SMALL)
    for line in (SEND, "run"):
        well(lab, line)
    assert verdict(lab, "rq-full", "ENOMEM") is FAIL


def test_a_shared_queue_can_be_full_too() -> None:
    post = "post_srq_recv A.srq0 sg=A.mr0[0:8]"
    lab = refused(post, "create_srq A.srq0 pd=A.pd0 max_wr=1", post)
    assert verdict(lab, "rq-full", "ENOMEM") is FAIL
    assert "longer queue" in advice(lab, "rq-full", "ENOMEM")


def test_a_full_send_queue_is_no_full_receive_queue() -> None:
    assert verdict(full(_READ, _READ), "rq-full", "ENOMEM") is NA


# --------------------------------------------------------------------------- 104, 105, 106: making
def on(**caps: int) -> Lab:
    lab = Lab({"A": replace(STRICT, caps=replace(STRICT.caps, **caps)), "B": STRICT})
    well(lab, "use rc_pair")
    return lab


@pytest.mark.parametrize(
    ("caps", "line", "cure"),
    [
        ({"max_cqe": 64}, "create_cq A.cq1 cqe=65", "create_cq A.cq1 cqe=64"),
        ({"max_srq_wr": 8}, "create_srq A.srq0 pd=A.pd0 max_wr=9",
         "create_srq A.srq0 pd=A.pd0 max_wr=8"),
        ({"max_mr_size": 4096}, "reg_mr A.mr1 pd=A.pd0 length=4097 access=LOCAL_WRITE",
         "reg_mr A.mr1 pd=A.pd0 length=4096 access=LOCAL_WRITE"),
    ],
)  # fmt: skip
def test_each_number_of_the_device_is_kept(caps: dict[str, int], line: str, cure: str) -> None:
    lab = on(**caps)
    errno = refusal(lab, line).errno
    assert lines(lab, "beyond-device", "EINVAL") == [cure], errno


def test_too_little_is_not_too_much() -> None:
    lab = refused("create_cq A.cq1 cqe=0")
    assert verdict(lab, "beyond-device", "EINVAL") is OK


def test_beyond_device_of_max_cq_has_advice() -> None:
    lab = on(max_cq=1)
    refusal(lab, "create_cq A.cq1 cqe=4")
    assert verdict(lab, "beyond-device", "ENOMEM") is FAIL
    assert "destroy_cq what is no longer needed" in advice(lab, "beyond-device", "ENOMEM")


def test_a_wrong_part_is_not_too_much() -> None:
    lab = refused("create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0")
    assert verdict(lab, "beyond-device", "EINVAL") is OK


_REG = "reg_mr A.mr1 pd=A.pd0 length=8193 access=LOCAL_WRITE"


def test_memlock_fix_counts_pages() -> None:
    lab = on(memlock_limit=3 * 4096 + 100)
    refusal(lab, _REG)
    assert lines(lab, "memlock", "ENOMEM") == [_REG.replace("8193", "8192")]


def test_memlock_without_room_advises_ulimit() -> None:
    lab = on(memlock_limit=4096)
    refusal(lab, _REG)
    assert "ulimit -l" in advice(lab, "memlock", "ENOMEM")


def test_a_region_that_is_too_long_for_the_device_is_no_matter_of_the_limit() -> None:
    lab = on(max_mr_size=4096)
    refusal(lab, _REG)
    assert verdict(lab, "memlock", "EINVAL") is OK
    assert verdict(lab, "unmapped", "EINVAL") is OK


def test_unmapped_of_an_address_without_a_buffer() -> None:
    lab = refused("reg_mr A.mr1 pd=A.pd0 addr=0x10000 length=8 access=0")
    assert verdict(lab, "unmapped", "EFAULT") is FAIL
    assert advice(lab, "unmapped", "EFAULT") == "register memory that the process has"


# --------------------------------------------------------------------------- 107 lent-buffer-reused
_FETCH = "post_send B.qp0 wr_id=9 opcode=RDMA_READ sg=B.mr0[0:1024] remote=A.mr0[0] flags=SIGNALED"
_SLOWLY = "use rc_pair path_mtu=256"


def lent(*text: str) -> Lab:
    before = ("link rate=1Gbps", "fill A.mr0[0:1024] 0x41")
    return lab_of(*before, *text, "run", pair=_SLOWLY)


def test_bytes_that_had_left_were_not_changed_any_more() -> None:
    lab = lent(_FETCH, "run 6us", "fill A.mr0[0:1024] 0x5a")
    assert verdict(lab, "lent-buffer-reused", "B.mr0[0:4]") is OK
    assert verdict(lab, "lent-buffer-reused", "B.mr0[1020:1024]") is FAIL


def test_lent_buffer_reused_not_for_a_write_before_the_send() -> None:
    tell = "post_send A.qp0 opcode=SEND"
    lab = lent("post_recv B.qp0", "fill A.mr0[0:1024] 0x5a", tell, "run", _FETCH)
    assert verdict(lab, "lent-buffer-reused", "B.mr0[0:4]") is OK


def test_lent_buffer_reused_fix_writes_the_old_bytes() -> None:
    tell = "post_send A.qp0 opcode=SEND"
    lab = lent("post_recv B.qp0", tell, "run", "fill A.mr0[0:1024] 0x5a", _FETCH)
    assert lines(lab, "lent-buffer-reused", "B.mr0[0:4]")[0] == "fill A.mr0[0:1024] 65"


def test_lent_buffer_reused_says_how_the_bytes_were_offered() -> None:
    with_message = lent("post_recv B.qp0", "post_send A.qp0 opcode=SEND", "run",
                        "fill A.mr0[0:1024] 0x5a", _FETCH)  # fmt: skip
    alone = lent(_FETCH, "run 6us", "fill A.mr0[0:1024] 0x5a")
    for lab, offered in ((with_message, "with a message"), (alone, "when wr9 was posted")):
        (cause, *_) = why(lab.session, "B.mr0[1020:1024]").causes
        assert cause.finding.evidence[0].text.endswith(offered)


def test_lent_buffer_reused_not_for_other_bytes() -> None:
    lab = lent(_FETCH, "run 1us", "fill A.mr0[1024:2048] 0x5a")
    assert verdict(lab, "lent-buffer-reused", "B.mr0[1020:1024]") is OK


def test_plain_lent_buffer_reused_of_old_and_new_bytes() -> None:
    report = why(lent(_FETCH, "run 6us", "fill A.mr0[0:1024] 0x5a").session)
    assert (report.slug, report.is_trouble) == ("lent-buffer-reused", True)


def test_a_read_of_a_value_that_its_owner_keeps_changing_is_no_trouble() -> None:
    lab = lent(_FETCH.replace("0:1024", "0:8"), "run 1us", "fill A.mr0[0:8] 0x5a")
    assert not why(lab.session).is_trouble
    assert verdict(lab, "lent-buffer-reused", "B.mr0[0:8]") is FAIL


def test_lent_buffer_reused_not_for_a_write() -> None:
    lab = lab_of(_BIG, "run")
    assert verdict(lab, "lent-buffer-reused", "B.mr0[0:4]") is OK


# --------------------------------------------------------------------------- 108 own-err
_TO_ERR = "modify_qp A.qp0 state=ERR"


def test_work_that_failed_before_is_the_cause() -> None:
    lab = lab_of(_BAD, SEND, "run", _TO_ERR)
    assert verdict(lab, "own-err", "A.qp0.wr[1]") is OK


def test_own_err_not_after_a_refusal_of_the_peer() -> None:
    lab = lab_of(RECV, _BAD, "run", "modify_qp B.qp0 state=ERR")
    assert verdict(lab, "own-err", "B.qp0.recv_wr[2]") is OK


def test_an_old_life_does_not_count() -> None:
    lab = lab_of(_BAD, "run", "modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET",
                 "connect A.qp0 B.qp0", SEND, _TO_ERR, "run")  # fmt: skip
    assert verdict(lab, "own-err", "A.qp0.wr[1]") is FAIL


def test_a_receive_is_posted_again() -> None:
    lab = lab_of("post_recv A.qp0 wr_id=4 sg=A.mr0[0:8]", _TO_ERR)
    assert lines(lab, "own-err", "A.qp0.recv_wr[4]")[-1] == "post_recv A.qp0 wr_id=4 sg=A.mr0[0:8]"


def test_own_err_of_a_post_in_err() -> None:
    assert verdict(lab_of(_TO_ERR, SEND), "own-err", "A.qp0.wr[1]") is FAIL
