"""The fix of a program of the host: the call that it has to change."""

from rdmalab.doctor.diagnosis.examination import for_program
from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import finding, played, why
from tests.doctor.checks.test_polling import TWO_CQS
from tests.each import each
from tests.labs import lab_of

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0 rkey=1 flags=SIGNALED"
_INIT = "state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE"
_RTR = "state=RTR path_mtu=512 max_dest_rd_atomic=1 min_rnr_timer=12"
_RTS = "state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1"
_PSNS = (
    "use rc_pair", "modify_qp B.qp0 state=RESET", f"modify_qp B.qp0 {_INIT}",
    f"modify_qp B.qp0 {_RTR} dest_qp_num=A.qp0 rq_psn=77 ah=A", f"modify_qp B.qp0 {_RTS}",
    "post_recv B.qp0 sg=B.mr0[0:64]", _SEND,
)  # fmt: skip
_RIGHTS = (
    "use rc_pair", "reg_mr B.mr1 pd=B.pd0 length=64 access=REMOTE_READ",
    "post_recv B.qp0 sg=B.mr1[0:64]", _SEND,
)  # fmt: skip


_NO_READS = ("use rc_pair max_dest_rd_atomic=0", "post_send A.qp0 wr_id=3 opcode=RDMA_READ "
             "sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED")  # fmt: skip
_NO_RIGHT = ("use rc_pair qp_access_flags=REMOTE_READ", _BAD.replace("rkey=1 ", ""))
_LIMIT = ("use srq_pair rnr_retry=2", "modify_srq B.srq0 srq_limit=1", _SEND)
_DEREG = (
    "use rc_pair", "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:4000] remote=B.mr0[0]"
    " flags=SIGNALED", "step 3", "dereg_mr B.mr0",
)  # fmt: skip
_NO_PORT = ("use rc_pair", "modify_qp A.qp0 state=RESET",
            f"modify_qp A.qp0 {_INIT.replace('num=1', 'num=9')}")  # fmt: skip
_TWICE = (  # as rdma_cm does it: INIT without rights, then INIT with those of the program
    "use rc_pair rnr_retry=2", "modify_qp B.qp0 state=RESET",
    f"modify_qp B.qp0 {_INIT.replace('REMOTE_WRITE', '0')}",
    f"modify_qp B.qp0 {_INIT}|REMOTE_READ|REMOTE_ATOMIC",
    f"modify_qp B.qp0 {_RTR} dest_qp_num=A.qp0 rq_psn=0 ah=A",
    f"modify_qp B.qp0 {_RTS.replace('=7 sq', '=2 sq')}", _SEND,
)  # fmt: skip


@each("lines, fix", [
    (_NO_READS, "give the modify_qp of event 11 max_dest_rd_atomic=1"),
    (_NO_RIGHT, "give the modify_qp of event 9 qp_access_flags=REMOTE_WRITE"),
    (("use rc_pair", _BAD), "in place of the call of event 14: post_send A.qp0 wr_id=3 "),
    (("use rc_pair rnr_retry=2", _SEND), "before event 14: post_recv B.qp0 wr_id=7 "),
    (_RIGHTS, "in place of the call of event 14: reg_mr B.mr1 access=LOCAL_WRITE|REMOTE_READ"),
    (_LIMIT, "before event 24: post_srq_recv B.srq0 "),
    (_DEREG, "after wr3 is complete, not before it, call the dereg_mr of event "),
    (_NO_PORT, "in place of the call of event 15: modify_qp A.qp0 state=INIT"),
    (_TWICE, "before event 19: post_recv B.qp0 wr_id=7 "),
    (_PSNS, "the modify_qp of event 16 or 12, so that the attributes of both ends fit"),
])  # fmt: skip
def test_the_fix_for_a_program_is_one_call(lines: tuple[str, ...], fix: str) -> None:
    lab = played(*lines, "run")
    report = for_program(lab.session, why(lab))
    assert report.remedy is not None
    assert report.remedy.cure.lines == []
    assert report.remedy.cure.program.startswith(fix)


_SWAP = (
    "post_send A.{} wr_id={} opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[{}] remote=B.mr0[0] compare_add=0"
    " swap=1 flags=SIGNALED"
)
_LOCK = (
    "use rc_pair",
    "create_cq A.cq1 cqe=16",
    "create_qp A.qp2 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
    "create_qp B.qp2 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0", "connect A.qp2 B.qp2",
    f"program A.t1 lines={{{_SWAP.format('qp0', 1, '0:8')}; poll A.cq0; post_send A.qp0 wr_id=2"
    " opcode=RDMA_WRITE sg=A.mr0[8:16] remote_addr=0x20000000 rkey=0xbad flags=SIGNALED;"
    " poll A.cq0}",
    f"program A.t2 lines={{sleep 5us; loop; {_SWAP.format('qp2', 3, '64:72')}; poll A.cq1;"
    " if A.mr0[64] == 0; stop; end; end}", "run 1ms",
)  # fmt: skip
_POLLS_AGAIN = (
    "use rc_pair", "reg_mr B.mr1 pd=B.pd0 length=4096 access=REMOTE_READ",
    "post_recv B.qp0 wr_id=1 sg=B.mr1[0:64]",
    "program B.rx lines={poll B.cq0; poll B.cq0}",
    "program A.tx lines={sleep 1us; post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:8]"
    " flags=SIGNALED; poll A.cq0}", "run 1ms",
)  # fmt: skip


@each("lines, thread", [(_LOCK, "A.t2"), (_POLLS_AGAIN, "B.rx")])
def test_a_thread_that_was_only_held_up_used_no_wrong_data(
    lines: tuple[str, ...], thread: str
) -> None:
    lab = played(*lines)
    assert why(lab, thread).outcome.kind is Status.NEVER
    for line in ("apply", "run 5ms"):
        lab.do(line)
    for asked in ("", thread):
        report = why(lab, asked)
        assert (report.outcome.kind, report.causes) == (Status.WELL, []), asked


def test_a_poll_that_is_missing_comes_after_the_completion() -> None:
    lab = lab_of(*TWO_CQS, "poll_cq B.cq0")
    remedy = for_program(lab.session, why(lab, "B.qp1.recv_wr[2]")).remedy
    added = finding(lab, "B.qp1.recv_wr[2]", "wrong-cq").evidence[0].event
    assert remedy is not None
    assert remedy.cure.program == f"after event {added}: poll_cq B.rcq"


_OTHER_INDEX = (
    "use rc_pair", "reset A.qp0", "reset B.qp0", f"modify_qp A.qp0 {_INIT}",
    f"modify_qp A.qp0 {_RTR} dest_qp_num=B.qp0 rq_psn=0 "
    "ah_attr={is_global=1 dgid=::ffff:10.0.0.2 hop_limit=64 port_num=1}",
    "destroy_qp A.qp0", "destroy_qp B.qp0",
)  # fmt: skip
_NEW_PEER = (
    "use rc_pair timeout=8 retry_cnt=2", "destroy_qp B.qp0",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0",
    f"modify_qp B.qp1 {_INIT}", f"modify_qp B.qp1 {_RTR} dest_qp_num=A.qp0 rq_psn=0 ah=A",
    f"modify_qp B.qp1 {_RTS}", _BAD.replace("rkey=1 ", ""), "run 20ms", "poll_cq A.cq0",
    "destroy_qp A.qp0", "destroy_qp B.qp1",
)  # fmt: skip


@each("lines, fix", [
    (_OTHER_INDEX, "after event 17 this works: modify_qp A.qp0 "),
    (_NEW_PEER, "as line 2 of 3, this works: to_rts A.qp0 B.qp1 "),
])  # fmt: skip
def test_after_a_teardown_a_fix_changes_nothing_of_an_earlier_life(
    lines: tuple[str, ...], fix: str
) -> None:
    remedy = why(played(*lines)).remedy
    assert remedy is not None
    assert fix in remedy.cure.program
    assert "give the modify_qp" not in remedy.cure.program


def test_a_gid_of_the_other_kind_is_reached_by_another_index_alone() -> None:
    report = why(played(*_OTHER_INDEX[:-2]), "EINVAL")
    assert report.causes[0].finding.evidence[1].text.startswith("sgid_index=0 is fe80::")
    assert report.remedy is not None
    assert report.remedy.works
    assert "dgid=::ffff:10.0.0.2" in report.remedy.cure.lines[0]
    assert "sgid_index=1" in report.remedy.cure.lines[0]
