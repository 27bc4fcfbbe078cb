"""Requests that were refused, said so that they would not be."""

from rdmalab.command import Ref
from rdmalab.repair.corrected_requests import corrected
from rdmalab.spec.work import SendFlags


def piece(start: int | None, stop: int | None, name: str = "mr0") -> Ref:
    return Ref("A", name, start, stop)


def test_adjacent_sges_join() -> None:
    wr = {"wr_id": 1, "sg": [piece(0, 4), piece(4, 8), piece(16, 20), piece(20, None)]}
    assert corrected(wr, "send-sges") == {"wr_id": 1, "sg": [piece(0, 8), piece(16, None)]}


def test_pieces_of_two_regions_and_pieces_apart_do_not() -> None:
    assert (
        corrected({"sg": [piece(0, 4), piece(4, 8, "mr1"), piece(9, 10, "mr1")]}, "recv-sges")
        is None
    )
    assert corrected({"sg": [piece(0, None), piece(4, 8)]}, "recv-sges") is None
    assert corrected({}, "recv-sges") is None


def test_adjacent_sges_join_only_with_one_lkey() -> None:
    one, two = {"addr": 10, "length": 5, "lkey": 7}, {"addr": 15, "length": 1, "lkey": 7}
    assert corrected({"sg": [one, two]}, "srq-sges") == {
        "sg": [{"addr": 10, "length": 6, "lkey": 7}]
    }
    assert corrected({"sg": [one, two | {"lkey": 8}]}, "srq-sges") is None
    assert corrected({"sg": [one, piece(0, 1)]}, "srq-sges") is None


def test_a_flag_that_does_not_fit_goes() -> None:
    flags = int(SendFlags.INLINE | SendFlags.SIGNALED)
    assert corrected({"flags": flags}, "inline-opcode") == {"flags": 2}
    assert corrected({"flags": 2}, "inline-opcode") is None


def test_corrected_is_none_for_an_unknown_opcode() -> None:
    assert corrected({"opcode": 99}, "opcode-unknown") is None
