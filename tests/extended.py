"""An extended queue pair to test with: `A.qx0`, connected to `B.qp0`, with every builder."""

from rdmalab.lab import Lab
from tests.labs import well

_QP = "create_qp_ex A.qx0 pd=A.pd0 qp_type={} send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=8"
ALL = "RDMA_WRITE|RDMA_WRITE_WITH_IMM|SEND|SEND_WITH_IMM|RDMA_READ"
ATOMICS = "ATOMIC_CMP_AND_SWP|ATOMIC_FETCH_AND_ADD"


def extended_lab(*lines: str, ops: str = f"{ALL}|{ATOMICS}", profile: str = "strict") -> Lab:
    """A pair, its sender extended, and these lines carried out, all of them well."""
    lab = Lab(profile=profile)
    made = f"{_QP.format('RC')} max_inline_data=64 send_ops_flags={ops}"
    for line in ("use rc_pair", made, "reset B.qp0", "connect A.qx0 B.qp0", *lines):
        well(lab, line)
    return lab


def datagram_lab(*lines: str, profile: str = "strict") -> Lab:
    """The same with UD queue pairs and an address handle."""
    lab = Lab(profile=profile)
    setup = ["use rc_pair", "create_ah A.ah0 pd=A.pd0 to=B", _QP.format("UD") + " send_ops_flags=4"]
    setup += ["create_qp B.ud0 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0"]
    for qp in ("A.qx0", "B.ud0"):
        setup.append(f"modify_qp {qp} state=INIT pkey_index=0 port_num=1 qkey=0x11111111")
        setup += [f"modify_qp {qp} state=RTR", f"modify_qp {qp} state=RTS sq_psn=0"]
    for line in (*setup, *lines):
        well(lab, line)
    return lab
