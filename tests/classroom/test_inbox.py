"""Submissions in files, texts and pages; each file that is not read has a reason."""

import os
import time
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.inbox import MOST_OCTETS, collected
from rdmalab.classroom.owner import given, roster_of
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


def archive(files: dict[str, bytes | str], month: int = 11) -> bytes:
    """The bytes of an archive with these files, each of the 20th of a month of 2026."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2026, month, 20, 12, 0, 0))
            made.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


ROSTER = roster_of("id,name\ns1,Jörg Süß\ns2,Jane Doe\ns3,Bob Roe\ns4,Ann Lee\n")


@pytest.mark.parametrize("is_named", [True, False])
def test_a_download_and_what_a_student_packed_are_read_as_archives(
    is_named: bool, tmp_path: Path
) -> None:
    moodle = "{}_9_assignsubmission_file/{}"
    files: dict[str, bytes | str] = {
        moodle.format("Jörg Süß", "s2.yaml"): WORK,  # the name is the student's choice
        moodle.format("Jane Doe", "my work.zip"): archive({"a/w.yaml": WORK, "me.txt": "Hi"}, 1),
        moodle.format("Bob Roe", "work.docx"): archive({"word/document.xml": "<w/>"}),
        moodle.format("Ann Lee", "bomb.zip"): archive({"w.yaml": b"0" * (64 << 20)}),
        "__MACOSX/._w.yaml": "x",
    }
    (tmp_path / "RDMA-4.zip").write_bytes(archive(files))
    found = collected([str(tmp_path / "RDMA-4.zip") if is_named else str(tmp_path)], ROSTER)
    assert not found.not_read
    works = {work.owner.id: work for work in found.works}
    assert sorted(works) == ["s1", "s2", "s3", "s4"]
    assert works["s1"].text == works["s2"].text == WORK
    assert works["s1"].owner.folder == "Jörg Süß_9_assignsubmission_file"
    assert {time.localtime(work.at_s)[1:3] for work in found.works} == {(11, 20)}
    assert "an archive or an office document" in works["s3"].unread
    assert works["s4"].unread


def test_an_archive_that_is_damaged_or_encrypted_is_listed(tmp_path: Path) -> None:
    whole = archive({"s1.yaml": WORK})
    encrypted = whole.replace(b"\x14\0\0\0\x08\0", b"\x14\0\1\0\x08\0")
    for number, octets in enumerate((whole, whole[:-30], whole[:40], encrypted)):
        (tmp_path / f"{number}.zip").write_bytes(octets)
    found = collected([str(tmp_path)], ROSTER)
    assert [Path(work.name).parent.name for work in found.works] == ["0.zip"]
    assert [Path(file).name for file, _ in found.not_read] == ["1.zip", "2.zip", "3.zip"]


def test_a_hostile_text_costs_little(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("rdmalab-work:1:" * 200_000)
    (tmp_path / "b.html").write_text("<!" * 100_000 + "<a " * 100_000)
    (tmp_path / "c.txt").write_text("rdmalab-work:1:" + "A \n" * 1_000_000)
    assert len(collected([str(tmp_path)], None).works) >= 2
