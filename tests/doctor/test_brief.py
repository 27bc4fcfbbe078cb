"""The short answer: ten lines at most, the root, its evidence, the fix; `-v` has everything."""

from pathlib import Path

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.show_why import answer_lines, lines_of
from rdmalab.shell.styled_text import text_of
from tests.doctor import tidying
from tests.each import a_third, each

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


def lost() -> Lab:
    lab = Lab()
    for line in ("use rc_pair", "fault drop A->B", _SEND, "run"):
        lab.do(line)
    return lab


def test_effects_are_counted_and_shown_on_request() -> None:
    report = tidying.why(lost().session, "A.qp0.wr[7]")
    short = [text_of(line) for line in answer_lines(report, 100)]
    assert short[0].startswith("FAILED  A.qp0.wr[7]")
    assert short[1].startswith(" 1. loss: ")
    assert not any("retry-exc" in line or line.startswith("ruled out:") for line in short)
    assert any("1 effect" in line and "why -v A.qp0.wr[7]" in line for line in short)
    assert any(line.startswith("fix: ") for line in short)


@pytest.mark.parametrize("line", ["why -v A.qp0.wr[7]", "why A.qp0.wr[7] -v", "why -v"])
def test_v_asks_for_all_of_it(line: str) -> None:
    report = lost().do(line)[-1].value
    assert report.detailed
    said = [text_of(line) for line in answer_lines(report, 100)]
    assert said == [text_of(line) for line in lines_of(report.rows, 100)]
    assert any(line.startswith("ruled out:") for line in said)


@each("path", a_third(tidying.files()))
def test_an_answer_has_ten_lines_at_most(path: Path) -> None:
    for session, step in tidying.failed(path):
        for question in (step.why or "", ""):
            lines = answer_lines(tidying.why(session, question), 100)
            assert len(lines) <= 10, [text_of(line) for line in lines]
