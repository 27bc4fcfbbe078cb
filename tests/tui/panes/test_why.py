"""The doctor's pane: the answer to what was asked last, now; its rows lead to their events."""

from typing import TYPE_CHECKING, cast

import pytest

from rdmalab.doctor.report import Report
from rdmalab.lab import Lab
from rdmalab.shell.styled_text import text_of
from rdmalab.tui.app_model import FIRST
from rdmalab.tui.panes.why import WhyPane
from tests.tui.playing import Free, panes_of

if TYPE_CHECKING:
    from rdmalab.tui.pane import Pane

_BAD = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=1 rkey=1 flags=SIGNALED"
_SEND = "post_send A.qp0 wr_id=8 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


def stood(*lines: str) -> tuple[Free, WhyPane]:
    """A world in which these lines were said, and the pane."""
    lab = Lab()
    for line in (*FIRST, *lines):
        assert not lab.do(line)[-1].failed, line
    scene = Free(lab)
    panes: dict[str, Pane] = panes_of(scene)
    return scene, cast("WhyPane", panes["why"])


def ask(scene: Free, line: str) -> None:
    """As at the prompt."""
    value = scene.lab.do(line)[0].value
    assert isinstance(value, Report)
    scene.diagnosis = value


def mark(pane: WhyPane, text: str) -> None:
    """Put the mark on the first row that says so."""
    pane.lines(80, 20)
    pane.at = next(n for n, row in enumerate(pane.rows) if text in row.line)


def keys(pane: WhyPane) -> list[str]:
    return [key for key, _ in pane.own_keys()]


def test_alone_it_says_what_is_wrong_at_all() -> None:
    scene, pane = stood()
    assert pane.text().startswith("WELL  nothing has failed")
    assert pane.sentences() == ["why"]
    scene.lab.do(_BAD)
    scene.lab.do("run")
    assert pane.text().startswith("FAILED  A.qp0.wr[7]: it ended with REM_ACCESS_ERR")
    assert text_of(pane.title()) == ""


def test_it_goes_on_answering_what_was_asked_last() -> None:
    scene, pane = stood(_SEND)
    ask(scene, "why qp0.wr[8]")
    assert pane.text().startswith("PENDING  A.qp0.wr[8]")
    assert pane.sentences() == ["why A.qp0.wr[8]"]
    scene.lab.do("run 1ms")
    assert pane.text().startswith("NEVER  A.qp0.wr[8]")
    assert text_of(pane.title()) == "A.qp0.wr[8]"
    scene.lab.do("destroy_qp A.qp0")
    assert "destroyed" in pane.text()


def test_it_does_not_ask_again_where_nothing_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, pane = stood(_SEND, "run 1ms")
    asked: list[str] = []
    consult = pane.stage.consult

    def counted(question: str) -> Report | str:
        asked.append(question)
        return consult(question)

    monkeypatch.setattr(pane.stage, "consult", counted)
    for _ in range(3):
        pane.lines(80, 20)
    assert asked == [""]
    ask(scene, "why A.qp0")  # the prompt has just answered it
    pane.lines(80, 20)
    assert asked == [""]
    scene.lab.do("step")
    for _ in range(3):
        pane.lines(80, 20)
    assert asked == ["", "A.qp0"]


def test_while_something_runs_the_world_is_left_alone() -> None:
    scene, pane = stood(_SEND)
    before = pane.text()
    scene.busy = True
    scene.lab.do("run 1ms")
    assert pane.text() == before
    assert text_of(pane.title()) == "as of ev 21"
    scene.busy = False
    assert pane.text() != before
    assert text_of(pane.title()) == ""


def test_before_the_first_answer_a_run_shows_nothing_false() -> None:
    scene, pane = stood(_SEND)
    scene.busy = True
    assert pane.text() == "…"
    assert keys(pane) == []


def test_keys_are_sentences_about_the_marked_row() -> None:
    scene, pane = stood(_BAD, "run")
    ask(scene, "why")
    pane.lines(80, 20)
    assert keys(pane) == ["Enter", "a", "e", "c"]
    assert pane.says("enter") == "goto 25"
    assert pane.says("e") == "explain REM_ACCESS_ERR"
    assert pane.says("a") == "apply"
    assert pane.says("c") == "checklist no-completion"
    mark(pane, "B.qp0 refused it")
    assert pane.says("enter").startswith("goto 2")
    assert pane.says("e") == "explain cause rem-access"
    mark(pane, "ruled out")
    assert keys(pane) == ["a", "e", "c"]
    assert pane.says("e") == "explain cause rem-access"
    ask(scene, "why B.qp0.recv_wr[1]")
    pane.lines(80, 20)
    assert pane.says("c") == "checklist no-receive B.qp0.recv_wr[1]"


def test_what_the_keys_say_is_understood() -> None:
    scene, pane = stood(_BAD, "run")
    ask(scene, "why A.qp0.wr[7]")
    pane.lines(80, 20)
    sentences = {pane.says(key) for key in ("e", "c", "a")}
    for at in range(len(pane.rows)):
        pane.at = at
        sentences |= {pane.says("enter"), pane.says("e")} - {""}
    assert len(sentences) >= 6
    for sentence in sorted(sentences):
        assert not scene.lab.do(sentence)[-1].error, sentence


def test_who_goes_to_an_event_of_the_answer_still_sees_the_answer() -> None:
    scene, pane = stood(_BAD, "run")
    ask(scene, "why A.qp0.wr[7]")
    answer = pane.text()
    mark(pane, "B.qp0 refused it")
    scene.lab.do(pane.says("enter"))
    assert pane.text() == answer
    assert text_of(pane.title()) == "A.qp0.wr[7]  as of ev 25"
    assert "a" not in keys(pane)
    mark(pane, "it ended with REM_ACCESS_ERR")
    scene.lab.do(pane.says("enter"))
    assert pane.text() == answer
    scene.lab.do("back 3")
    assert pane.text() != answer
    assert text_of(pane.title()) == "A.qp0.wr[7]"


def test_the_mark_moves_by_rows_and_stays_in_sight() -> None:
    _, pane = stood(_BAD, "run")
    assert pane.place is not None
    pane.place = pane.place._replace(width=42, height=6)
    pane.lines(40, 4)
    count = len(pane._spans)
    for _ in range(count + 3):
        pane.action_move(1)
        _, start, stop = pane._spans[pane.at]
        assert pane.top is not None
        assert pane.top <= start
        assert stop <= pane.top + 4 or stop - start > 4
    assert pane.at == count - 1
    pane.action_end(-1)
    assert (pane.at, pane.top) == (0, 0)


def test_the_fix_stands_before_all_that_it_is_not() -> None:
    _, pane = stood(_BAD, "run")
    text = pane.text()
    assert text.index("fix:") < text.index("ruled out:")


def test_a_narrow_pane_cuts_even_the_fix() -> None:
    _, pane = stood(_BAD, "run")
    assert max(len(text_of(line)) for line in pane.lines(38, 20)) <= 38


def test_what_is_gone_can_still_be_asked() -> None:
    scene, pane = stood()
    ask(scene, "why A.mr0[0:8]")
    scene.lab.do("dereg_mr A.mr0")
    assert pane.text().startswith("LOST  A.mr0[0:8]: its region was destroyed")
    assert "destroyed" in pane.text()
