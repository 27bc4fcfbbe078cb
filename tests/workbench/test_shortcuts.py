"""Short forms: what they make, and what they say they did."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.states import MTU, QPState
from tests.labs import RECV, SEND, lab_of, misread, refusal, status, trip, well


def test_the_pair_has_the_values_of_the_bring_up_document() -> None:
    attr = well(lab_of(), "query_qp A.qp0").value
    assert attr.qp_state is QPState.RTS
    assert (attr.path_mtu, attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer) == (
        MTU.B512, 14, 7, 7, 12,
    )  # fmt: skip
    assert (attr.max_rd_atomic, attr.max_dest_rd_atomic, attr.sq_psn) == (1, 1, 0)


@pytest.mark.parametrize(
    ("option", "field", "value"),
    [
        ("mtu=1024", "path_mtu", MTU.B1024),
        ("path_mtu=4096", "path_mtu", MTU.B4096),
        ("timeout=5", "timeout", 5),
        ("retry_cnt=1", "retry_cnt", 1),
        ("rnr_retry=0", "rnr_retry", 0),
        ("min_rnr_timer=1", "min_rnr_timer", 1),
        ("max_rd_atomic=4 max_dest_rd_atomic=4", "max_rd_atomic", 4),
        ("psn=0xfffffe", "rq_psn", 0xFFFFFE),
        ("qp_access_flags=0", "qp_access_flags", 0),
        ("qp_access_flags=REMOTE_READ", "qp_access_flags", 4),
    ],
)
def test_each_option_reaches_both_ends(option: str, field: str, value: int) -> None:
    lab = lab_of(pair=f"use rc_pair {option}")
    for node in "AB":
        assert getattr(well(lab, f"query_qp {node}.qp0").value, field) == value


def test_each_end_knows_the_other() -> None:
    lab = lab_of("create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0",
                 "create_qp A.qp2 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0")  # fmt: skip
    well(lab, "connect A.qp2 B.qp1 psn=5")
    a, b = (well(lab, f"query_qp {name}").value for name in ("A.qp2", "B.qp1"))
    numbers = [lab.session.names.find(name) for name in ("A.qp2", "B.qp1")]
    assert [b.dest_qp_num, a.dest_qp_num] == [thing.number for thing in numbers if thing]
    well(lab, "post_recv B.qp1 sg=B.mr0[0:64]")
    well(lab, SEND.replace("A.qp0", "A.qp2"))
    trip(lab, "run")
    assert status(lab) == "SUCCESS"


def test_to_rts_continues_from_the_present_state() -> None:
    for down in ([], ["INIT pkey_index=0 port_num=1 qp_access_flags=0"]):
        lab = lab_of("reset A.qp0", *[f"modify_qp A.qp0 state={state}" for state in down])
        replies = lab.do("to_rts A.qp0 B.qp0")
        assert len(replies) == 4 - len(down)
        assert lab.look("A.qp0.state == RTS")


@pytest.mark.parametrize("state", ["RTS", "ERR"])
def test_there_is_no_way_up_from_above(state: str) -> None:
    lab = lab_of() if state == "RTS" else lab_of("modify_qp A.qp0 state=ERR")
    error = misread(lab, "to_rts A.qp0 B.qp0")
    assert error.message == f"A.qp0 is in {state}; to_rts starts below RTS"
    assert error.hint == "modify_qp A.qp0 state=RESET"


def test_a_queue_pair_may_talk_to_itself() -> None:
    lab = lab_of("reset A.qp0", "reset B.qp0", "to_rts A.qp0 A.qp0")
    well(lab, "post_recv A.qp0 sg=A.mr0[64:128]")
    well(lab, 'write A.mr0[0:4] "echo"')
    well(lab, SEND)
    trip(lab, "run")
    assert well(lab, "read A.mr0[64:68]").value == b"echo"


def test_reset_empties_the_queues_without_completions() -> None:
    lab = lab_of(RECV, SEND, "reset A.qp0", "reset B.qp0", "run")
    assert lab.look("A.qp0.state == RESET")
    assert lab.look("A.cq0.count") == lab.look("B.cq0.count") == 0
    assert lab.look("B.qp0.rq.used") == 0


def test_an_option_that_the_device_refuses_is_refused_by_the_verb() -> None:
    lab = Lab()
    assert refusal(lab, "use rc_pair max_send_wr=99999999").rule == "qp-cap"
    assert lab.all_replies[-1].invocation is not None
    assert lab.all_replies[-1].invocation.name == "create_qp"


def test_using_it_twice_takes_the_next_number() -> None:
    lab = lab_of("alloc_pd B.pd1")
    well(lab, "use ud_pair")
    assert {"A.pd2", "B.pd2", "B.cq2", "A.qp2", "A.ah2", "B.mr2"} <= set(lab.session.names.all())
    assert "A.pd1" not in lab.session.names.all()
    well(lab, "post_recv B.qp2 sg=B.mr2[0:64]")
    target = "ah=A.ah2 remote_qpn=B.qp2 remote_qkey=0x11111111"
    well(lab, f"post_send A.qp2 opcode=SEND sg=A.mr2[0:8] {target}")
    trip(lab, "run")
    assert lab.look("B.cq2.next.status == SUCCESS")


def test_an_srq_pair_shares_one_queue_between_two_connections() -> None:
    lab = Lab()
    well(lab, "use srq_pair max_recv_wr=4")
    assert lab.look("B.srq0.capacity == 4")
    assert lab.look("B.srq0.users == 2")
    assert [lab.look(f"A.qp{n}.srq") for n in (0, 1)] == ["", ""]
    for wr_id in (1, 2):
        well(lab, f"post_srq_recv B.srq0 wr_id={wr_id} sg=B.mr0[0:64]")
    for qp in ("A.qp1", "A.qp0"):
        well(lab, f"post_send {qp} opcode=SEND sg=A.mr0[0:8]")
        trip(lab, "run")
    assert [lab.look(f"B.srq0.recv_wr[{n}].qp") for n in (1, 2)] == ["B.qp1", "B.qp0"]


def test_an_xrc_pair_names_the_queue_in_the_message() -> None:
    lab = Lab()
    well(lab, "use xrc_pair channel=1")
    well(lab, "post_srq_recv B.srq0 wr_id=5 sg=B.mr0[0:64]")
    well(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] remote_srqn=B.srq0")
    trip(lab, "run")
    assert lab.look("B.srq0.recv_wr[5].qp") == "B.qp0"
    assert lab.look("B.cq0.next.status == SUCCESS")
    assert lab.look("B.cq0.channel") == "B.ch0"


def test_a_pair_goes_between_the_first_two_of_three() -> None:
    lab = Lab(dict.fromkeys(("X", "Y", "Z"), "strict"))
    well(lab, "use rc_pair")
    assert set(lab.session.names.all()) >= {"X.qp0", "Y.qp0", "Z"}
    assert "Z.qp0" not in lab.session.names.all()
