"""Command compare: exit codes, lines, the document."""

import json
from pathlib import Path

import jsonschema
import pytest

from rdmalab import cli
from rdmalab.cli.schemas import schema_of

FILE = """rdmalab: 1
title: t
steps:
  - use rc_pair
  - post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED
  - run: step 20
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "x.rdmalab.yaml"
    path.write_text(FILE)
    return str(path)


def test_each_profile_is_compared_with_the_first(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", file]) == 1
    answer = capsys.readouterr().out
    assert "strict and rxe: event 18, step 3: step 20\n" in answer
    assert "  cause: timer_tick_ns  strict: 0  rxe: 4000000\n" in answer
    assert "hca." not in answer  # a module of the program
    assert "strict and mlx5: no difference\n" in answer
    assert answer.endswith("next difference: add --ignore timer_tick_ns\n")


def test_no_difference_is_exit_code_0(file: str) -> None:
    assert cli.main(["compare", "--profile", "strict,mlx5", file]) == 0


def test_the_document(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--profile", "mlx5,rxe,strict", "--json", file]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema_of("compare"))
    assert [row["right"] for row in document["compared"]] == ["rxe", "strict"]
    assert document["compared"][0]["difference"]["causes"][0]["name"] == "timer_tick_ns"
    assert document["compared"][1]["difference"] is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--profile", "rxe"], "name two or more"),
        (["--profile", "rxe,mlx6"], '"mlx6" is no profile: strict, rxe, mlx5'),
        (["--ignore", "slot_freed"], '--ignore: no cell "slot_freed" (did you mean slots_freed?)'),
        (["--set", "x"], "--set x: write NAME=VALUE"),
        (["none.yaml"], "Got unexpected extra argument"),
    ],
)
def test_bad_usage(
    file: str, options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", file, *options]) == 2
    assert text in capsys.readouterr().err


def test_a_file_that_cannot_be_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.rdmalab.yaml").write_text(FILE.replace("post_send", "pst_send"))
    assert cli.main(["compare", str(tmp_path / "x.rdmalab.yaml")]) == 2
    assert 'no verb "pst_send"' in capsys.readouterr().err
