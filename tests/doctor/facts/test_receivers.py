"""Where packets go, who expects them, and since when."""

from rdmalab.doctor.facts import receivers
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from rdmalab.spec.states import QPState
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well

_WR = "A.qp0.wr[1]"


def qp(lab: Lab, name: str):  # type: ignore[no-untyped-def]  # any object of the world
    thing = lab.session.names.find(name)
    assert thing is not None
    return lab.session.world.find(thing, QueuePair)


def test_goes_to_of_a_connection_and_of_a_datagram() -> None:
    lab = lab_of(SEND)
    case = case_of(lab, _WR)
    assert case.send is not None
    assert receivers.goes_to(case, case.send) == ("B", 0x11)
    far = (
        "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=10.0.0.7 sgid_index=1 hop_limit=4 port_num=1",
        "post_send A.qp0 wr_id=1 opcode=SEND ah=A.ah1 remote_qpn=5 flags=SIGNALED",
    )
    case = case_of(lab_of(*far, pair="use ud_pair"), _WR)
    assert case.send is not None
    assert receivers.goes_to(case, case.send) == ("", 5)
    assert receivers.target(case) is None
    assert receivers.group_of(case, case.send) == 0


def test_expecting_of_a_connected_pair() -> None:
    lab = lab_of("use rc_pair")
    world = lab.session.world
    assert receivers.expecting(world, qp(lab, "A.qp0")) is qp(lab, "B.qp0")
    assert receivers.is_for(world, qp(lab, "B.qp0"), qp(lab, "A.qp0"))
    assert not receivers.is_for(world, qp(lab, "B.qp0"), qp(lab, "A.qp1"))
    well(lab, "reset B.qp0")
    assert receivers.expecting(world, qp(lab, "A.qp0")) is None


def test_meant_is_the_only_unconnected_qp() -> None:
    lab = lab_of("use rc_pair", "use uc_pair", "reset B.qp0")
    world, ours = lab.session.world, qp(lab, "A.qp0")
    assert receivers.meant(world, ours) is qp(lab, "B.qp0")
    well(lab, "reset B.qp1")
    assert receivers.meant(world, ours) is None


def test_listeners_with_receives_first() -> None:
    made = (
        "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0",
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
        "post_recv B.qp1 sg=B.mr0[0:64]",
    )
    lab = lab_of(*made, pair="use ud_pair")
    found = receivers.listeners(lab.session.world, "B", 0x11111111)
    assert found == [qp(lab, "B.qp1"), qp(lab, "B.qp0")]
    assert receivers.listeners(lab.session.world, "B", 7) == []


def test_state_at_has_the_event_of_the_transition() -> None:
    lab = lab_of(RECV, SEND, "run", "modify_qp B.qp0 state=ERR")
    case, theirs = case_of(lab, _WR), qp(lab, "B.qp0")
    at = lab.session.world.event
    assert receivers.state_at(case, theirs, at) == (QPState.RTS, 13)
    assert receivers.state_at(case, theirs, at + 1) == (QPState.ERR, at)
    assert receivers.state_at(case, theirs, 0) == (QPState.RESET, None)
    assert receivers.peer_set_at(case, theirs) == 11
    assert case.log.last_entered(theirs.thing, QPState.SQD) is None


def test_an_end_is_remembered() -> None:
    lab = lab_of(SEND, "destroy_qp B.qp0")
    case = case_of(lab, _WR)
    assert receivers.destroyed(case, "B", 0x11) == lab.session.world.event
    assert receivers.destroyed(case, "A", 0x11) is None
    assert receivers.destroyed(case, "", 0x11) is None


def test_gid_words_of_ipv4_and_link_local() -> None:
    lab = lab_of()
    gids = lab.session.world.nodes["B"].gids
    assert [receivers.gid_words(gid) for gid in gids] == ["fe80::200:a00:2", "10.0.0.2"]
