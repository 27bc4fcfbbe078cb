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


@each("lines, fix", [
    (_NO_READS, "give the modify_qp of event 11 max_dest_rd_atomic=1"),
    (_NO_RIGHT, "give the modify_qp of event 9 qp_access_flags=REMOTE_WRITE"),
    (("use rc_pair", _BAD), "in place of the call of event 14: post_send A.qp0 wr_id=3 "),
    (("use rc_pair rnr_retry=2", _SEND), "before event 14: post_recv B.qp0 wr_id=7 "),
    (_RIGHTS, "in place of the call of event 14: reg_mr B.mr1 access=LOCAL_WRITE|REMOTE_READ"),
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
