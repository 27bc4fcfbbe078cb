"""Beside each outcome of Soft-RoCE the one of `strict`, with its reason: wc_outcomes_strict.txt.

RDMALAB_UPDATE=1 rewrites the table, for a person to read the diff.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.beside import cells_in
from tests.oracle.outcomes import CAPTURED, RECORDED, Outcome
from tests.oracle.outcomes_beside import answer_of, completion

_TABLE = Path(__file__).parent / "wc_outcomes_strict.txt"
_HEAD = """\
# What comes of the experiments of wc_outcomes.py on strict where it is not what comes of them on
# Soft-RoCE: rxe -> strict.
#     rule   what only strict refuses by, or with another errno
#     cell   what, taken over from strict, gives the same on rxe
# Left out: opcode, flags and byte_len of failed requests; everywhere byte_len of sends (cell
# send_byte_len), vendor_err (vendor_errors) and the GRH flag of receives (grh_flag_on_rc).
# Packets: opcode at PSN (syndrome, MSN).
"""


@cache
def _found() -> Any:
    update = os.environ.get("RDMALAB_UPDATE")
    written = None if update else cells_in(_TABLE.read_text("utf-8").removeprefix(_HEAD).strip())
    ran = subprocess.run(
        [sys.executable, "-m", "tests.oracle.outcomes_beside"],
        input=json.dumps(written), capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return json.loads(ran.stdout)


def test_the_table_is_as_written() -> None:
    table = "\n".join([_HEAD, "\n\n".join(_found()["paragraphs"]), ""])
    if os.environ.get("RDMALAB_UPDATE"):
        _TABLE.write_text(table, "utf-8")
    assert table == _TABLE.read_text("utf-8"), "RDMALAB_UPDATE=1 rewrites it: look at the diff"


def test_every_difference_is_made_by_the_cells_beside_it() -> None:
    assert _found()["complaints"] == []
    cells = cells_in(_TABLE.read_text("utf-8").removeprefix(_HEAD).strip())
    assert all(cells.values())
    assert set(cells) <= set(RECORDED)


@pytest.mark.parametrize(
    ("name", "queue", "text"),
    [("rc_send_32", "B.recv", "1 SUCCESS RECV 32"), ("rc_send_32", "A.send", "2 SUCCESS SEND"),
     ("rc_write_bad_rkey", "A.send", "2 REM_ACCESS_ERR"),
     ("rc_write_imm_0", "B.recv", "1 SUCCESS RECV_RDMA_WITH_IMM 0 WITH_IMM 0x00000005")],
)  # fmt: skip
def test_what_is_compared_of_a_completion(name: str, queue: str, text: str) -> None:
    assert completion(RECORDED[name]["wc"][queue][0]) == text


def test_what_is_compared_of_an_experiment() -> None:
    name = "rc_send_32"
    assert answer_of(Outcome(RECORDED[name], CAPTURED[name])) == {
        "wc A.send": "2 SUCCESS SEND", "wc A.recv": "nothing", "wc B.send": "nothing",
        "wc B.recv": "1 SUCCESS RECV 32", "calls[0].rc": "0", "calls[1].rc": "0",
        "state.A": "RTS", "state.B": "RTS", "async.A": "-", "async.B": "-",
        "memory.recv_buffer": "equal",
        "packets of A": "4 at 0x200", "packets of B": "17 at 0x200 (31, 1)",
    }  # fmt: skip


# --------------------------------------------------------------------------- rxe_deviations.json
_SECTION = "wc_outcomes/"
# Where what is expected of others is what Soft-RoCE does too, or is left out of the table.
_FOLLOWED = {
    "rc_send_sge_beyond_mr": "LOC_PROT_ERR is expected, and was recorded",
    "rc_bind_mw_mr_without_mw_bind_right": "MW_BIND_ERR is expected, and was recorded",
    "rc_bind_mw_twice_without_inv": "MW_BIND_ERR is expected, and was recorded",
    "rc_send_with_inv_bad_rkey": "IBA class J: the message is acknowledged, the receive fails",
    "rc_peer_err": "silence is expected, and was recorded",
    "rc_read_own_max_rd_atomic_0": "a READ that may never begin waits; nothing says otherwise",
}


def _named() -> list[str]:
    """Experiments of deviations that were recorded here."""
    path = Path(__file__).parents[1] / "data" / "rxe_deviations.json"
    rows = json.loads(path.read_text("utf-8"))["deviations"]
    places = [row["where"] for row in rows if row["where"].startswith(_SECTION)]
    words = " ".join(places).replace(_SECTION, " ").replace(",", " ").split()
    return [word for word in words if word in RECORDED]


@pytest.mark.parametrize("name", _named())
def test_strict_does_not_follow(name: str) -> None:
    cells = cells_in(_TABLE.read_text("utf-8").removeprefix(_HEAD).strip())
    assert (name in cells) != (name in _FOLLOWED)


def test_each_exception_is_for_a_deviation() -> None:
    assert set(_FOLLOWED) <= set(_named())
