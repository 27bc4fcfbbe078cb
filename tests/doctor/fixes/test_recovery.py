"""Connections made anew, with what was lost on the way."""

import pytest

from rdmalab.doctor.fixes import recovery
from rdmalab.doctor.moments.what_if import attempt
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from rdmalab.repair.bring_up import steps_to_rts
from tests.doctor.asking import answer, case_of, played
from tests.labs import RECV, SEND, lab_of, well

_WR = "A.qp0.wr[1]"
_ERR = "modify_qp A.qp0 state=ERR"


def qp_of(lab: Lab, name: str) -> QueuePair:
    thing = lab.session.names.find(name)
    assert thing is not None
    found: QueuePair = lab.session.world.find(thing, QueuePair)
    return found


def lines_of(lab: Lab, what: str = _WR) -> list[str]:
    case = case_of(lab, what)
    assert case.send is not None
    assert case.send.wqe is not None
    assert case.qp is not None
    return recovery.resend(case, case.qp, case.send.wqe.wr)


def test_resend_without_reconnection_in_rts() -> None:
    assert lines_of(lab_of(RECV, SEND, "run")) == [
        "post_recv B.qp0 sg=B.mr0[64:128]", SEND,  # the bytes of RECV are unread
    ]  # fmt: skip


def test_resend_of_a_datagram() -> None:
    line = (
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED ah=A.ah0 "
        "remote_qpn=B.qp0 remote_qkey=0x11111111"
    )
    well_off = lines_of(lab_of(line, "run", pair="use ud_pair"))
    assert [each.split()[0] for each in well_off] == ["post_send"]
    dead = lab_of("modify_qp A.qp0 state=ERR", line, "run", pair="use ud_pair")
    assert lines_of(dead)[0] == "modify_qp A.qp0 state=RESET"


def test_resend_reconnects_and_posts_receives_again() -> None:
    other = "post_recv A.qp0 wr_id=7 sg=A.mr0[64:128]"
    lab = lab_of(other, RECV, _ERR, SEND, "run")
    found = lines_of(lab)
    assert found[:2] == ["modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET"]
    assert found[3:] == [other, RECV, SEND]
    assert attempt(lab.session, found, case_of(lab, _WR).subject).works


def test_a_receive_that_was_polled_or_failed_does_not_come_back() -> None:
    lab = lab_of(RECV, SEND, "run", "modify_qp B.qp0 state=ERR")
    assert recovery.lost_receives(case_of(lab, _WR), qp_of(lab, "B.qp0")) == []


def test_reconnection_lines_are_equal_for_both_ends() -> None:
    lab = lab_of(_ERR, SEND, SEND.replace("A.", "B."), "modify_qp B.qp0 state=ERR", "run")
    mine, theirs = lines_of(lab), lines_of(lab, "B.qp0.wr[1]")
    assert mine[:3] == theirs[:3]


def test_reconnection_after_reset_has_the_attributes_of_the_peer() -> None:
    lab = lab_of(SEND, "run 2ms", "reset B.qp0",
                 pair="use rc_pair path_mtu=1024 rnr_retry=3 retry_cnt=2")  # fmt: skip
    found = lines_of(lab)
    assert "path_mtu=1024" in found[1]
    assert "retry_cnt=2" in found[1]
    for line in found:
        well(lab, line)
    assert qp_of(lab, "B.qp0").attr.path_mtu == qp_of(lab, "A.qp0").attr.path_mtu


def test_message_for_a_receive_is_the_dropped_datagram() -> None:
    datagram = (
        "post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:4] ah=A.ah0 remote_qpn=B.qp0 "
        "remote_qkey=0x11111111 flags=SIGNALED"
    )
    lab = lab_of(datagram, "run", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]", pair="use ud_pair")
    (answer,) = recovery.message_for(case_of(lab, "B.qp0.recv_wr[2]"), qp_of(lab, "B.qp0"))
    assert answer.startswith("post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:4]")


def test_message_for_a_receive_is_a_small_send() -> None:
    lab = lab_of(RECV)
    case = case_of(lab, "B.qp0.recv_wr[2]")
    assert recovery.message_for(case, qp_of(lab, "B.qp0")) == [
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"
    ]


def test_steps_to_rts_of_a_ud_qp() -> None:
    line = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qkey=5"
    lab = lab_of("reset A.qp0", line, pair="use ud_pair")
    found = steps_to_rts(case_of(lab, "A.qp0"), qp_of(lab, "A.qp0"))
    assert [each.split()[2] for each in found] == ["state=RTR", "state=RTS"]


def test_ring_doorbell_changes_no_attribute() -> None:
    lab = lab_of(RECV, SEND)
    case = case_of(lab, _WR)
    assert case.send is not None
    assert case.send.wqe is not None
    answer = recovery.ring_doorbell(case, qp_of(lab, "A.qp0"), case.send.wqe.wr)
    well(lab, answer)
    well(lab, "run")
    nodes = lab.session.world.nodes
    assert [[cqe.wr_id for cqe in nodes[n].cqs.items[1].cqes] for n in "AB"] == [[1], [2]]


_LONG = "post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_SHORT = "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:16]}"


def test_a_shared_queue_of_short_receives_is_replaced() -> None:
    """Those that are left on it are too short for the message, too, and no call takes them."""
    report = answer(played("use srq_pair", _SHORT, _LONG, "run"), "why A.qp0.wr[5]")
    assert report.slug == "loc-len"
    assert report.remedy is not None
    assert report.remedy.works
    assert report.remedy.cure.lines[0].startswith("create_srq B.srq1 ")


def test_a_shared_queue_with_a_long_receive_next_is_kept() -> None:
    long = "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[512:640]}"
    report = answer(played("use srq_pair", long, _LONG, "run"), "why A.qp0.wr[5]")
    assert report.remedy is not None
    assert report.remedy.works
    assert not any(line.startswith("create") for line in report.remedy.cure.lines)


_WRITE = "post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"
_DATAGRAM = (
    "post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[128:136] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED"
)


@pytest.mark.parametrize("node", "AB")
@pytest.mark.parametrize(
    ("lines", "question"),
    [
        (("use rc_pair", "gid del {0} index=1", _WRITE, "run"),
         "why A.qp0.wr[5]"),
        (("use ud_pair", "gid del {0} index=1", "post_recv B.qp0 sg=B.mr0[0:104]", _DATAGRAM,
          "run"), "why A.qp0.wr[5]"),
        (("use rc_pair", "reset A.qp0", "reset B.qp0", "gid del {0} index=1",
          "connect {0}.qp0 {1}.qp0"), "why"),
    ],
)  # fmt: skip
def test_an_address_that_was_deleted_is_given_back(
    node: str, lines: tuple[str, ...], question: str
) -> None:
    other = "B" if node == "A" else "A"
    report = answer(played(*(line.format(node, other) for line in lines)), question)
    assert report.remedy is not None
    assert report.remedy.works, report.text
    address = "10.0.0.1" if node == "A" else "10.0.0.2"
    assert report.remedy.cure.lines[0] == f"gid add {node} ::ffff:{address} index=1"


def test_an_address_that_another_took_the_place_of_is_not_given_back() -> None:
    lab = played("use rc_pair", "gid del B index=1", "gid add B 10.0.0.77 index=1",
                 "post_recv B.qp0 sg=B.mr0[0:64]", _LONG, "run")  # fmt: skip
    report = answer(lab, "why A.qp0.wr[5]")
    assert report.remedy is not None
    assert report.remedy.works
    assert not any(line.startswith("gid") for line in report.remedy.cure.lines)
