"""`rdmalab sweep`: tables, plots, exit codes, ^C and kill -9 in the middle."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rdmalab.cli import main

ROOT = Path(__file__).parents[2]
FILE = """\
rdmalab: 1
title: how long a SEND takes
params:
  latency: {default: 1us}
  bytes: {default: 64}
  slow: {default: 1}
link: {latency: "${latency}"}
setup:
  - use rc_pair
  - post_recv B.qp0 sg=B.mr0[0:4096]
programs:
  A.slow: |
    loop ${slow}
    sleep 1us
    end
steps:
  - post_send A.qp0 opcode=SEND sg=A.mr0[0:${bytes}] flags=SIGNALED
  - run: until A.cq0.count == 1 and A.slow.state == DONE
    within: 1s
    expect: ["A.cq0.last.status == SUCCESS"]
"""
OVER = ("--over", "latency=1us,10us", "--over", "bytes=64,4096")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.rdmalab.yaml").write_text(FILE)
    return tmp_path


def swept(*arguments: str) -> int:
    return main(["sweep", "x.rdmalab.yaml", *arguments])


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_table_and_both_plots(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*OVER, "--measure", "latency.p50,sent=wire.count(from=A)", "--repeat", "2")
    assert swept(*arguments, "-o", "t.csv", "--svg", "t.svg", "--plot", "--ascii") == 0
    table = rows((folder / "t.csv").read_text())
    assert [(row["latency"], row["bytes"], row["seed"]) for row in table] == [
        (latency, size, seed)
        for latency in ("1us", "10us") for size in ("64", "4096") for seed in "01"
    ]  # fmt: skip
    assert int(table[4]["latency.p50"]) == int(table[0]["latency.p50"]) + 18_000
    assert [row["sent"] for row in table[::4]] == ["1", "1"]
    out = capsys.readouterr()
    assert "how long a SEND takes" in out.out
    assert "b: + bytes=4096" in out.out
    assert "8 of 8 rows have numbers" in out.err
    drawing = (folder / "t.svg").read_bytes()
    assert not (folder / "t.csv.part").exists()
    assert swept(*arguments, "-o", "t.csv", "--svg", "t.svg", "--jobs", "1") == 0
    assert (folder / "t.svg").read_bytes() == drawing


@pytest.mark.parametrize("out", ["t.csv", "t.jsonl"])
def test_a_table_with_other_columns_is_refused_before_a_point_runs(
    folder: Path, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert swept("--over", "bytes=64", "-o", out) == 0
    before = (folder / out).read_bytes()
    capsys.readouterr()
    assert swept("--over", "latency=1us", "-o", out) == 2
    told = capsys.readouterr().err
    assert f"{out} has the columns bytes, seed, time, events, ended, error; this sweep " in told
    assert "rows have numbers" not in told
    assert (folder / out).read_bytes() == before
    assert swept("--over", "bytes=65", "-o", out) == 0


def test_json_lines_and_quantiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swept(*OVER, "--repeat", "3", "--measure", "p50(time)", "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == 4
    assert found[0]["seeds"] == 3
    assert swept("--set", "latency=2us", "--over", "bytes=64", "-o", "t.jsonl") == 0
    (row,) = map(json.loads, (folder / "t.jsonl").read_text().splitlines())
    assert (row["seed"], row["ended"]) == (0, "passed")
    assert 4_000 < row["time"] < 6_000


def test_a_run_that_did_not_end_is_an_error_row(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert swept("--over", "bytes=64,5000,0x", "--seed", "7", "-o", "t.csv") == 1
    good, failed, wrong = rows((folder / "t.csv").read_text())
    assert good["time"]
    assert (failed["time"], failed["ended"]) == ("", "failed")
    assert "A.cq0.last.status == SUCCESS" in failed["error"]
    assert (wrong["time"], wrong["ended"]) == ("", "error")
    assert "1 of 3 rows have numbers" in capsys.readouterr().err
    assert swept("--set", "slow=10000000", "--events", "500", "-o", "s.csv") == 1
    (cut,) = rows((folder / "s.csv").read_text())
    assert "stopped at the limit of 500 events" in cut["error"]
    assert cut["time"] == ""


def test_a_point_that_uses_up_its_time_is_cut(folder: Path) -> None:
    assert swept("--over", "slow=1,100000000", "--seconds", "1", "--events", "900000000",
                 "-o", "t.csv") == 1  # fmt: skip
    good, cut = rows((folder / "t.csv").read_text())
    assert good["ended"] == "passed"
    assert (cut["ended"], cut["time"]) == ("cut", "")
    limits = ("limit of 1 s of CPU time", "limit of 10 s of wall clock")  # that on a busy machine
    assert cut["error"] in limits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--over", "latncy=1us"), "did you mean latency?"),
        (("--over", "latency"), "a parameter without values"),
        (("--measure", "A.qp0."), "--measure A.qp0.: "),
        (("--over", "bytes=1", "--set", "bytes=2"), "--set bytes and --over bytes exclude"),
        (("--set", "bytes"), "write NAME=VALUE"),
        (("--repeat", "0"), "0 is not in the range"),
        (("--plot", "-o", "t.csv"), "a plot needs --over"),
        ((*OVER, "--svg", "t.svg", "--x", "byts"), "--x byts: no such name (did you mean bytes?)"),
        ((*OVER, "--plot", "--y", "z"), "--y z: no such name"),
        (("-o", "x.rdmalab.yaml"), "is not a table of a sweep"),
        (("-o", "none/t.csv"), "none/t.csv.part cannot be written"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = swept(*arguments)
    assert message in capsys.readouterr().err
    assert code == 2
    assert not Path("t.csv.part").exists()


def test_a_scenario_without_a_condition_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "x.rdmalab.yaml").write_text(FILE.partition("  - run: until")[0] + "  - run\n")
    assert swept(*OVER) == 2
    assert "has no until and no expect" in capsys.readouterr().err
    assert main(["sweep", "none"]) == 2


LONG = ("--repeat", "24", "--measure", "now", "-o", "t.csv", "--jobs", "2")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_in_the_middle_it_loses_nothing(folder: Path, how: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    part = folder / "t.csv.part"
    for attempt in range(5):  # on a busy machine the sweep may end before the signal
        length = f"slow={3000 * 3**attempt}"
        command = [
            sys.executable,
            "-m",
            "rdmalab",
            "sweep",
            "x.rdmalab.yaml",
            "--over",
            length,
            *LONG,
        ]
        started: Any = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while started.poll() is None and not (part.exists() and part.read_bytes().count(b"\n") > 2):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        started.send_signal(how)
        _, answer = started.communicate(timeout=60)
        if part.exists():
            break
        (folder / "t.csv").unlink()
    known = part.read_bytes().count(b"\n")
    assert 2 < known < 24
    assert started.returncode == (130 if how is signal.SIGINT else -how)
    assert ("the same command continues" in answer) is (how is signal.SIGINT)
    again = subprocess.run(
        command, env=environment, stderr=subprocess.PIPE, text=True, check=True, timeout=500
    )
    assert f"{known} of 24 points are in t.csv.part" in again.stderr
    table = rows((folder / "t.csv").read_text())
    assert [row["seed"] for row in table] == [str(seed) for seed in range(24)]
    assert not part.exists()
