from prompt_toolkit.formatted_text import fragment_list_to_text, to_formatted_text
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from rdmalab.lab import Lab
from rdmalab.shell.asking import ask_session, status


async def test_the_prompt_is_named_after_the_default_node() -> None:
    lab = Lab(default_node="B")
    with create_pipe_input() as keys:
        session = ask_session(lab, input=keys, output=DummyOutput())
        assert fragment_list_to_text(to_formatted_text(session.message)) == "B> "
        keys.send_text("step\r")
        assert await session.prompt_async() == "step"


def test_an_empty_line_says_where_time_stands() -> None:
    lab = Lab()
    assert status(lab) == "t=0.000us  start  link UP  nothing planned"
    lab.do("use rc_pair ; post_send A.qp0 opcode=SEND")
    assert "Next: A.qp0 sends a packet of wr0" in status(lab)
