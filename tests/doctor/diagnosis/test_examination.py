"""The fix of a program of the host: the call that it has to change."""

from rdmalab.doctor.diagnosis.examination import for_program
from tests.doctor.asking import played, why
from tests.each import each

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


@each("lines, fix", [
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
