"""`load` and `next` say what they want of the face; `save` and `export` write, or say why not."""

import errno
import os
from pathlib import Path
from typing import get_args

import pytest

from rdmalab.export import pcapng
from rdmalab.lab import Lab, open_session
from rdmalab.scenario import saving
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.spec.profiles import PROFILES
from rdmalab.vocabulary import VOCABULARY
from rdmalab.workbench.files import Exported, Load, Next, Profile
from tests.digest import digest
from tests.labs import RECV, SEND, lab_of, misread, well

OLD = "rdmalab: 1\ntitle: old\nsteps: [alloc_pd A.pd0]\n"


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ('load "scenarios/rc/send.rdmalab.yaml"', Load("scenarios/rc/send.rdmalab.yaml")),
        ("load scenarios/rc/send.rdmalab.yaml", Load("scenarios/rc/send.rdmalab.yaml")),
        ("next", Next()),
    ],
)
def test_a_wish(line: str, choice: Load | Next) -> None:
    lab = Lab()
    (reply,) = lab.do(line)
    assert reply.value == choice
    assert reply.event is None
    assert lab.session.world.event == -1


# --------------------------------------------------------------------------- export
@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def capture(lab: Lab) -> bytes:
    return pcapng.capture(lab.session.world, lab.session.names).octets


def test_export_writes_the_capture_and_changes_nothing(folder: Path) -> None:
    lab = lab_of(RECV, SEND, "run")
    event, journal = lab.session.world.event, len(lab.session.journal)
    reply = well(lab, "export pcapng run.pcapng")
    assert (reply.event, reply.value) == (None, Exported("run.pcapng", 2, 0))
    assert reply.value.text == "run.pcapng: 2 frames"
    assert (folder / "run.pcapng").read_bytes() == capture(lab)
    assert (lab.session.world.event, len(lab.session.journal)) == (event, journal)


def test_export_reports_a_replaced_capture(folder: Path) -> None:
    lab = lab_of(RECV, SEND)
    assert well(lab, "export pcapng run.pcapng").value.text == "run.pcapng: 0 frames"
    well(lab, "step packet")
    reply = well(lab, "export pcapng run.pcapng")
    assert reply.value.text == "run.pcapng: 1 frame, replaced the previous capture"
    assert (folder / "run.pcapng").read_bytes() == capture(lab)


def test_what_never_left_is_counted(folder: Path) -> None:
    lab = lab_of("port A DOWN", SEND, "run 5us")
    reply = well(lab, f'export pcapng "{folder / "with a blank.pcapng"}"')
    assert reply.value.text.endswith(
        ": 0 frames; 1 more were not sent, because the port was not ACTIVE"
    )


def test_no_other_file_is_written_over(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    error = misread(Lab(), "export pcapng notes.txt")
    assert (error.message, error.hint) == (
        "notes.txt exists and is not a capture",
        "choose another name",
    )
    assert error.line[error.place.start : error.place.stop] == "notes.txt"
    assert (folder / "notes.txt").read_text() == "mine"


def test_an_empty_file_may_be_written(folder: Path) -> None:
    (folder / "empty").touch()
    assert well(Lab(), "export pcapng empty").value.text == "empty: 0 frames"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("no/such/x.pcapng", "no/such/x.pcapng cannot be written: No such file or directory"),
        (".", ". cannot be written: Is a directory"),
        ('""', "the file has no name"),
        (f'"{"x" * 300}"', f"{'x' * 300} cannot be written: File name too long"),
        ('"a\\x00b"', "a\0b cannot be written: no such path"),
    ],
)
def test_what_cannot_be_written(folder: Path, file: str, text: str) -> None:
    error = misread(Lab(), f"export pcapng {file}")
    assert error.message == text
    assert error.line[error.place.start : error.place.stop] == file
    assert list(folder.iterdir()) == []


def test_where_nothing_may_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: str, *_more: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "open", denied)  # root may write everywhere
    assert misread(Lab(), "export pcapng x").message == "x cannot be written: Permission denied"
    assert list(folder.iterdir()) == []


def test_export_with_a_wrong_format_names_the_format(folder: Path) -> None:
    """A file may be called anything; `pcap` is no file here."""
    wrong = misread(Lab(), "export pcap run.pcapng")
    assert (wrong.message, wrong.hint) == ('"pcap" means nothing here', "did you mean pcapng?")
    assert wrong.place == (7, 11)
    assert not list(folder.iterdir())


# --------------------------------------------------------------------------- save
def test_save_writes_a_scenario_that_does_the_same(folder: Path) -> None:
    lab = lab_of(RECV, SEND, "run", "poll_cq A.cq0")
    event = lab.session.world.event
    reply = well(lab, "save rnr.rdmalab.yaml")
    assert (reply.event, lab.session.world.event) == (None, event)
    assert reply.value.text == "rnr.rdmalab.yaml: 19 steps"
    runner = Runner(load("rnr.rdmalab.yaml", VOCABULARY), open_session)
    assert len(runner.run()) == 19
    assert runner.ok
    assert runner.scenario.title == "rnr"
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)


@pytest.mark.parametrize("word", ["save", "export pcapng"])
def test_a_fifo_and_a_device_are_not_written(folder: Path, word: str) -> None:
    """Neither waits for a reader."""
    os.mkfifo(folder / "x.fifo")
    wrong = misread(lab_of(SEND), f"{word} x.fifo")
    assert wrong.message == "x.fifo cannot be written: a FIFO, not a regular file"
    (folder / "x.device").symlink_to("/dev/full")
    wrong = misread(lab_of(SEND), f"{word} x.device")
    assert wrong.message == "x.device cannot be written: a device, not a regular file"


@pytest.mark.parametrize("mode", [0o600, 0o444])
def test_save_keeps_the_mode_and_follows_no_link_beside_it(folder: Path, mode: int) -> None:
    (folder / "victim").write_text("precious")
    well(Lab(), "save x.yaml")
    (folder / "x.yaml").chmod(mode)
    (folder / ".x.yaml.new").symlink_to("victim")
    if os.access(folder / "x.yaml", os.W_OK):
        well(Lab(), "save x.yaml")
    else:
        assert misread(Lab(), "save x.yaml").message.endswith("Permission denied")
    assert (folder / "victim").read_text() == "precious"
    assert (folder / "x.yaml").stat().st_mode & 0o777 == mode
    assert not (folder / "x.yaml").is_symlink()


def test_a_name_without_a_dot_gets_the_suffix(folder: Path) -> None:
    assert well(Lab(), "save mine").value.file == "mine.rdmalab.yaml"
    assert well(Lab(), 'save "sub.dir mine.yaml"').value.file == "sub.dir mine.yaml"
    assert {path.name for path in folder.iterdir()} == {"mine.rdmalab.yaml", "sub.dir mine.yaml"}


def test_save_replaces_a_scenario_of_save_and_reports_it(folder: Path) -> None:
    well(Lab(), "save kept.yaml")
    (folder / "link.yaml").symlink_to("kept.yaml")
    reply = well(lab_of(RECV), "save link.yaml expect=all")
    assert reply.value.text.endswith(", replaced the previous scenario")
    assert (folder / "kept.yaml").read_text().startswith("rdmalab: 1\ntitle: link.yaml\n")
    assert {path.name for path in folder.iterdir()} == {"kept.yaml", "link.yaml"}
    assert (folder / "link.yaml").is_symlink()


def test_save_replaces_no_scenario_that_was_edited(folder: Path) -> None:
    """Notes and expectations that somebody wrote are not lost."""
    well(Lab(), "save mine.yaml")
    saved = (folder / "mine.yaml").read_text()
    edits = (
        saved.replace("steps:\n", "steps:\n  - note: Watch A.\n"), f"{saved}# mine\n",
        saved.rpartition("#")[0], OLD,
    )  # fmt: skip
    for edited in edits:
        (folder / "mine.yaml").write_text(edited)
        error = misread(Lab(), "save mine.yaml")
        assert error.message == "mine.yaml exists and is not a scenario as save wrote it"
        assert error.hint == "choose another name"
        assert (folder / "mine.yaml").read_text() == edited


def test_the_old_scenario_stays_if_the_new_one_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    well(Lab(), "save x.yaml")
    before = (folder / "x.yaml").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    wrong = misread(lab_of(), "save x.yaml")
    assert wrong.message == "x.yaml cannot be written: No space left on device"
    assert (folder / "x.yaml").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["x.yaml"]


def test_save_of_a_session_too_long_for_a_scenario_writes_a_session_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "MAX_STEPS", 3)
    reply = well(lab_of(), "save x.rdmalab.yaml")
    assert reply.value.text == (
        "x.rdmalab: 14 steps, a session file, because it has 14 steps; a scenario has at most 3"
    )
    assert [path.name for path in folder.iterdir()] == ["x.rdmalab"]
    wrong = misread(lab_of(), "save y.yaml expect=all")
    assert wrong.message == "this session cannot be saved: 14 steps; a scenario has at most 3"


def test_a_session_file_is_written_where_it_is_named(folder: Path) -> None:
    lab = lab_of(RECV, SEND, "run", "poll_cq A.cq0")
    assert well(lab, "save x.rdmalab").value.text == "x.rdmalab: 17 steps"
    runner = Runner(load("x.rdmalab", VOCABULARY), open_session)
    runner.run()
    assert runner.ok
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)
    again = well(lab, "save x.rdmalab").value.text
    assert again == "x.rdmalab: 17 steps, replaced the previous session file"
    (folder / "mine.rdmalab").write_text("notes")
    assert misread(lab, "save mine.rdmalab").message == (
        "mine.rdmalab exists and is not a session file"
    )
    assert "a scenario only" in misread(lab, "save y.rdmalab expect=all").message


def test_a_part_of_a_session_is_saved_from_a_moment_to_a_moment(folder: Path) -> None:
    lab = lab_of(RECV, SEND, "checkpoint posted", "run", "poll_cq A.cq0")
    before = lab.session.world.event, lab.session.world.now_ns
    well(lab, "save x.rdmalab.yaml since @posted until 16")
    assert (lab.session.world.event, lab.session.world.now_ns) == before
    document = load("x.rdmalab.yaml", VOCABULARY).document
    assert [step.do.split()[0] for step in document.setup[-2:] if step.do] == [
        "post_recv",
        "post_send",
    ]
    assert [step.run for step in document.steps] == [None, "step 1"]
    runner = Runner(load("x.rdmalab.yaml", VOCABULARY), open_session)
    assert all(result.ok for result in runner.run())
    assert runner.session.world.event == 16
    assert misread(lab, "save y.yaml since 9 until 8").message == "until is before since"
    assert "no event 999" in misread(lab, "save y.yaml until 999").message


def test_open_takes_files_too() -> None:
    assert Lab().do("open x.rdmalab")[-1].value == Load("x.rdmalab")
    assert "cannot be opened" in misread(Lab(), "open x.pcap").message


def test_save_with_what_was_observed(folder: Path) -> None:
    lab = lab_of(RECV, SEND, "run", "poll_cq A.cq0", "modify_qp A.qp0 state=RESET")
    well(lab, "save seen.yaml expect=all")
    text = (folder / "seen.yaml").read_text()
    assert "\n      - A->B SEND_ONLY dest_qp=B.qp0 psn=0 len=64 ack_req=1\n" in text
    assert "  - A.qp0.state == RESET\n" in text.rpartition("expect:")[2]
    runner = Runner(load("seen.yaml", VOCABULARY), open_session)
    assert all(result.ok for result in runner.run())
    assert misread(Lab(), "save seen.yaml expect=some").hint == "legal here: none, all"


def test_the_profiles_that_a_word_takes_are_those_there_are() -> None:
    assert set(get_args(Profile)[1]) == set(PROFILES)
    (reply,) = Lab().do("load x.yaml profile=rxe")
    assert reply.value == Load("x.yaml", "rxe")
