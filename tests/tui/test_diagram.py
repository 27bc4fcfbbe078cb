"""The state machine drawn."""

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.styled_text import text_of
from rdmalab.tui import diagram
from rdmalab.views.states import DiagramRow, diagram_row

WAYS = {
    "RESET": ("modify_qp A.qp0 state=RESET",),
    "INIT": (
        "modify_qp A.qp0 state=RESET",
        "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    ),
    "RTS": (),
    "SQD": ("modify_qp A.qp0 state=SQD",),
    "ERR": ("modify_qp A.qp0 state=ERR",),
}


def seen(*lines: str) -> tuple[DiagramRow, int]:
    lab = Lab()
    for line in ("use rc_pair", *lines):
        assert not lab.do(line)[-1].failed, line
    thing = lab.session.names.find("A.qp0")
    assert thing is not None
    return diagram_row(lab.session.world, thing), lab.session.world.event


@pytest.mark.parametrize("state", WAYS)
def test_the_current_state_is_in_brackets_and_in_a_double_box(state: str) -> None:
    row, event = seen(*WAYS[state])
    assert f"[{state}]" in text_of(diagram.one_line(row, event))
    boxes = [text_of(line) for line in diagram.boxes(row, 58, event)]
    assert f"║{state}║" in "".join(boxes)
    assert "".join(boxes).count("║") == 2


@pytest.mark.parametrize("state", WAYS)
@pytest.mark.parametrize("width", [36, 38, 45, 46, 58, 100])
def test_the_boxes_fit(state: str, width: int) -> None:
    lines = [text_of(line) for line in diagram.boxes(*_args(state, width))]
    assert len(lines) == diagram.BOXES_HEIGHT
    assert max(map(len, lines)) <= width


def _args(state: str, width: int) -> tuple[DiagramRow, int, int]:
    row, event = seen(*WAYS[state])
    return row, width, event


def test_what_rc_can_never_enter_is_dotted() -> None:
    row, event = seen()
    assert "·sqe·" in text_of(diagram.one_line(row, event))
    assert any(":SQE:" in text_of(line) for line in diagram.boxes(row, 58, event))


def test_the_arrow_just_taken_is_marked() -> None:
    row, event = seen("modify_qp A.qp0 state=RESET", *WAYS["INIT"][1:])
    styles = {text: style for style, text in diagram.one_line(row, event)}
    assert styles["▶"] == "class:event"
    assert any("━" in text_of(line) for line in diagram.boxes(row, 58, event))
    later = {text: style for style, text in diagram.one_line(row, event + 1)}
    assert later["▶"] == ""


def test_a_picture() -> None:
    lines = [text_of(line).rstrip() for line in diagram.boxes(*_args("ERR", 58))]
    assert lines == [
        " ┌─────┐   ┌────┐   ┌───┐   ┌───┐   ┌───┐",
        " │RESET│──▶│INIT│──▶│RTR│──▶│RTS│◀─▶│SQD│",
        " └─────┘   └────┘   └───┘   └───┘   └───┘",
        "           ╔═══╗  last move         ┌···┐",
        "    any ━▶ ║ERR║  RTS → ERR         :SQE:  never: RC",
        "           ╚═══╝  ev 14             └···┘",
    ]
