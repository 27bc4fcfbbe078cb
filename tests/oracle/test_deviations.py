"""Where Soft-RoCE should not be followed, strict does not: rxe_deviations.json, as far as it is
about posting.

What is expected there was not measured; where strict does something else, the reason stands here.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdmalab.spec.profiles import STRICT
from tests.oracle.entries import ENTRIES, Entry

_FILE = Path(__file__).parents[1] / "data" / "rxe_deviations.json"
_SECTION = "post_errno/"
DEVIATIONS: dict[str, dict[str, str]] = {
    row["where"].removeprefix(_SECTION): row
    for row in json.loads(_FILE.read_text("utf-8"))["deviations"]
    if row["where"].startswith(_SECTION)
}

# What strict does where rxe has not even the operation.
_DOES = {"RC LOCAL_INV", "UC LOCAL_INV", "RC FLUSH", "RC ATOMIC_WRITE"}

# What the documents list for the type, and no packet carries.
_LISTED = "UC SEND_WITH_INV"


def _strict(section: str, key: str) -> Any:
    return Entry(section, key).asked(STRICT)[0]


def _keys(section: str) -> list[str]:
    return [entry.key for entry in ENTRIES if entry.section == section]


def unsupported_opcodes() -> None:
    """Expected: EINVAL from post_send, or else LOC_QP_OP_ERR."""
    for key in _keys("opcode_by_type"):
        failed = Entry("opcode_by_type", key).recorded()["state"][0] == "ERR"
        if failed and key not in _DOES:
            answer = _strict("opcode_by_type", key)
            if key == _LISTED:
                assert answer["rc"] == 0
                assert [row[1] for row in answer["wc"]["A.send"]] == ["LOC_QP_OP_ERR"]
            else:
                assert answer["rc"] in ("EINVAL", "ENOTSUP"), key


def early_posts() -> None:
    """Expected: EINVAL and nothing queued."""
    for qp_type in ("RC", "UC", "UD"):
        for state in ("RESET", "INIT", "RTR"):
            answer = _strict("by_type_and_state", f"{qp_type} {state}")
            assert answer["post_send"] == "EINVAL"
            assert [row[0] for row in answer["wc_after_another_post"]["A.send"]] == [7]


def setter_alone() -> None:
    """Expected: the setter makes it inline."""
    assert _strict("qpex", "inline_ok")["wc"]["A.send"][0][1] == "SUCCESS"


def sums_of_lengths() -> None:
    """Expected: 10 and 20 are 30."""
    for key in ("inline_list", "sge_list"):
        assert _strict("qpex", key)["wc"]["B.recv"][0][3] == 30


def unknown_flags() -> None:
    """Expected: EINVAL."""
    for key in ("send_flags 0x80", "send_flags 0x10"):
        assert _strict("bad_input_rc_rts", key)["rc"] == "EINVAL"


def depths() -> None:
    """Expected: what was granted, then ENOMEM."""
    for key in _keys("queue_full"):
        answer = _strict("queue_full", key)
        granted = answer["query_max_wr"] if "srq" in key else answer["query_cap"]["recv" in key]
        assert (answer["accepted"], answer["then"]) == (granted, "ENOMEM")


def address_handle_gone() -> None:
    """Expected (medium): the address was copied. Ours: an AH must outlive the WR that names it, as
    the documents say; so that the mistake shows, it is read when the WR runs (cell
    ah_read_at_post, which mlx5 has)."""
    answer = _strict("ud", "AH destroyed while the WR is queued")
    assert answer["wc"]["A.send"][0][:2] == [2, "LOC_QP_OP_ERR"]


def no_address_handle() -> None:
    """Expected: EINVAL."""
    assert _strict("ud", "send without AH")["rc"] == "EINVAL"


def builder_not_asked_for() -> None:
    """Expected: a diagnosis."""
    assert _strict("qpex", "missing_op")["wr_complete"] == "EINVAL"


CHECKS: dict[str, Callable[[], None]] = {
    "opcode_by_type": unsupported_opcodes,
    "by_type_and_state": early_posts,
    "qpex inline_ok": setter_alone,
    "qpex inline_list, sge_list": sums_of_lengths,
    "bad_input send_flags": unknown_flags,
    "queue_full": depths,
    "ud AH destroyed while the WR is queued": address_handle_gone,
    "ud": no_address_handle,
    "qpex missing_op": builder_not_asked_for,
}


@pytest.mark.parametrize("where", DEVIATIONS)
def test_strict_does_not_follow(where: str) -> None:
    CHECKS[where]()


def test_every_check_is_for_a_deviation() -> None:
    assert set(CHECKS) == set(DEVIATIONS)
