"""create_qp_ex and qp_to_qp_ex: what a program says, and the mask that follows from it."""

from rdmalab.command import Noun, Thing
from rdmalab.spec.builders import InitMask
from rdmalab.spec.states import QPType
from rdmalab.spec.work import SendOps
from rdmalab.verbs.qp_ex import QpInitAttrEx
from tests.extended import extended_lab
from tests.labs import refusal, well

_CQ, _PD = Thing(Noun.CQ, "A", 1), Thing(Noun.PD, "A", 1)


def test_the_mask_is_made_of_what_is_given() -> None:
    plain = QpInitAttrEx(QPType.RC, _CQ, _CQ)
    assert plain.mask() == 0
    plain.pd = _PD
    assert plain.mask() == InitMask.PD
    plain.send_ops_flags = SendOps(0)
    assert plain.mask() == InitMask.PD | InitMask.SEND_OPS_FLAGS
    plain.comp_mask = InitMask.XRCD
    assert plain.mask() == InitMask.XRCD


def test_it_is_a_queue_pair_like_any_other() -> None:
    lab = extended_lab()
    well(lab, "post_send A.qx0 opcode=SEND")
    asked = ("A.qx0.sq.capacity", "A.qx0.sq.used", "A.qx0.state")
    assert [lab.look(question) for question in asked][:2] == [8, 1]
    well(lab, "destroy_qp A.qx0")
    assert refusal(lab, "wr_start A.qx0").rule == "use-after-destroy"


def test_parts_live_on_one_host() -> None:
    lab = extended_lab()
    line = "create_qp_ex A.qx1 pd=B.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    assert refusal(lab, line).rule == "other-node"


def test_what_create_qp_refuses_this_refuses_too() -> None:
    lab = extended_lab()
    line = "create_qp_ex A.qx1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    assert refusal(lab, f"{line} max_inline_data=4096").rule == "qp-cap"
    assert refusal(lab, f"{line.replace('=RC', '=77')}").rule == "qp-type-unknown"


def test_the_extended_face() -> None:
    lab = extended_lab("qp_to_qp_ex A.qx0")
    assert refusal(lab, "qp_to_qp_ex A.qp0").rule == "no-qp-ex"
