"""Each `try:` is what one would want, and is not refused."""

import pytest

from tests.shell.talk import Talk

UD = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"
PARTS = "pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
EX = f"create_qp_ex A.qx0 {PARTS} send_ops_flags=SEND"
DGID = "create_ah A.ah1 pd=A.pd0 dgid="
WINDOW = (
    "use rc_pair",
    "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
    "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1",
    "bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE",
    "run",
)
ADDRESS = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"
MAPPED = "::ffff:10.0.0.2"
ROUTE = "is_global=1 sgid_index=1 port_num=1 hop_limit=64"

CASES = [
    (("use ud_pair",), UD, f"{UD} {ADDRESS}"),
    (("use ud_pair", "destroy_ah A.ah0"), UD, "create_ah A.ah0 pd=A.pd0 to=B"),
    (("use ud_pair",), f"{DGID}{MAPPED}", f"{DGID}{MAPPED} {ROUTE}"),
    (("use ud_pair",), f"{DGID}{MAPPED} port_num=1 is_global=1",
     f"{DGID}{MAPPED} {ROUTE}"),
    (("use ud_pair",), f"{DGID}ff02::1 hop_limit=1",
     f"{DGID}ff02::1 hop_limit=1 is_global=1 sgid_index=0 port_num=1"),
    (("port B link_layer=InfiniBand", "alloc_pd A.pd0"), "create_ah A.ah1 pd=A.pd0 to=B", ""),
    (("use ud_pair",), "create_ah A.ah1 pd=A.pd0", "create_ah A.ah1 pd=A.pd0 to=B"),
    (("use rc_pair",), "create_qp A.qp5 pd=A.pd0 qp_type=RC",
     "create_qp A.qp5 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"),
    (("use rc_pair",), "create_qp B.qp5 qp_type=XRC_RECV", "open_xrcd B.xrcd0 oflag=O_CREAT"),
    (("use xrc_pair",), "create_qp B.qp5 qp_type=XRC_RECV",
     "create_qp B.qp5 qp_type=XRC_RECV xrcd=B.xrcd0"),
    (("use xrc_pair",), "create_srq_ex B.srq5 pd=B.pd0 srq_type=XRC max_wr=4",
     "create_srq_ex B.srq5 pd=B.pd0 srq_type=XRC max_wr=4 xrcd=B.xrcd0 cq=B.cq0"),
    (("use rc_pair",), "open_xrcd A.xrcd0", "open_xrcd A.xrcd0 oflag=O_CREAT"),
    (("use rc_pair",), "open_xrcd A.xrcd0 fd=7", "open_xrcd A.xrcd0 fd=7 oflag=O_CREAT"),
    (("use xrc_pair",), "post_recv B.qp0 sg=B.mr0[0:8]", "post_srq_recv B.srq0 sg=B.mr0[0:8]"),
    (("use xrc_pair",), "post_recv A.qp0 sg=A.mr0[0:8]", ""),
    (WINDOW, "dereg_mr B.mr1", "dealloc_mw B.mw0"),
    (("use rc_pair", EX), "wr_send A.qx0", "wr_start A.qx0"),
    (("use rc_pair", EX, "wr_start A.qx0"), "post_send A.qx0 opcode=SEND", "wr_abort A.qx0"),
    (("use rc_pair", EX, "reset B.qp0", "connect A.qx0 B.qp0", "wr_start A.qx0", "wr_send A.qx0"),
     "post_send A.qx0 opcode=SEND", "wr_complete A.qx0"),
    (("use rc_pair",), "wr_start A.qp0",
     "create_qp_ex A.qx0 qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"),
    (("use raw_pair",), "destroy_qp A.qp0", "destroy_flow A.flow0"),
    (("alloc_pd A.pd0", "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2"), "dealloc_pd A.pd0",
     "dealloc_mw A.mw0"),
    (("alloc_pd A.pd0", "alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0"),
     "dealloc_td A.td0", "dealloc_pd A.pd1"),
    (("alloc_pd A.pd0", "alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0"),
     "dealloc_pd A.pd0", "dealloc_pd A.pd1"),
    (("device_fatal A",), "alloc_pd A.pd0", "close_device A"),
    (("close_device A",), "alloc_pd A.pd0", "open_device A"),
]  # fmt: skip


@pytest.mark.parametrize(("setup", "line", "remedy"), CASES)
def test_the_line_to_try(setup: tuple[str, ...], line: str, remedy: str) -> None:
    talk = Talk(*setup, width=300)
    said = talk.ask(line)
    assert said[0].startswith("error:"), said
    tries = [row.partition("try: ")[2] for row in said if "try: " in row]
    assert tries == ([remedy] if remedy else [])
    for row in tries:
        answer = talk.ask(row)
        assert not any(part.startswith(("error:", "not understood")) for part in answer), answer
