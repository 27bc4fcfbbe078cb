"""lib.py beyond what the recorded experiments need of it: a program of the same kind."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.outcomes import LIB, PROBE, frames

_PROGRAM = PROBE.with_name("tools_of_linux.py")
_ALL = [[number, "SUCCESS"] for number in range(10, 14)]
_GONE = [[12, "RETRY_EXC_ERR"], [13, "WR_FLUSH_ERR"]]
EXPECTED: dict[str, Any] = {
    "every_third": [_ALL, 4, ""],
    "over_quota": [_ALL[:2] + _GONE, 2, ""],
    "accepted_first": [_ALL[:2] + _GONE, 2, ""],
    "unknown_rule": "nft: not emulated: ct",
    "slow": [_ALL, 4, "tc: not emulated: qdisc add dev v0 root tbf"],
    "lossy": [_ALL, 4, ""],
    "reordered": [_ALL, 4, ""],
    "unplugged": [[[10, "RETRY_EXC_ERR"]], 0, ""],
    "waits_on_a_descriptor": [3, True, True],
}


@cache
def _found(place: Path) -> dict[str, Any]:
    for file in (LIB, _PROGRAM):
        shutil.copy(file, place)
    program = place / _PROGRAM.name
    names = [*EXPECTED, "waits_for_ever", "crashes", "fails"]
    subprocess.run(
        [sys.executable, "-m", "rdmalab", "python", "--profile", "rxe", str(program), *names],
        env={**os.environ, "OUT": str(place / "out")}, cwd=LIB.parents[2], check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads((place / "out" / "found.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lib")


@pytest.mark.parametrize("name", EXPECTED)
def test_an_experiment_gets_the_results_of_the_lab(place: Path, name: str) -> None:
    assert _found(place)[name] == {"ok": EXPECTED[name]}


def test_a_capture_has_both_directions(place: Path) -> None:
    assert _found(place)["plain"] == {"ok": [_ALL, 4, ""]}
    assert len(list(frames(place / "out" / "plain.pcap"))) == 8


def test_timeout_crash_and_exception_of_an_experiment(place: Path) -> None:
    found = _found(place)
    assert found["waits_for_ever"] == {"exception": "timeout after 20s"}
    assert found["crashes"] == {"crash": "SIGSEGV"}
    assert found["fails"]["exception"] == "KeyError: 'x'"
    assert "raise KeyError" in found["fails"]["trace"]
