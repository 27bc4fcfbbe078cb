"""Hostile input, other parts of the series in each run: no failure."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rdmalab import cli
from rdmalab.lab import Lab
from rdmalab.recovery.user_paths import STATE
from rdmalab.scenario.saving import saved
from tests.each import a_third, chance_of, drawn_numbers
from tests.hostile import disks, faces, files, kills, lines, logs, words
from tests.hostile.account import Account, printed, shrunk
from tests.hostile.attacks import ATTACKS, SERIES, shares
from tests.labs import lab_of


def parts() -> list[tuple[str, int]]:
    """(attack, number of its part) of this run."""
    return [
        (attack, number)
        for attack, series in SERIES.items()
        for number in drawn_numbers(attack, series.usual, series.whole)
    ]


def test_the_shares_of_the_campaign_are_all_its_inputs() -> None:
    assert sum(shares(30_000).values()) == 30_000
    assert {*shares(100), "kills", "disks"} == set(ATTACKS)


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "number"), parts())
def test_nothing_breaks(attack: str, number: int) -> None:
    account, inputs = Account(attack), SERIES[attack].inputs
    ATTACKS[attack](chance_of(attack, number), inputs, account)
    assert account.tries == inputs
    assert not account.failures, "\n".join(account.failures)


@pytest.mark.slow
@pytest.mark.parametrize(("face", "trouble"), a_third(disks.CASES))
def test_a_disk_in_trouble_ends_no_session(face: str, trouble: str) -> None:
    assert disks.examined(face, trouble) is None


# --------------------------------------------------------------------------- the checks can fail
KIND = lines.Kind("strict", paired=True, as_json=False)
ASKED = ("alloc_pd A.pd5", "show pd", "step", "write A.mr0[0:4] abcd")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Lab, str], object]], None]:
    """A defect that comes with every line."""

    def plant(defect: Callable[[Lab, str], object]) -> None:
        well = Lab.replies

        def replies(lab: Lab, line: str, **options: Any) -> Any:
            defect(lab, line)
            return well(lab, line, **options)

        monkeypatch.setattr(Lab, "replies", replies)

    return plant


def test_the_lines_are_well_without_one() -> None:
    account = Account("lines")
    assert lines.examined(KIND, ASKED, account) is None
    assert account.checks == {
        "asked, and nothing changed": 1, "gone back and forth": 1, "shared": 1,
        "saved and played again": 1,
    }  # fmt: skip


def test_an_exception_is_found_and_made_small(planted: Any) -> None:
    def defect(_: Lab, line: str) -> None:
        if line == "step":
            raise KeyError("planted")

    planted(defect)
    assert lines.examined(KIND, ASKED) == "KeyError: 'planted'"
    assert shrunk(ASKED, lambda some: bool(lines.examined(KIND, some))) == ["step"]


def test_a_question_that_changes_the_world_is_found(planted: Any) -> None:
    planted(lambda lab, line: lab.session.world.advance(5) if line == "show pd" else None)
    assert "'show pd' changes the world" in str(lines.examined(KIND, ASKED))


def test_a_world_that_does_not_come_back_is_found(planted: Any) -> None:
    gone: list[Lab] = []

    def defect(lab: Lab, line: str) -> None:
        if line == "goto end":
            gone.append(lab)
            lab.session.world.advance(lab.session.world.now_ns + len(gone))

    planted(defect)
    assert "not the world that was there" in str(lines.examined(KIND, ASKED))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (saved(lab_of("alloc_pd A.pd5").session, "hostile"), "played again it is another world"),
        ("rdmalab: 1\ntitle: t\nsteps:\n  - alloc_pd A\n", "saved, it cannot be read"),
        ("rdmalab: 1\ntitle: t\nsteps:\n  - dealloc_pd A.pd0\n", "saved, it cannot run"),
    ],
)
def test_a_file_of_another_world_is_found(
    monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    monkeypatch.setattr(lines, "saved", lambda *_: text)
    assert problem in str(lines.examined(KIND, ASKED))


@pytest.mark.parametrize("text", ["\x1b[2J", "a\x9bb", "\u202e", "x\x07", "a bug in rdmalab 0.1.0"])
def test_a_text_that_must_not_be_printed(text: str) -> None:
    assert printed(f"before {text}") is not None
    assert printed("a table:\n\t│ é → 𝟙") is None


def test_another_text_of_a_word_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "scenario_of", lambda _: "another")
    assert words.help_for("rdmalab:1:x", ["the text"]) == "another text: 'another'"
    assert words.foreign("a text") == "shared, it is another text"


def test_an_exit_code_of_a_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "main", lambda _: 3)
    assert "exit code 3" in str(logs.examined("status 12"))


def test_a_file_that_breaks_the_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: str) -> None:
        raise RecursionError("planted")

    monkeypatch.setattr(files, "play", broken)
    assert files.examined("rdmalab: 1") == "RecursionError: planted"


def test_a_line_that_does_not_come_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "_killed", lambda *_: 0)
    monkeypatch.setattr(kills, "kept", lambda _: ["A.k1"])
    account = Account("kills")
    kills.attack(Random(1), 1, account)
    (failure,) = account.failures
    assert "['A.k1'] came back" in failure


def test_what_was_answered_comes_back(tmp_path: Path) -> None:
    with faces.started("plain", tmp_path / "state") as terminal:
        for name in ("A.k0", "A.k1"):
            faces.answered(terminal, name)
        terminal.child.kill()
        terminal.wait_exit()
    assert kills.kept(tmp_path / "state") == ["A.k0", "A.k1"]


def test_a_world_has_nothing_of_the_world_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """`examined` begins with an empty working folder and an empty state folder."""
    seen = []

    def style(_: object, line: str) -> None:
        state = Path(os.environ[STATE])
        found = [path.name for path in (Path.cwd(), state) for path in path.glob("*")]
        seen.append((line, found))
        state.mkdir(exist_ok=True)
        for folder in (Path.cwd(), state):
            (folder / "kept").touch()

    monkeypatch.setattr(lines.Typist, "say", style)
    before = Path.cwd(), os.environ[STATE]
    for _ in range(2):
        lines.examined(KIND, ASKED)
    assert seen == [(ASKED[0], [])] * 2
    assert before == (Path.cwd(), os.environ[STATE])
