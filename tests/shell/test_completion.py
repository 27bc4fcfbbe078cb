from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from rdmalab.shell.completion import LabCompleter
from tests.shell.prompts import Prompt


def test_completions_replace_the_word_at_the_cursor() -> None:
    prompt = Prompt("use rc_pair")
    completer = LabCompleter(lambda: prompt.lab.session)
    document = Document("post_send A.qp0 opcode=RDMA_R")
    (found,) = completer.get_completions(document, CompleteEvent())
    assert (found.text, found.start_position) == ("RDMA_READ", -6)
    assert "REMOTE_READ" in found.display_meta_text
