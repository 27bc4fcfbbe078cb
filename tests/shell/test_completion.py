from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from rdmalab.shell.completion import LabCompleter, choices
from tests.classroom.labs import plain_lab
from tests.shell.prompts import Prompt


def test_completions_replace_the_word_at_the_cursor() -> None:
    prompt = Prompt("use rc_pair")
    completer = LabCompleter(lambda: prompt.lab.session)
    document = Document("post_send A.qp0 opcode=RDMA_R")
    (found,) = completer.get_completions(document, CompleteEvent())
    assert (found.text, found.start_position) == ("RDMA_READ", -6)
    assert "REMOTE_READ" in found.display_meta_text


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
