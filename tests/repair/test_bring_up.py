"""The way of one queue pair up to RTS, whatever stands at the other end."""

import pytest

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from rdmalab.repair.bring_up import lines_to_rts, partner
from rdmalab.world.relations import find_qp
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well


def qp_of(lab: Lab, name: str = "A.qp0") -> tuple[Case, QueuePair]:
    thing = lab.session.names.find(name)
    assert thing is not None
    assert thing.noun is Noun.QP
    found = find_qp(lab.session.world, thing.node, thing.number)
    assert found is not None
    return case_of(lab, name), found


def brought_up(lab: Lab, *then: str) -> Lab:
    for line in (*lines_to_rts(*qp_of(lab)), *then):
        well(lab, line)
    return lab


@pytest.mark.parametrize(
    "before",
    [
        ["reset A.qp0"],
        ["reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"],
        ["reset A.qp0", "reset B.qp0"],
        ["reset A.qp0", "modify_qp B.qp0 state=ERR"],
        ["reset A.qp0", "reset B.qp0", "to_rts B.qp0 A.qp0 psn=9"],
    ],
)
@pytest.mark.parametrize("pair", ["use rc_pair psn=5 mtu=1024", "use uc_pair", "use rc_pair"])
def test_it_comes_up_and_messages_come_through(pair: str, before: list[str]) -> None:
    lab = brought_up(lab_of(*before, pair=pair), RECV, SEND, "run")
    assert lab.look("A.qp0.state == RTS")
    assert lab.look("B.cq0.last.status == SUCCESS")


def test_lines_to_rts_leave_out_defaults() -> None:
    assert lines_to_rts(*qp_of(lab_of("reset A.qp0"))) == ["to_rts A.qp0 B.qp0"]
    (line,) = lines_to_rts(*qp_of(lab_of("reset A.qp0", pair="use rc_pair mtu=1024 timeout=9")))
    assert line == "to_rts A.qp0 B.qp0 path_mtu=1024 timeout=9"


def test_lines_to_rts_from_rtr() -> None:
    to_rtr = ("reset B.qp0", "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
              "modify_qp B.qp0 state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn=0 "
              "max_dest_rd_atomic=1 min_rnr_timer=12 ah=A", RECV, SEND, "run")  # fmt: skip
    lab = lab_of(*to_rtr)
    assert lines_to_rts(*qp_of(lab, "B.qp0")) == ["to_rts B.qp0 A.qp0"]


def test_two_that_moved_apart_cannot_be_joined_from_one_side() -> None:
    assert lines_to_rts(*qp_of(lab_of(RECV, SEND, "run", "reset B.qp0"), "B.qp0")) == []


def test_who_can_send_already_needs_nothing() -> None:
    assert lines_to_rts(*qp_of(lab_of())) == []


def partner_in(lab: Lab, name: str) -> QueuePair | None:
    case, qp = qp_of(lab, name)
    return partner(case.world, qp)


def test_a_new_queue_pair_belongs_to_the_only_one_that_is_left() -> None:
    made = [
        f"create_qp {n}.new pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0" for n in "AB"
    ]
    lab = lab_of(*made)
    found = partner_in(lab, "A.new")
    assert found is qp_of(lab, "B.new")[1]
    well(lab, made[1].replace("B.new", "B.third"))
    assert partner_in(lab, "A.new") is None


def test_another_service_is_no_partner() -> None:
    lab = lab_of("create_qp A.new pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
                 "create_qp B.new pd=B.pd0 qp_type=UC send_cq=B.cq0 recv_cq=B.cq0")  # fmt: skip
    assert partner_in(lab, "A.new") is None


def test_lines_to_rts_of_ud_need_only_a_qkey() -> None:
    lab = brought_up(lab_of("reset A.qp0", pair="use ud_pair"))
    assert lab.look("A.qp0.state == RTS")
    assert lab.look("A.qp0.qkey == B.qp0.qkey")
