"""The usual values are legal, and are written as `modify_qp` takes them."""

from rdmalab.spec.states import ATTRIBUTES
from rdmalab.spec.usual import USUAL, usual_word


def test_they_lie_in_their_ranges() -> None:
    for name, value in USUAL.items():
        assert ATTRIBUTES[name].low <= value <= (ATTRIBUTES[name].high or value), name


def test_words_are_those_of_modify_qp() -> None:
    words = [usual_word(name) for name in ("path_mtu", "qp_access_flags", "qkey", "timeout", "cap")]
    assert words == ["512", "REMOTE_WRITE", "0x11111111", "14", ""]
