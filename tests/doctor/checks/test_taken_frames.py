"""Frames that the flow rule of another queue pair takes first."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor import tidying
from tests.doctor.asking import evidence, played, why


def tapped(tap: str, mine: str = "priority=5", *lines: str) -> Lab:
    """A thread waits for a frame for which a second queue pair has a rule as well."""
    header = "".join(rf"\x{octet:02x}" for octet in bytes.fromhex("02000a00000202000a00000188b5"))
    return played(
        "use raw_pair", "create_cq B.cq1 cqe=8",
        "create_qp B.qp1 pd=B.pd0 qp_type=RAW_PACKET send_cq=B.cq1 recv_cq=B.cq1 max_send_wr=4 "
        "max_recv_wr=4", "modify_qp B.qp1 state=INIT port_num=1", "modify_qp B.qp1 state=RTR",
        "destroy_flow B.flow0", f"create_flow B.mine qp=B.qp0 {mine} dst_mac=B",
        f"create_flow B.tap qp=B.qp1 {tap} ether_type=0x88b5",
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:256]", f'write A.mr0[0:14] "{header}"', *lines,
        "program B.rx lines={poll B.cq0}",
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:60] flags=SIGNALED", "run 100us",
    )  # fmt: skip


@pytest.mark.parametrize("lines", [(), ("post_recv B.qp1 wr_id=1 sg=B.mr0[256:512]",)])
@pytest.mark.parametrize("asked", ["", "B.rx"])
def test_a_rule_with_a_lower_priority_takes_the_frame(asked: str, lines: tuple[str, ...]) -> None:
    lab = tapped("priority=1", "priority=5", *lines)
    report = why(lab, asked)
    assert (report.slug, report.outcome.kind) == ("no-flow-rule", Status.NEVER)
    said = evidence(lab, "B.qp0.recv_wr[1]", "no-flow-rule")
    assert "B.tap of B.qp1 has priority=1, B.mine of B.qp0 priority=5" in said
    lab.do("stop B.rx")
    tidying.destroy_all(lab.session)
    assert why(lab).slug == "no-flow-rule"


@pytest.mark.parametrize(
    ("tap", "mine"), [("priority=1 flags=DONT_TRAP", "priority=5"), ("priority=5", "priority=1")]
)
def test_the_advice_lets_the_frame_come(tap: str, mine: str) -> None:
    lab = tapped(tap, mine, "post_recv B.qp0 wr_id=7 sg=B.mr0[512:768]")
    assert lab.look("B.rx.state == DONE")
    assert not why(lab).is_trouble
    assert why(lab, "B.qp0.recv_wr[7]").slug != "no-flow-rule"
