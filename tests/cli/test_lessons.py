"""Command lessons: which lessons are listed, and as a document."""

import json
from pathlib import Path

import jsonschema
import pytest

from rdmalab import cli
from rdmalab.classroom.progress import mark_done
from rdmalab.cli.schemas import schema_of


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    return tmp_path


def listed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert cli.main(["lessons", *options]) == 0
    return capsys.readouterr().out


def test_all_paths_are_listed_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    answer = listed(capsys)
    assert "\nbasics: " in answer
    assert "labs/sq-full" in answer
    assert "why/flag-already-set" not in answer
    assert answer.splitlines()[-1].startswith("on no path: ")


def test_options_choose(capsys: pytest.CaptureFixture[str]) -> None:
    answer = listed(capsys, "--path", "labs", "--level", "3")
    assert "labs/arm-poll" in answer
    assert "labs/by-hand" not in answer
    assert "why/flag-already-set" in listed(capsys, "--path", "why")
    assert "uc/lost-packet" in listed(capsys, "--tag", "uc")
    assert "err/rnr-retry-exceeded" in listed(capsys, "rnr")
    assert "uc/lost-packet" not in listed(capsys, "rnr")
    mark_done("rc/send")
    assert [row.split()[3] for row in listed(capsys, "--done").splitlines()[2:]] == ["rc/send"]
    assert "rc/send  " not in listed(capsys, "--path", "basics", "--not-done")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--path", "bassics"], 'no lesson has "bassics" (did you mean basics?)'),
        (["frobnicate"], 'no lesson has "frobnicate"'),
        (["--tag", "nothing-like-it"], 'no lesson has tag "nothing-like-it" (legal here: '),
        (["--coverage", "--done"], "--coverage is of all"),
        (["--level", "4"], "4 is not in the range"),
    ],
)
def test_what_is_not_there(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lessons", *options]) == 2
    assert text in capsys.readouterr().err


def test_nothing_that_fits_is_an_exit_code() -> None:
    assert cli.main(["lessons", "--path", "labs", "--tag", "uc"]) == 5


def test_the_document_has_lessons_and_labs(capsys: pytest.CaptureFixture[str]) -> None:
    mark_done("labs/sq-full")
    document = json.loads(listed(capsys, "--json", "--path", "labs"))
    jsonschema.validate(document, schema_of("lessons"))
    row = next(each for each in document["lessons"] if each["name"] == "labs/sq-full")
    assert (row["kind"], row["path"], row["order"], row["done"]) == ("lab", "labs", 3, True)
    assert (row["level"], row["minutes"]) == (2, 20)
    assert row["steps"] > 3
    document = json.loads(listed(capsys, "--json", "--path", "atomic"))
    assert [each["name"] for each in document["lessons"]] == [
        "atomic/add", "atomic/two-at-once", "atomic/key",
    ]  # fmt: skip


def test_files_are_listed_with_their_place_on_a_path(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = state / "own.rdmalab.yaml"
    own.write_text("rdmalab: 1\ntitle: Mine\nsteps:\n  - do: show\n")
    text = listed(capsys, "rc/send", str(own))
    assert text.splitlines()[2].split()[:4] == ["2", "●", "next", "rc/send"]
    assert text.splitlines()[-1].endswith("Mine")
