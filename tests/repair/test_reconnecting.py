"""Lines that connect two ends, make one anew, say a message once more: they are carried out."""

from rdmalab.command import Noun
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from rdmalab.repair import commands
from rdmalab.spec.access import Access
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well

_WR = "A.qp0.wr[1]"


def qp(lab: Lab, name: str) -> QueuePair:
    thing = lab.session.names.find(name)
    assert thing is not None
    found: QueuePair = lab.session.world.find(thing, QueuePair)
    return found


def test_two_that_did_not_know_each_other_are_connected_as_the_first_was() -> None:
    lab = lab_of("use rc_pair", SEND, pair="use rc_pair timeout=9 retry_cnt=3 path_mtu=1024")
    lines = commands.reconnect(case_of(lab, _WR), qp(lab, "A.qp0"), qp(lab, "B.qp1"))
    assert lines[-1].startswith("connect A.qp0 B.qp1 path_mtu=1024 timeout=9 retry_cnt=3 ")
    for line in lines:
        well(lab, line)
    assert (lab.look("A.qp0.peer"), lab.look("B.qp1.peer")) == ("B.qp1", "A.qp0")
    assert lab.look("B.qp1.timeout") == 9


def test_the_rights_of_both_ends_are_kept() -> None:
    lab = lab_of(SEND, pair="use rc_pair qp_access_flags=REMOTE_READ")
    ours, theirs = qp(lab, "A.qp0"), qp(lab, "B.qp0")
    for line in ("reset B.qp0", "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 "
                 "qp_access_flags=REMOTE_WRITE"):  # fmt: skip
        well(lab, line)
    for line in commands.reconnect(case_of(lab, _WR), ours, theirs):
        well(lab, line)
    rights = [qp(lab, name).attr.qp_access_flags for name in ("A.qp0", "B.qp0")]
    assert rights == [Access.REMOTE_READ, Access.REMOTE_WRITE]


def test_reconnect_with_another_pkey_index() -> None:
    lab = lab_of("use rc_pair", SEND, pair="pkey set B 1 0xffff")
    lines = commands.reconnect(case_of(lab, _WR), qp(lab, "A.qp0"), qp(lab, "B.qp0"),
                                   None, {"pkey_index": "1"})  # fmt: skip
    for line in lines:
        well(lab, line)
    assert (qp(lab, "B.qp0").attr.pkey_index, qp(lab, "A.qp0").attr.pkey_index) == (1, 0)
    assert lab.look("A.qp0.peer") == "B.qp0"


def test_a_queue_pair_is_made_like_another() -> None:
    lab = lab_of(SEND)
    case = case_of(lab, _WR)
    name = commands.free_name(case, Noun.QP, "B")
    well(lab, commands.create_like(case, qp(lab, "B.qp0"), name, qp_type="UC"))
    made = qp(lab, name)
    assert (name, made.qp_type.name, made.cap) == ("B.qp1", "UC", qp(lab, "B.qp0").cap)


def test_a_receive_that_is_lost_is_posted_again_if_it_fits() -> None:
    for length, receive in ((64, "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]"),
                            (65, "post_recv B.qp0 wr_id=1 sg=B.mr0[64:129]")):  # fmt: skip
        lab = lab_of(RECV, SEND.replace("0:64", f"0:{length}"))
        case = case_of(lab, _WR)
        assert case.send is not None
        assert case.send.wqe is not None
        wr, ours, theirs = case.send.wqe.wr, qp(lab, "A.qp0"), qp(lab, "B.qp0")
        answer = commands.again(case, ours, wr, theirs, after_reset=True)
        assert answer[0] == receive
        assert len(commands.again(case, ours, wr, theirs)) == 1


def test_again_names_the_peer_qp() -> None:
    write = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[40]"
    lab = lab_of(write)
    case = case_of(lab, _WR)
    assert case.send is not None
    assert case.send.wqe is not None
    (answer,) = commands.again(case, qp(lab, "A.qp0"), case.send.wqe.wr, qp(lab, "B.qp0"))
    assert answer == write


def test_a_message_of_any_kind_is_found() -> None:
    lab = lab_of(RECV, SEND)
    case = case_of(lab, _WR)
    answer = commands.some_message(case, qp(lab, "A.qp0"), 16)
    assert answer == "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED"
    empty = commands.some_message(case, qp(lab, "A.qp0"), 0)
    assert "sg=" not in empty
