import errno
import os
import shutil
from pathlib import Path

import pytest
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import fragment_list_to_text, to_formatted_text
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from rdmalab.lab import Lab
from rdmalab.shell.prompt_setup import LabCompleter, ask_session, choices, kept_history, status
from tests.classroom.labs import plain_lab
from tests.shell.prompts import Prompt


async def test_the_prompt_is_named_after_the_default_node() -> None:
    lab = Lab(default_node="B")
    with create_pipe_input() as keys:
        session = ask_session(lab, input=keys, output=DummyOutput())
        assert fragment_list_to_text(to_formatted_text(session.message)) == "B> "
        keys.send_text("step\r")
        assert await session.prompt_async() == "step"


def test_an_empty_line_says_where_time_stands() -> None:
    lab = Lab()
    assert status(lab) == "t=0.000 us  start  link UP  idle"
    lab.do("use rc_pair ; post_send A.qp0 opcode=SEND")
    assert "Next: A.qp0 sends a packet of wr0" in status(lab)


# --------------------------------------------------------------------------- the history
@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def typed(history: History) -> list[str]:
    return list(history.load_history_strings())


def test_the_history_is_kept(state: Path) -> None:
    lines: list[str] = []
    kept_history(lines.append).append_string("use rc_pair")
    assert typed(kept_history(lines.append)) == ["use rc_pair"]
    assert (state / "history").is_file()
    assert lines == []


@pytest.mark.parametrize("kind", ["directory", "fifo", "device", "below a file"])
def test_a_history_that_is_no_file_is_reported_once(state: Path, kind: str) -> None:
    if kind == "below a file":
        state.touch()
    else:
        state.mkdir()
    if kind == "directory":
        (state / "history").mkdir()
    elif kind == "fifo":
        os.mkfifo(state / "history")
    elif kind == "device":
        (state / "history").symlink_to("/dev/zero")
    lines: list[str] = []
    history = kept_history(lines.append)
    history.append_string("use rc_pair")
    history.append_string("run")
    assert list(history.get_strings()) == ["use rc_pair", "run"]
    (answer,) = lines
    assert answer.startswith("the history of lines is not kept: ")


@pytest.mark.parametrize("how", ["removed", "replaced", "full"])
def test_a_history_that_fails_later_is_reported_once(
    state: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    lines: list[str] = []
    history = kept_history(lines.append)
    history.append_string("use rc_pair")
    if how == "full":

        def full(_history: FileHistory, _text: str) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(FileHistory, "store_string", full)
    else:
        shutil.rmtree(state)
    if how == "replaced":
        (state / "history").mkdir(parents=True)
    for line in ("run", "step"):
        history.append_string(line)
    (answer,) = lines
    reason = {"removed": errno.ENOENT, "replaced": errno.EISDIR, "full": errno.ENOSPC}[how]
    assert answer == f"the history of lines is not kept: {os.strerror(reason)}"
    assert list(history.get_strings()) == ["use rc_pair", "run", "step"]
    assert how == "full" or not (state / "history").is_file()


def test_a_history_that_cannot_be_read(state: Path) -> None:
    lines: list[str] = []
    history = kept_history(lines.append)
    (state / "history").unlink()
    (state / "history").mkdir()
    assert typed(history) == []
    assert len(lines) == 1


def test_completions_replace_the_word_at_the_cursor() -> None:
    prompt = Prompt("use rc_pair")
    completer = LabCompleter(lambda: prompt.lab.session)
    document = Document("post_send A.qp0 opcode=RDMA_R")
    (found,) = completer.get_completions(document, CompleteEvent())
    assert (found.text, found.start_position) == ("RDMA_READ", -6)
    assert "REMOTE_READ" in found.display_meta_text


def menu(line: str, columns: int) -> dict[str, str]:
    """The names of a menu and their descriptions, on a terminal of so many columns."""
    lab, output = Lab(), DummyOutput()
    completer = LabCompleter(lambda: lab.session)
    output.get_size = lambda: Size(24, columns)  # type: ignore[method-assign]
    with create_app_session(output=output), set_app(Application(output=output)):
        found = [*completer.get_completions(Document(line), CompleteEvent())]
    return {each.display_text: each.display_meta_text for each in found}


def test_a_menu_of_lessons_has_whole_titles_where_the_folder_is_typed() -> None:
    rows = menu("load err/", 80)
    assert rows["remote-invalid-request"] == "The queue pair does not allow it"


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_menu_fits_and_cuts_only_what_does_not(columns: int) -> None:
    for line in ("load ", "mod", "m"):
        rows = menu(line, columns)
        widest = max(map(len, rows))
        assert widest <= max(columns // 3, 24)
        room = columns - widest - 5
        assert all(len(about) <= room for about in rows.values())
        assert all(len(about) == room for about in rows.values() if about.endswith("…"))


def test_an_empty_line_is_completed_only_when_asked() -> None:
    completer = LabCompleter(lambda: Prompt().lab.session)
    typed, asked = CompleteEvent(text_inserted=True), CompleteEvent(completion_requested=True)
    assert list(completer.get_completions(Document(), typed)) == []
    assert len(list(completer.get_completions(Document(), asked))) > 50


def test_a_command_that_the_lab_does_not_allow_is_not_offered(tmp_path: Path) -> None:
    prompt = Prompt(f"load {plain_lab(tmp_path, 'by-hand')} student=anna")
    session = prompt.lab.session
    assert "is not allowed in this lab" in session.refusal("connect A.qp0 B.qp0")
    offered = {choice.text for choice in choices(session, "", 0)[0]}
    assert not offered & {"connect", "to_rts", "use"}
    assert {"modify_qp", "create_qp"} < offered
    assert "connect" in {choice.text for choice in choices(Prompt("tour").lab.session, "con", 3)[0]}
