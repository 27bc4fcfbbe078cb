"""UD: one packet, one receive, 40 bytes of where it came from (transport.md 13)."""

import pytest

from rdmalab.hca import groups, lifecycle
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WROpcode
from rdmalab.wire.headers import IPv4
from rdmalab.wire.packet import ipv4_gid
from tests.pairs import QKEY, Pair

S = WCStatus
SEND = WROpcode.SEND
GROUP = ipv4_gid("239.1.2.3")
EVERYBODY = 0xFFFFFF


def ud(**fields: object) -> Pair:
    return Pair(qp_type=QPType.UD, **fields)  # type: ignore[arg-type]


def test_ud_data_is_placed_after_the_grh() -> None:
    pair = ud()
    pair.a.poke(0, b"datagram")
    pair.b.poke(0, b"\xee" * 64)
    pair.b.recv(48, wr_id=5)
    pair.a.issue(WROpcode.SEND_WITH_IMM, 8, wr_id=7, imm_data=7)
    pair.run()
    assert pair.a.sent() == [(7, S.SUCCESS)]
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert (cqe.wr_id, cqe.byte_len, cqe.imm_data) == (5, 48, 7)
    assert cqe.wc_flags == WCFlags.GRH | WCFlags.WITH_IMM
    assert (cqe.qp_num, cqe.src_qp) == (pair.b.qp.number, pair.a.qp.number)
    ip = IPv4.unpack(pair.b.peek(20, 20))
    assert (ip.version, ip.src, ip.dst) == (4, 0x0A000001, 0x0A000002)
    assert pair.b.peek(40, 9) == b"datagram\xee"
    assert pair.b.peek(0, 20) == b"\xee" * 20  # nothing is promised of these


def test_an_empty_ud_message_has_byte_len_40() -> None:
    pair = ud()
    pair.b.recv(40)
    pair.a.issue(SEND, 0)
    pair.run()
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert (cqe.status, cqe.byte_len) == (S.SUCCESS, 40)


@pytest.mark.parametrize(("room", "status"), [(48, S.SUCCESS), (47, S.LOC_LEN_ERR)])
def test_ud_receive_without_room_for_the_grh_is_loc_len_err(room: int, status: WCStatus) -> None:
    pair = ud()
    pair.b.recv(room)
    pair.b.recv(64, wr_id=2)
    pair.a.issue(SEND, 8)
    pair.run()
    good = status is S.SUCCESS
    assert pair.b.received() == [(1, status)] + ([] if good else [(2, S.WR_FLUSH_ERR)])
    assert pair.b.qp.state is (QPState.RTS if good else QPState.ERR)
    assert pair.a.sent() == [(1, S.SUCCESS)]


@pytest.mark.parametrize(
    ("reason", "fields"),
    [("no-receive", {}), ("qkey", {"remote_qkey": QKEY + 1}), ("wrong-qpn", {"remote_qpn": 0x99})],
)
def test_a_dropped_ud_packet_completes_with_success_at_the_sender(
    reason: str, fields: dict[str, int]
) -> None:
    pair = ud()
    pair.a.issue(SEND, 8, **fields)
    pair.run()
    assert pair.a.sent() == [(1, S.SUCCESS)]
    assert pair.b.hca.drops == {reason: 1}


def test_ud_receive_with_an_invalid_lkey_is_loc_prot_err() -> None:
    pair = ud()
    pair.b.recv(sg=[pair.b.sge(0, 64, 0xBAD)])
    pair.a.issue(SEND, 8)
    pair.run()
    assert pair.b.received() == [(1, S.LOC_PROT_ERR)]
    assert pair.b.qp.state is QPState.ERR


def test_ud_takes_datagrams_of_any_source_qp() -> None:
    """Two senders, no peer: each is told apart by src_qp."""
    pair = ud()
    other = pair.end("A")
    other.peer = pair.b
    pair.bring_up(other, 9, 0)
    for _ in range(2):
        pair.b.recv(64)
    pair.a.issue(SEND)
    other.issue(SEND)
    pair.run()
    assert [c.src_qp for c in pair.b.poll(pair.b.recv_cq)] == [pair.a.qp.number, other.qp.number]


def test_an_ah_of_another_pd_is_loc_qp_op_err() -> None:
    pair = ud()
    other = pair.end("A")
    other.peer = pair.b
    pair.a.ah = other.destination()["ah"]
    pair.a.issue(SEND, wr_id=7)
    pair.run()
    assert pair.a.sent() == [(7, S.LOC_QP_OP_ERR)]
    assert pair.a.qp.state is QPState.SQE
    assert pair.wire_lines() == []


# --------------------------------------------------------------------------- multicast
def group_handle(pair: Pair) -> int:
    av = AhAttr(is_global=1, dgid=GROUP, sgid_index=1, hop_limit=1, port_num=1)
    return lifecycle.create_ah(pair.a.hca, pair.a.pd.number, av).number


def test_every_multicast_member_gets_a_copy_the_sender_too() -> None:
    pair = ud()
    second = pair.end("B")
    second.peer = pair.a
    pair.bring_up(second, 0, 0)
    for end in (pair.a, pair.b, second):
        groups.attach(end.hca, end.qp, GROUP)
        groups.attach(end.hca, end.qp, GROUP)  # twice is once
        end.recv(64)
    pair.a.issue(SEND, ah=group_handle(pair), remote_qpn=EVERYBODY)
    pair.run()
    assert pair.a.sent() == [(1, S.SUCCESS)]
    for end in (pair.a, pair.b, second):
        assert end.received() == [(1, S.SUCCESS)]
    assert len(pair.wire_lines()) == 1
    assert pair.packets("A")[0].flow.dst_mac == 0x01005E010203


def test_a_multicast_member_with_another_qkey_or_no_receive_gets_no_copy() -> None:
    pair = ud()
    second = pair.end("B")
    second.peer = pair.a
    pair.bring_up(second, 0, 0)
    for end in (pair.b, second):
        groups.attach(end.hca, end.qp, GROUP)
    second.modify(qkey=5)
    pair.a.issue(SEND, ah=group_handle(pair), remote_qpn=EVERYBODY)
    pair.run()
    assert pair.b.hca.drops == {"no-receive": 1, "qkey": 1}


def test_a_multicast_packet_without_member_is_dropped_at_the_port() -> None:
    pair = ud()
    pair.a.issue(SEND, ah=group_handle(pair), remote_qpn=EVERYBODY)
    pair.run()
    assert pair.b.hca.drops == {"no-group": 1}
    assert pair.a.hca.drops == {}
