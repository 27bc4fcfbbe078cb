"""A refused modify_qp, its law, and the lines that are right instead."""

import pytest

from rdmalab.doctor.checks.objects import modify_call_of
from rdmalab.lab import Lab
from rdmalab.repair.modify import ModifyCall, legal_lines, rule_text
from rdmalab.spec.states import QPState
from tests.doctor.asking import case_of
from tests.labs import lab_of

_INIT = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_READ"
_RTR = ("modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 "
        "min_rnr_timer=12 ah=B")  # fmt: skip


def refused(line: str, *before: str) -> Lab:
    lab = lab_of("reset A.qp0", *before)
    assert lab.do(line)[-1].refusal is not None
    return lab


def call_of(lab: Lab) -> ModifyCall:
    case = case_of(lab, "EINVAL")
    assert case.call is not None
    call = modify_call_of(case, case.call)
    assert call is not None
    return call


def lines(lab: Lab) -> list[str]:
    return legal_lines(lab.session, call_of(lab))


def test_the_state_that_it_was_in_is_found() -> None:
    lab = refused("modify_qp A.qp0 state=SQD", _INIT)
    lab.do("reset A.qp0")
    asked = call_of(lab)
    assert (asked.now, asked.to, asked.given) == (QPState.INIT, QPState.SQD, {})


@pytest.mark.parametrize(
    ("line", "before", "right"),
    [
        (f"{_INIT} timeout=14", (), [_INIT]),
        (_INIT.replace("REMOTE_READ", "REMOTE_READ|0x1000000"), (), [_INIT]),
        (_RTR.replace("timer=12", "timer=99"), (_INIT,), [_RTR.replace("timer=12", "timer=31")]),
        (_RTR.replace("ah=B", "ah_attr={is_global=1 dgid=10.0.0.2 sgid_index=1 hop_limit=64 "
                      "port_num=3}"), (_INIT,), [_RTR]),
        (f"{_RTR} cur_qp_state=RTS", (_INIT,), [_RTR]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_put_right_and_all_else_is_kept(
    line: str, before: tuple[str, ...], right: list[str]
) -> None:
    (found,) = lines(refused(line, *before))
    assert set(found.split()) == set(right[0].split())


def test_where_there_is_no_direct_way_the_states_between_are_walked() -> None:
    found = lines(refused("modify_qp A.qp0 state=RTS sq_psn=0", _INIT))
    assert [line.split()[2] for line in found] == ["state=RTR", "state=RTS"]
    assert "dest_qp_num=B.qp0" in found[0]


def test_no_modify_lines_for_an_unknown_peer_or_state() -> None:
    lab = lab_of("create_qp A.qp1 qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0")
    lab.do("modify_qp A.qp1 state=RTS")
    assert lines(lab) == []
    assert lines(refused("modify_qp A.qp0 state=99")) == []


def test_the_law_is_that_of_the_rule() -> None:
    lab = refused(_RTR.replace("timer=12", "timer=99"), _INIT)
    call, profile = call_of(lab), lab.session.world.nodes["A"].profile
    assert rule_text(profile, call, "attr-range") == ["min_rnr_timer takes 0..31"]
    ways = "from INIT there is a way to RESET, INIT, RTR, ERR"
    assert rule_text(profile, call, "transition") == [ways]
