"""What each move of modify_qp needs, one attribute after the other left out."""

import pytest

from tests.covers import covers
from tests.labs import lab_of, refusal, well

_UP = {
    "INIT": "pkey_index=0 port_num=1 qp_access_flags=0",
    "RTR": "path_mtu=512 dest_qp_num=B.qp0 ah=B rq_psn=0 max_dest_rd_atomic=1 min_rnr_timer=12",
    "RTS": "timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
}
_PATH = "alt_ah_attr.is_global=1 alt_pkey_index=0 alt_port_num=1 alt_timeout=14"


def _refused_without(state: str, name: str) -> None:
    """The move without the attribute is refused and names it; with it, it is carried out."""
    lab = lab_of("reset A.qp0")
    for before in list(_UP)[: list(_UP).index(state)]:
        well(lab, f"modify_qp A.qp0 state={before} {_UP[before]}")
    given = [word for word in _UP[state].split() if word.partition("=")[0] != name]
    refused = refusal(lab, f"modify_qp A.qp0 state={state} {' '.join(given)}")
    text = "ah_attr" if name == "ah" else name
    assert (refused.rule, refused.errno) == ("attr-missing", 22)
    assert text in refused.message.split()
    well(lab, f"modify_qp A.qp0 state={state} {_UP[state]}")
    assert lab.look("A.qp0.state").name == state


@pytest.mark.parametrize("name", ["path_mtu", "ah", "dest_qp_num", "rq_psn", "max_dest_rd_atomic"])
@covers("S239", "S241", "S242", "S243", "S244")
def test_rtr_needs(name: str) -> None:
    _refused_without("RTR", name)


@covers("S245")
def test_rtr_needs_min_rnr_timer() -> None:
    _refused_without("RTR", "min_rnr_timer")


@pytest.mark.parametrize("name", ["timeout", "retry_cnt", "rnr_retry", "sq_psn", "max_rd_atomic"])
@covers("S251", "S252", "S253", "S254", "S255")
def test_rts_needs(name: str) -> None:
    _refused_without("RTS", name)


@covers("S220", "S228")
def test_modify_qp_skips_no_state_even_with_all_attributes() -> None:
    lab = lab_of("reset A.qp0")
    for state in ("RTR", "RTS"):
        refused = refusal(lab, f"modify_qp A.qp0 state={state} {_UP[state]}")
        assert refused.rule == "transition"
    well(lab, f"modify_qp A.qp0 state=INIT {_UP['INIT']}")
    assert refusal(lab, f"modify_qp A.qp0 state=RTS {_UP['RTS']}").rule == "transition"


@covers("S247", "S257")
def test_alt_path_is_taken_by_the_transition_and_refused_by_a_roce_port() -> None:
    lab = lab_of("reset A.qp0", f"modify_qp A.qp0 state=INIT {_UP['INIT']}")
    for state in ("RTR", "RTS"):
        refused = refusal(lab, f"modify_qp A.qp0 state={state} {_UP[state]} {_PATH}")
        assert refused.rule == "alt-path"
        well(lab, f"modify_qp A.qp0 state={state} {_UP[state]}")


# ibv_modify_qp(3): the bits of attr_mask, and the fields that each stands for.
_BITS = {
    "STATE": (0, "qp_state"),
    "CUR_STATE": (1, "cur_qp_state"),
    "EN_SQD_ASYNC_NOTIFY": (2, "en_sqd_async_notify"),
    "ACCESS_FLAGS": (3, "qp_access_flags"),
    "PKEY_INDEX": (4, "pkey_index"),
    "PORT": (5, "port_num"),
    "QKEY": (6, "qkey"),
    "AV": (7, "ah_attr"),
    "PATH_MTU": (8, "path_mtu"),
    "TIMEOUT": (9, "timeout"),
    "RETRY_CNT": (10, "retry_cnt"),
    "RNR_RETRY": (11, "rnr_retry"),
    "RQ_PSN": (12, "rq_psn"),
    "MAX_QP_RD_ATOMIC": (13, "max_rd_atomic"),
    "ALT_PATH": (14, "alt_ah_attr alt_pkey_index alt_port_num alt_timeout"),
    "MIN_RNR_TIMER": (15, "min_rnr_timer"),
    "SQ_PSN": (16, "sq_psn"),
    "MAX_DEST_RD_ATOMIC": (17, "max_dest_rd_atomic"),
    "PATH_MIG_STATE": (18, "path_mig_state"),
    "CAP": (19, "cap"),
    "DEST_QPN": (20, "dest_qp_num"),
    "RATE_LIMIT": (25, "rate_limit"),
}


@pytest.mark.parametrize("name", _BITS)
@covers("S230")
def test_modify_qp_knows_each_bit_of_the_mask_by_name_and_by_number(name: str) -> None:
    bit, fields = _BITS[name]
    lab = lab_of()
    for mask in (name, f"IBV_QP_{name}", hex(1 << bit)):
        refused = refusal(lab, f"modify_qp A.qp0 attr_mask={mask}")
        assert refused.message == f"attr_mask has {fields}, but no such field was given"


@covers("S230")
def test_modify_qp_has_no_other_bit_in_its_mask() -> None:
    known = sum(1 << bit for bit, _ in _BITS.values())
    for bit in range(32):
        if not known >> bit & 1:
            refused = refusal(lab_of(), f"modify_qp A.qp0 attr_mask={1 << bit:#x}")
            assert refused.message.startswith(f"mask bits {1 << bit:#x} may not be given")
