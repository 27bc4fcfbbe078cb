"""Submissions in files, texts and pages; each file that is not read has a reason."""

import os
import zipfile
from pathlib import Path

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.inbox import MOST_OCTETS, collected
from rdmalab.classroom.owner import given
from tests.classroom.test_grading import handed_in

WORK = handed_in("s1", *[f"run {n}us" for n in range(40)])
WORD = submission.word_of(submission.loads(WORK, "w"))


def texts(folder: Path) -> dict[str, list[str]]:
    """File → the lines of its submissions."""
    found: dict[str, list[str]] = {}
    for work in collected([str(folder)], None, given("s1")).works:
        name = work.name.removeprefix(f"{folder}/")
        found[name] = submission.loads(work.text, name).lines
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("work.yaml", WORK),
        ("bom.yaml", "\ufeff" + WORK),
        ("no ending", WORK),
        ("word.txt", WORD),
        ("mail.txt", f"Dear Sir,\n\n> {WORD}\n\nBest regards\nJane"),
        ("letter.md", f"My answer: `{WORD}`."),
        ("folded.txt", "\n".join(WORD[n : n + 72] for n in range(0, len(WORD), 72)) + "\nThanks"),
        ("onlinetext.html", f"<html><body><p>{WORD}</p></body></html>"),
        ("bold.html", f"<p>Here: <b>{WORD[:50]}</b>{WORD[50:]}</p><p>Thanks</p>"),
        ("breaks.html", "<p>" + "<br />".join([WORD[:60], WORD[60:120], WORD[120:]]) + "</p>"),
        ("soft.html", f"<div>{WORD[:30]}&#8203;{WORD[30:40]}&shy;{WORD[40:]}&nbsp;Bye</div>"),
    ],
)
def test_a_submission_is_found(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert texts(tmp_path) == {name: [f"run {n}us" for n in range(40)]}


def test_two_words_are_two_works(tmp_path: Path) -> None:
    other = submission.word_of(submission.loads(handed_in("s1", "run 7us"), "w"))
    (tmp_path / "a.txt").write_text(f"{WORD}\n\nno, this one: {other}")
    assert list(texts(tmp_path)) == ["a.txt (word 1)", "a.txt (word 2)"]


def test_a_text_without_a_submission_is_an_unreadable_work(tmp_path: Path) -> None:
    """A student who wrote that there is nothing has handed in something."""
    for name in ("onlinetext.html", "a.txt", "b.yaml"):
        (tmp_path / name).write_text("I could not do it.")
    assert len(collected([str(tmp_path)], None).works) == 3


def test_what_is_not_read_is_listed_with_its_reason(tmp_path: Path) -> None:
    files = {
        "a.pdf": b"%PDF-1.7 ...", "b.docx": b"", ".DS_Store": b"\0\1", "c.png": b"\x89PNG\r\n",
        "__MACOSX/d.yaml": WORK.encode(), "e.py": b"print(1)", "f.txt": b"  \n",
        "g.yaml": b"x" * (MOST_OCTETS + 1), "h/submission_metadata.yml": b":a: 1",
    }  # fmt: skip
    for name, octets in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(octets)
    with zipfile.ZipFile(tmp_path / "b.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    (tmp_path / "i.yaml").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "j.yaml")
    found = collected([str(tmp_path)], None)
    assert not found.works
    reasons = {name.removeprefix(f"{tmp_path}/"): why for name, why in found.not_read}
    assert set(reasons) == {*files, "i.yaml", "j.yaml"}
    assert reasons["a.pdf"].startswith("a PDF")
    assert reasons["b.docx"].startswith("an archive or an office document")
    assert reasons[".DS_Store"] == reasons["__MACOSX/d.yaml"] == "a file of the operating system"
    assert reasons["e.py"] == reasons["f.txt"] == "no submission in it"
    assert reasons["g.yaml"] == "larger than 4 MiB"
    assert reasons["h/submission_metadata.yml"] == "metadata of Gradescope"
    assert reasons["i.yaml"] == "a link, not a file"
    assert "FIFO" in reasons["j.yaml"]


def test_a_hostile_text_costs_little(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("rdmalab-work:1:" * 200_000)
    (tmp_path / "b.html").write_text("<!" * 100_000 + "<a " * 100_000)
    (tmp_path / "c.txt").write_text("rdmalab-work:1:" + "A \n" * 1_000_000)
    assert len(collected([str(tmp_path)], None).works) >= 2
