"""Hand-written sentences: every member of what they are about has one, and none is left over."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from rdmalab.guide import notes
from rdmalab.guide.devices import CELL_NAMES
from rdmalab.guide.reasons import errnos
from rdmalab.spec.limits import AtomicCap, PortState
from rdmalab.spec.opcodes import Op
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import ATTRIBUTES, MigState, QPType
from rdmalab.spec.work import SendFlags, WCFlags, WCOpcode, WROpcode

COVERED: list[tuple[Mapping[Any, Any], Iterable[Any]]] = [
    (notes.QP_TYPES, QPType),
    (notes.MIG_STATES, MigState),
    (notes.WORK, WROpcode),
    (notes.SEND_FLAGS, SendFlags),
    (notes.WC_OPCODES, WCOpcode),
    (notes.WC_FLAGS, WCFlags),
    (notes.SYNDROMES, Syndrome),
    (notes.OPS, Op),
    (notes.PORT_STATES, PortState),
    (notes.ATOMIC_CAPS, AtomicCap),
    (notes.ERRNOS, errnos()),
    (notes.PROFILES, PROFILES),
    (notes.CELLS, CELL_NAMES),
]


@pytest.mark.parametrize(("sentences", "members"), COVERED)
def test_every_member_has_its_sentence(
    sentences: Mapping[Any, Any], members: Iterable[Any]
) -> None:
    assert set(sentences) == set(members)
    assert all(sentences.values())


def test_notes_on_attributes_are_about_attributes() -> None:
    assert set(notes.ATTRIBUTES) <= set(ATTRIBUTES)
