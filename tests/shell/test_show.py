import pytest

from rdmalab.shell.show import render
from rdmalab.shell.styled_text import text_of
from rdmalab.workbench.show import View
from tests.shell.prompts import Prompt

WORDS = (
    "",
    "qp",
    "qp A.qp0",
    "A.qp0",
    "A.cq0",
    "A.mr0",
    "A.pd0",
    "B",
    "cq",
    "sq A.qp0",
    "rq B.qp0",
    "mr",
    "mr A.mr0[0:64]",
    "pd",
    "wire",
    "wire A->B last=3",
    "wire opcode=SEND_ONLY from=A to=B",
    "packet",
    "packet 17",
    "counters",
    "link",
    "agenda",
    "log",
    "log 16",
    "story",
    "expr",
    "events",
    "journal",
)


@pytest.fixture(scope="module")
def busy() -> Prompt:
    return Prompt(
        "use rc_pair rnr_retry=1",
        "fault drop A->B nth=2",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
        "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[64:72] remote=B.mr0[0]",
        "step 5",
    )


def view(prompt: Prompt, words: str) -> View:
    reply = prompt.lab.do(f"show {words}".strip())[-1]
    assert isinstance(reply.value, View), reply.error
    return reply.value


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_view_fits_and_says_something(busy: Prompt, words: str, width: int) -> None:
    lines = render(view(busy, words), width)
    assert lines
    assert all(len(text_of(line)) <= width for line in lines)


@pytest.mark.parametrize("words", WORDS)
def test_ascii_says_the_same_in_ascii(busy: Prompt, words: str) -> None:
    lines = render(view(busy, words), 80, ascii=True)
    assert all(text_of(line).isascii() for line in lines)


@pytest.mark.parametrize("words", WORDS)
def test_looking_changes_nothing(busy: Prompt, words: str) -> None:
    world = busy.lab.session.world
    before = (world.event, world.now_ns, len(world.trace.records), len(busy.lab.session.journal))
    view(busy, words)
    after = (world.event, world.now_ns, len(world.trace.records), len(busy.lab.session.journal))
    assert after == before


@pytest.mark.parametrize("words", [w for w in WORDS if "." not in w and w != "packet 17"])
def test_an_empty_world_says_what_to_do(words: str) -> None:
    reply = Prompt().lab.do(f"show {words}".strip())[-1]
    if reply.error is not None:
        assert reply.error.hint
    else:
        assert isinstance(reply.value, View)
        assert render(reply.value, 80)


def test_the_state_stands_in_brackets_and_what_cannot_be_in_dots(busy: Prompt) -> None:
    first = text_of(render(view(busy, "A.qp0"), 80)[0])
    assert first.startswith("RESET─INIT─RTR─[RTS]  SQD ·sqe· ERR")


def test_a_lost_packet_never_arrives() -> None:
    prompt = Prompt("use rc_pair", "fault drop A->B", "post_send A.qp0 opcode=SEND", "step")
    rows = [text_of(line) for line in render(view(prompt, "wire"), 80)]
    assert "─╳ " in rows[0]
    assert "▶" not in rows[0].removeprefix("▶")
