"""The instructor's page: whole for every lab, and nothing of it reaches a student."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from rdmalab.classroom.checking import leaks, unusable_handout
from rdmalab.classroom.lab_file import loads
from rdmalab.classroom.notes_page import notes_page
from rdmalab.classroom.public import digest, published
from rdmalab.cli import Exit, main
from rdmalab.scenario.source import FileError
from tests.classroom.labs import FOLDER, TEMPLATE, loaded
from tests.each import each

LABS = [path.name for path in sorted(FOLDER.glob("*.lab.yaml"))]
TWINS = FOLDER.parents[1] / "scenarios/labs"
SECTIONS = (
    "What it teaches", "Time", "Parameters", "Tasks", "Typical wrong answers", "Hidden tasks",
    "Solutions that pass", "Questions for discussion", "In class",
)  # fmt: skip
BARE = TEMPLATE.partition("instructor:")[0]
PAGE = """instructor:
  aim: A receive comes before the message.
  time: 10 minutes in all.
  mistakes:
    - {does: Posts no receive., shows: Knows the WRITE only., solution: no-receive}
  hidden: {both-ways: It catches a pair that is in ERR.}
  discuss:
    - ask: Why a receive?
      expect: It names the buffer.
  say: Show the RNR NAK first.
"""


def test_the_lab_to_begin_with_has_a_page() -> None:
    assert notes_page(loaded(TEMPLATE)).count("\n## ") == len(SECTIONS)


@each("name", LABS)
def test_every_lab_has_a_whole_page(name: str) -> None:
    lab = loaded((FOLDER / name).read_text())
    notes = lab.document.instructor
    assert notes is not None
    text = notes_page(lab)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(SECTIONS)
    assert len(notes.discuss) > 1, "instructor: discuss: has two questions at least"
    assert lab.document.solutions is not None
    named = {each.solution for each in notes.mistakes}
    rejected = named & {each.name for each in lab.document.solutions.reject}
    assert len(rejected) >= 3, "instructor: mistakes: three, each with its solution of reject:"


def test_a_range_of_a_parameter_is_its_two_ends() -> None:
    text = BARE.replace("{choose: [16, 32, 64],", "{from: 5, to: 4000,")
    assert "- size: bytes of the message: 5 to 4000; here " in notes_page(loaded(text + PAGE))


def test_the_page_of_a_small_lab() -> None:
    lab = loaded(BARE + PAGE)
    text = notes_page(lab)
    for line in (
        "LAB-ID: level 1, 10 minutes, 5 points of which 1 hidden",
        f"- size: bytes of the message: 16, 32, 64; here {lab.params['size']}",
        "  - right: b) An RNR NAK.",
        "  - feedback to a) Nothing. Look at show wire.",
        "  - solution no-receive, fails deliver, why names rnr-infinite",
        "  - catches: It catches a pair that is in ERR.",
        "- receive-later: the retry finds the receive",
        "  - expect: It names the buffer.",
        "Show the RNR NAK first.",
    ):
        assert line in text.splitlines()


def test_a_shuffled_choice_has_no_letter() -> None:
    """Its letter would be that of one student."""
    shuffled = BARE.replace("    choice:\n", "    shuffle: true\n    choice:\n", 1)
    lines = notes_page(loaded(shuffled + PAGE)).splitlines()
    assert "  - right: An RNR NAK." in lines
    assert "  - feedback to Nothing. Look at show wire." in lines


def test_the_right_answer_is_that_of_the_students_own_world() -> None:
    text = (FOLDER / "retry-budget.lab.yaml").read_text()
    lines = {line for each in "123" for line in notes_page(loaded(text, each)).splitlines()}
    right = [line for line in lines if "A.qp0.timeout_ns * (A.qp0.retry_cnt + 1), here " in line]
    assert len(right) == 3


@each(
    "old, new, message",
    [
        ("both-ways: It", "deliver: It", "no hidden task has the id deliver"),
        ("{both-ways: It catches a pair that is in ERR.}", "{}", "both-ways is not explained"),
        ("solution: no-receive", "solution: other", "no rejected solution has the name other"),
        ("  say: Show the RNR NAK first.\n", "", "say"),
        ("  time:", "  tiem:", 'no key "tiem"'),
    ],
)
def test_a_wrong_page_has_one_clear_error(old: str, new: str, message: str) -> None:
    assert old in PAGE
    with pytest.raises(FileError, match=message):
        loaded(BARE + PAGE.replace(old, new))


# --------------------------------------------------------------------------- students
def test_students_get_nothing_of_it() -> None:
    lab, without = loaded(BARE + PAGE), loaded(BARE)
    assert published(lab) == published(without)
    assert digest(lab) == digest(without)
    assert leaks(lab) == []
    shown = PAGE.replace("It names the buffer.", "Look at show cq B.cq0.")
    assert leaks(loaded(BARE + shown)) == []  # a text of a task that is shown is no secret
    about = BARE.replace("about: |-\n", "about: |-\n  Show the RNR NAK first.\n")
    assert leaks(loaded(about + PAGE)) == ["Show the RNR NAK first."]


@each("name", LABS)
def test_the_file_for_students_is_a_lab(name: str) -> None:
    """As it ships, with seals, and without them; also where a hidden task varies a name."""
    lab = loaded((FOLDER / name).read_text())
    for text in ((TWINS / name).read_text(), published(lab)):
        assert loads(text, name, params=lab.params).document.tasks


def test_a_name_that_only_a_hidden_task_varies_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEMPLATE.replace("- use rc_pair", '- use rc_pair\n  - "link latency=%{far}"').replace(
        "    needs: [deliver]", "    needs: [deliver]\n    vary: {far: [1us, 2us]}"
    )
    assert unusable_handout(loaded(TEMPLATE)) == ""
    assert 'no parameter "far"' in unusable_handout(loaded(text))
    (tmp_path / "x.lab.yaml").write_text(text)
    assert main(["lab", "check", "--students", "1", str(tmp_path / "x.lab.yaml")]) == Exit.FAILED
    assert "only hidden tasks vary far, so students have no value of it" in capsys.readouterr().out


def test_nothing_of_it_is_printed_at_a_students_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.lab.yaml"
    path.write_text(BARE + PAGE)
    words = ("task", "hint deliver yes", "hint deliver yes", "answer answer-of-b 1", "submit")
    lines = [f"load {path} student=s1", *words, "help load"]
    main(["repl", "--keep-going", *(part for line in lines for part in ("-c", line))])
    printed = capsys.readouterr().out
    assert "A receive before the message" in printed
    texts = [text for text in _texts(yaml.safe_load(PAGE)) if len(text) > 12]
    assert len(texts) == 8
    assert [text for text in texts if text in printed] == []


def _texts(tree: object) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for each_one in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(each_one)


# --------------------------------------------------------------------------- the command
def test_the_command_prints_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.lab.yaml").write_text(BARE + PAGE)
    (tmp_path / "b.lab.yaml").write_text(BARE)
    assert main(["lab", "notes", str(tmp_path)]) == Exit.WELL
    printed = capsys.readouterr()
    assert printed.out.count("# A receive before the message\n") == 2
    assert "b.lab.yaml: no key instructor" in printed.err
    assert main(["lab", "notes", str(tmp_path / "b.lab.yaml")]) == Exit.NOTHING
    (tmp_path / "a.lab.yaml").write_text("kind: lab")
    assert main(["lab", "notes", str(tmp_path / "a.lab.yaml")]) == Exit.USAGE
