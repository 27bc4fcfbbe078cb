"""The attributes of a queue pair, against the table they are judged by."""

from typing import get_type_hints

import pytest

from rdmalab.command import Noun, RefShorthand, Thing
from rdmalab.hca.ah import AH, ah_attr_of
from rdmalab.hca.attributes import FIELDS, AhAttr, Capacity, QpAttr, initial, mask_of
from rdmalab.spec.states import ATTRIBUTES, Attr, QPState
from rdmalab.world.world import World


def test_qp_attr_fields_are_those_of_the_table() -> None:
    assert set(FIELDS) == set(ATTRIBUTES)


def test_a_qp_attr_that_is_not_set_is_not_in_the_mask() -> None:
    assert QpAttr().given() == {}
    assert QpAttr(qp_state=QPState.RESET, sq_psn=0).given() == {"qp_state": 0, "sq_psn": 0}


def test_the_mask_follows_from_the_fields() -> None:
    assert mask_of([]) == Attr(0)
    assert mask_of(["qp_state", "ah_attr"]) == Attr.STATE | Attr.AV
    alternate = ["alt_ah_attr", "alt_pkey_index", "alt_port_num", "alt_timeout"]
    assert {mask_of([name]) for name in alternate} == {Attr.ALT_PATH}


def test_a_new_qp_shows_the_defaults() -> None:
    attr = initial()
    assert attr.ah_attr == AhAttr(port_num=0)
    for name in FIELDS:
        if name not in ("ah_attr", "alt_ah_attr", "cap", "cur_qp_state"):
            assert getattr(attr, name) == ATTRIBUTES[name].default, name
    assert initial().ah_attr is not attr.ah_attr


def test_a_node_is_a_short_form_of_its_address() -> None:
    world = World()
    made = AH.convert(world, Thing(Noun.NODE, "B", 0), None, None)
    assert made == {"ah_attr": ah_attr_of(world.nodes["B"])}
    assert made["ah_attr"].dgid == 0xFFFF0A000002


def test_a_qp_is_a_short_form_of_its_number() -> None:
    (short,) = get_type_hints(QpAttr, include_extras=True)["dest_qp_num"].__metadata__
    assert isinstance(short, RefShorthand)
    assert short.convert(World(), Thing(Noun.QP, "B", 0x2A), None, None) == 0x2A


@pytest.mark.parametrize(
    ("sges", "inline", "wqe"),
    [(0, 0, 64), (2, 0, 64), (3, 0, 128), (0, 28, 64), (0, 29, 128), (6, 92, 128), (6, 93, 192)],
)
def test_max_send_wr_is_rounded_to_whole_blocks(sges: int, inline: int, wqe: int) -> None:
    cap = Capacity(10, 20, sges, 8, inline)
    assert (cap.wqe_bytes, cap.sq_bytes) == (wqe, 10 * wqe)
