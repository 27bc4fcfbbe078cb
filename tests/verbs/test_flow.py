"""Flow rules, frames and TSO, typed."""

import pytest

from rdmalab import Lab
from tests.labs import lab_of, refusal, well
from tests.raw import tcp_frame

RAW = "use raw_pair max_tso_header=64"


def written(octets: bytes) -> str:
    return "".join(f"\\x{octet:02x}" for octet in octets)


def test_create_flow_and_a_raw_frame_as_typed() -> None:
    frame = tcp_frame(b"hello")
    lab = lab_of(f'write A.mr0 "{written(frame)}"', pair=RAW)
    well(lab, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:128]")
    well(lab, f"post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:{len(frame)}] flags=SIGNALED")
    lab.run()
    assert lab.look("B.cq0.cqes[0].byte_len") == len(frame)
    assert lab.look(f"B.mr0[0:{len(frame)}]") == frame
    assert lab.look("wire.count(opcode=FRAME, len=59, ethertype=0x800)") == 1


def test_create_flow_with_every_field_and_its_canonical_line() -> None:
    lab = lab_of(pair=RAW)
    line = ("create_flow B.flow1 qp=B.qp0 type=NORMAL priority=2 flags=DONT_TRAP dst_mac=B "
            "src_mac=02:00:0a:00:00:01 ether_type=0x800 dst_ip=10.0.0.2 dst_port=80")  # fmt: skip
    well(lab, line)
    assert lab.look("B.flow1.fits").startswith("dst_mac=02:00:0a:00:00:02 src_mac=02:00:0a")
    shown = well(lab, "show journal").value.rows[-1].text
    assert "src_mac=02:00:0a:00:00:01" in shown
    well(lab, "destroy_flow B.flow1")
    assert refusal(lab, "destroy_flow B.flow1").rule == "use-after-destroy"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("create_flow A.flow9 qp=B.qp0", "other-node"),
        ("create_flow B.flow9 qp=B.qp0 type=SNIFFER dst_port=80", "flow-spec"),
        ("create_flow B.flow9 qp=B.qp0 port=2", "flow-port"),
        ("destroy_qp B.qp0", "in-use"),
        ("post_send A.qp0 opcode=TSO mss=8", "tso-header-length"),
        ("post_send A.qp0 opcode=TSO hdr=A.mr0[0:54]", "tso-mss"),
        ("post_send A.qp0 opcode=TSO hdr=A.mr0[0:54] mss=9", "tso-headers"),
        ("post_send A.qp0 opcode=SEND_WITH_IMM", "opcode-type"),
    ],
)
def test_create_flow_refused(line: str, rule: str) -> None:
    assert refusal(lab_of(pair=RAW), line).rule == rule


def test_modify_qp_attributes_of_a_raw_qp() -> None:
    lab = lab_of("modify_qp A.qp0 state=RESET", pair=RAW)
    assert refusal(lab, "modify_qp A.qp0 state=INIT").rule == "attr-missing"
    assert refusal(lab, "modify_qp A.qp0 state=INIT port_num=1 pkey_index=0").rule == "attr-surplus"
    well(lab, "modify_qp A.qp0 state=INIT port_num=1")
    well(lab, "modify_qp A.qp0 state=RTR")
    assert refusal(lab, "modify_qp A.qp0 state=RTS sq_psn=0").rule == "attr-surplus"
    well(lab, "modify_qp A.qp0 state=RTS rate_limit=1000")
    well(lab, "modify_qp A.qp0 state=SQD")
    well(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    lab.run()
    assert lab.look("A.cq0.total()") == 0
    well(lab, "modify_qp A.qp0 state=RTS")
    lab.run()
    assert lab.look("A.cq0.total(status=SUCCESS)") == 1


def test_create_flow_is_missing_on_soft_roce() -> None:
    lab = Lab(profile="rxe")
    assert [reply.refusal.rule for reply in lab.do("use raw_pair") if reply.refusal] == [
        "qp-type-support"
    ]
