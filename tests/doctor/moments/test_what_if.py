"""What would be if: seen on a branch, of which nothing is left."""

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import newest_send
from rdmalab.doctor.moments.what_if import attempt, makes_true
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.digest import digest
from tests.doctor.asking import played, why
from tests.labs import RECV, SEND, lab_of


def subject_of(lab: Lab) -> Subject:
    thing = lab.session.names.find("A.qp0")
    assert thing is not None
    return newest_send(lab.session, Log(lab.session), thing, 1)


def test_trial_of_a_fix_leaves_the_session_unchanged() -> None:
    lab = lab_of(SEND, "run 2ms")
    before = digest(lab.session.world.trace)
    assert attempt(lab.session, [RECV], subject_of(lab)).works
    assert digest(lab.session.world.trace) == before
    assert lab.look("B.qp0.rq.used") == 0
    assert lab.session.history.live


def test_failed_trial_has_the_line_or_the_outcome() -> None:
    lab = lab_of(SEND, "run 2ms")
    refused = attempt(lab.session, ["dealloc_pd A.pd0"], subject_of(lab))
    assert not refused.works
    assert refused.failure.startswith("dealloc_pd A.pd0: ")
    nothing = attempt(lab.session, ['write A.mr0[0:1] "x"'], subject_of(lab))
    assert nothing.failure == "it has no completion"


def test_a_trial_is_stopped_by_no_breakpoint_and_keeps_those_of_the_session() -> None:
    lab = lab_of("break A.cq0.count == 1", SEND, "run 2ms")
    assert attempt(lab.session, [RECV], subject_of(lab)).works
    assert bool(lab.session.breakpoints)


def test_trial_in_the_past() -> None:
    lab = lab_of(SEND, "run 2ms", RECV, "run", "goto 1ms")
    here = lab.session.history.here
    assert attempt(lab.session, [RECV], subject_of(lab)).works
    assert lab.session.history.here == here
    assert not lab.session.history.live


def test_makes_true_evaluates_goals_after_a_fix() -> None:
    lab = lab_of(SEND, "run 2ms")
    goal = [parse_expression(text, "A").node for text in ("A.cq0.count == 1", "A.cq0.count == 2")]
    assert makes_true(lab.session, [RECV], goal) == [True, False]
    assert makes_true(lab.session, ["dealloc_pd A.pd0"], goal) == [False, False]
    assert lab.look("A.cq0.total()") == 0


def test_makes_true_leaves_totals_unchanged() -> None:
    lab = lab_of(SEND, "run 2ms")
    count = lab.look("wire.count()")
    goal = [parse_expression("wire.count() > 0", "A").node]
    makes_true(lab.session, [RECV], goal)
    assert lab.look("wire.count()") == count


def test_for_bytes_a_message_must_come_and_none_may_fail() -> None:
    lab = lab_of()
    thing = lab.session.names.find("B.mr0")
    assert thing is not None
    subject = Subject(Sort.BYTES, thing, start=0, stop=8)
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]"
    beside = write.replace("B.mr0[0]", "B.mr0[512]")
    assert attempt(lab.session, [beside], subject).failure == "no message has come"
    assert (
        attempt(lab.session, [write], subject).ends == "A.qp0 sends a message that no program posts"
    )
    failed = attempt(lab.session, [write, f"{write} rkey=1"], subject)
    assert (failed.works, failed.failure) == (False, "a work request failed")
    assert attempt(lab.session, ["run"], subject).failure == "no message has come"


def test_trial_with_an_unsignaled_send_works() -> None:
    lab = lab_of(SEND, "run 2ms")
    lines = [RECV, "run", SEND.replace(" flags=SIGNALED", ""), RECV]
    assert attempt(lab.session, lines, subject_of(lab)).works


def test_a_receive_on_bytes_of_a_waiting_receive_is_no_cure() -> None:
    pair = [
        f"create_qp {n}.qp1 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0" for n in "AB"
    ]
    lab = lab_of(*pair, "connect A.qp1 B.qp1", "post_recv B.qp1 wr_id=5 sg=B.mr0[0:4096]",
                 SEND)  # fmt: skip
    sent = subject_of(lab)
    over = attempt(lab.session, ["post_recv B.qp0 wr_id=6 sg=B.mr0[0:64]"], sent)
    assert (over.works, over.ends) == (False, "B.qp0.recv_wr[6] has bytes of B.qp1.recv_wr[5]")
    own = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE"
    assert attempt(lab.session, [own, "post_recv B.qp0 wr_id=6 sg=B.mr1[0:64]"], sent).works


_SENDS = (
    "program A.tx lines={sleep 2us; loop 5; post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"
    " flags=SIGNALED; poll A.cq0; end}",
    "run",
)
_ASLEEP = (
    "use rc_pair channel=1 rnr_retry=2", "req_notify_cq B.cq0",
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]",
    "program B.rx lines={loop; get_cq_event B.ch0; ack_cq_events B.cq0; poll_cq B.cq0;"
    " post_recv B.qp0 wr_id=3 sg=B.mr0[128:192]; end}", *_SENDS,
)  # fmt: skip
_ARMS = tuple(
    line.replace("poll_cq B.cq0;", "req_notify_cq B.cq0; poll_cq B.cq0;")
    .replace("loop 5", "loop 1").replace("rnr_retry=2", "retry_cnt=0 timeout=8")
    for line in (_ASLEEP[0], "fault drop A->B", *_ASLEEP[1:])
)  # fmt: skip
_OTHER_QUEUE = (
    "use rc_pair", "create_cq B.cq1 cqe=8",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq1",
    "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0", "connect A.qp1 B.qp1",
    "program B.rx lines={post_recv B.qp1 wr_id=9 sg=B.mr0[0:64]; loop; poll_cq B.cq0; sleep 1us;"
    " end}",
    "program A.tx lines={sleep 2us; post_send A.qp1 wr_id=1 opcode=SEND sg=A.mr0[0:8]"
    " flags=SIGNALED; poll A.cq0}",
    "run 1ms",
)  # fmt: skip


@pytest.mark.parametrize(("lines", "thread"), [(_ASLEEP, "A.tx"), (_OTHER_QUEUE, "B.rx")])
def test_a_fix_after_which_an_endless_loop_waits_in_vain_does_not_work(
    lines: tuple[str, ...], thread: str
) -> None:
    for asked in ("", thread):
        lab = played(*lines)
        remedy = why(lab, asked).remedy
        assert remedy is not None
        assert not remedy.works
        if lines == _ASLEEP and not asked:
            assert remedy.cure.program.startswith("put req_notify_cq B.cq0 into its loop")
            continue
        assert remedy.ends.startswith("B.rx then waits in vain in line ")
        lab.do(f"apply {asked}")
        lab.do("run 2ms")
        assert why(lab).is_trouble


def test_a_fix_after_which_an_endless_loop_waits_for_the_next_request_works() -> None:
    lab = played(*_ARMS)
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works, remedy
    lab.do("apply")
    lab.do("run 5ms")
    assert not why(lab).is_trouble


_LOST_DATAGRAM = (
    "use ud_pair",
    "post_recv B.qp0 wr_id=9 sg=B.mr0[0:8],B.mr0[8:16],B.mr0[16:24],B.mr0[24:32],B.mr0[32:140]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0"
    " remote_qkey=0x11111111 flags=SIGNALED", "run",
)  # fmt: skip


def test_a_refused_receive_is_repaired_with_the_message_that_was_lost_without_it() -> None:
    lab = played(*_LOST_DATAGRAM)
    remedy = why(lab).remedy
    assert remedy is not None
    assert [line.split()[0] for line in remedy.cure.lines] == ["post_recv", "post_send"]
    assert remedy.works
    call = Subject(Sort.CALL, Thing(Noun.QP, "B", 17), event=why(lab).outcome.event or -1)
    alone = attempt(lab.session, remedy.cure.lines[:1], call)
    assert (alone.works, alone.ends) == (False, "A.qp0.wr[1] is lost already")
    lab.do("apply")
    lab.do("run")
    assert not why(lab).is_trouble


def test_no_fix_works_where_the_thread_whose_call_was_refused_stays_failed() -> None:
    lab = played(
        "use rc_pair rnr_retry=2",
        "program B.rx lines={reg_mr B.mr1 pd=B.pd0 length=4096 access=REMOTE_WRITE;"
        " post_recv B.qp0 wr_id=9 sg=B.mr1[0:64]; poll B.cq0}",
        "program A.tx lines={sleep 2us; post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"
        " flags=SIGNALED; poll A.cq0}", "run 5ms",
    )  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert (remedy.works, remedy.failure) == (
        False, "B.rx has failed in line 1; a fix does not start it again"
    )  # fmt: skip


def test_a_flushed_receive_that_waits_again_is_posted_again_and_no_more() -> None:
    lab = played("use rc_pair", RECV, "modify_qp B.qp0 state=ERR", "run 1ms")
    remedy = why(lab, "B.qp0.recv_wr[2]").remedy
    assert remedy is not None
    assert not remedy.works
    assert remedy.ends == "it then waits for a message"


_CROSSED = tuple(f"post_send {node}.qp0 wr_id=1 opcode=SEND sg={node}.mr0[0:64] flags=SIGNALED"
                 for node in "AB")  # fmt: skip


def test_a_receive_on_the_bytes_of_a_send_under_way_ends_the_wait_and_no_more() -> None:
    lab = lab_of(*_CROSSED, "run 2ms")
    found = attempt(lab.session, ["post_recv B.qp0 wr_id=5 sg=B.mr0[32:128]"], subject_of(lab))
    assert (found.works, found.ends) == (False, "B.qp0.recv_wr[5] has bytes of B.qp0.wr[1]")
    assert attempt(lab.session, ["post_recv B.qp0 wr_id=5 sg=B.mr0[64:128]"], subject_of(lab)).works
    done = lab_of(*_CROSSED, "post_recv A.qp0 sg=A.mr0[64:128]", "run 2ms")
    assert attempt(done.session, ["post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]"], subject_of(done)).works


def test_the_receive_of_a_fix_has_no_bytes_of_a_send_under_way() -> None:
    write = 'write B.mr0[0:4] "mine"'
    remedy = why(lab_of(write, *_CROSSED, "run 2ms"), "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.lines == ["post_recv B.qp0 sg=B.mr0[64:128]"]
