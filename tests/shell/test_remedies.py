import pytest

from tests.shell.talk import TRANSCRIPTS, Talk, sections
from tests.shell.test_mistakes import RESET, SETUPS


@pytest.mark.parametrize("title", [t for t, _ in sections(TRANSCRIPTS / "mistakes.txt")])
def test_what_is_suggested_is_never_refused(title: str) -> None:
    """Each `try:` is tried, in the very situation it was said in."""
    typed = dict(sections(TRANSCRIPTS / "mistakes.txt"))[title]
    setup = SETUPS.get(title, RESET[:1])
    for count in range(1, len(typed) + 1):
        talk = Talk(*setup, *typed[: count - 1], width=400)
        tries = [row for row in talk.ask(typed[count - 1]) if "try: " in row]
        for row in tries:
            said = talk.ask(row.partition("try: ")[2])
            assert not any(answer.startswith(("error:", "not understood")) for answer in said), said


@pytest.mark.parametrize(
    ("setup", "line", "remedy"),
    [
        ("post_send A.qp0 opcode=SEND", "post_send A.qp0 opcode=SEND", "try: run"),
        ("run 1us", "post_recv A.qp0", "try: "),
    ],
)
def test_a_full_queue(setup: str, line: str, remedy: str) -> None:
    talk = Talk("use rc_pair max_send_wr=1 max_recv_wr=1", setup, "post_recv A.qp0")
    assert any(remedy in row for row in talk.ask(line))
