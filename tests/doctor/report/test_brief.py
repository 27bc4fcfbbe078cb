"""The short answer: ten lines at most, the root, its evidence, the fix; `-v` has everything."""

import re
from pathlib import Path

import pytest

from rdmalab.doctor.report.report import Report
from rdmalab.doctor.report.rows import named
from rdmalab.lab import Lab
from rdmalab.shell.show_why import answer_lines, lines_of
from rdmalab.shell.styled_text import text_of
from tests.doctor import tidying
from tests.doctor.asking import played, why
from tests.each import a_tenth, each

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
def test_why_v_prints_all_rows(line: str) -> None:
    report = lost().do(line)[-1].value
    assert report.detailed
    lines = [text_of(line) for line in answer_lines(report, 100)]
    assert lines == [text_of(line) for line in lines_of(report.rows, 100)]
    assert any(line.startswith("ruled out:") for line in lines)


@each("path", a_tenth(tidying.files()))
def test_an_answer_has_ten_lines_at_most_and_keeps_its_evidence(path: Path) -> None:
    for session, step in tidying.failed(path):
        for question in (step.why or "", ""):
            report = tidying.why(session, question)
            lines = [text_of(line) for line in answer_lines(report, 80)]
            assert len(lines) <= 10, lines
            assert unproved(report, lines) == [], lines


def unproved(report: Report, lines: list[str]) -> list[str]:
    """Numbered causes below which none of their evidence stands, although there is some."""
    answer = words(lines)
    shown = [c for n, c in enumerate(report.causes, 1) if f" {n}. {c.check.slug}" in f" {answer}"]
    return [
        cause.check.slug for cause in shown
        if (text := cause.finding.evidence)
        and not any(named(cause.name, each.text) in answer for each in text)
    ]  # fmt: skip


def words(lines: list[str]) -> str:
    """The text without the places of its line ends, and without the numbers of events."""
    return " ".join(re.sub(r"\[ev \d+\]", "", " ".join(lines)).split())


WRONG_KEY = (
    "use rc_pair", "modify_qp A.qp0 state=INIT",
    "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead flags=SIGNALED",
)  # fmt: skip
EMPTY = (
    "use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:0] flags=SIGNALED",
)  # fmt: skip


def asked(setup: tuple[str, ...], question: str = "") -> Report:
    lab = Lab()
    for line in (*setup, "run"):
        lab.do(line)
    return tidying.why(lab.session, question)


@each("setup", (WRONG_KEY, EMPTY))
def test_the_width_changes_the_folding_and_not_the_content(setup: tuple[str, ...]) -> None:
    report = asked(setup)
    names = {
        words([text_of(line) for line in answer_lines(report, width)])
        for width in (40, 60, 80, 100, 120, 200)
    }
    assert len(names) == 1


@each("setup, evidence", (
    (WRONG_KEY, "1. rem-access: rkey 0xdead is the key of no MR or bound window on B"),
    (EMPTY, "1. sge-zero: sge[0] has length 0, which stands for 2,147,483,648 bytes here"),
))  # fmt: skip
def test_the_rule_gives_way_to_the_evidence(setup: tuple[str, ...], evidence: str) -> None:
    lines = [text_of(line) for line in answer_lines(asked(setup), 80)]
    assert evidence in words(lines)
    assert len(lines) <= 10


def test_a_refused_call_that_is_not_its_cause_is_a_warning() -> None:
    report = asked(WRONG_KEY)
    assert [cause.check.slug for cause in report.causes] == ["rem-access"]
    assert [cause.check.slug for cause in report.warnings] == ["bring-up-attr"]
    assert any(
        line.startswith("warning: bring-up-attr of the call of event 14: A.qp0, RTS")
        for line in report.lines
    )
    assert any("1 warning (bring-up-attr), " in text_of(line) for line in answer_lines(report, 80))


def test_a_refused_call_alone_is_a_cause() -> None:
    assert [cause.check.slug for cause in asked(WRONG_KEY[:2]).causes] == ["bring-up-attr"]


def test_sge_zero_of_a_receive_of_length_0() -> None:
    assert [cause.check.slug for cause in asked(EMPTY).causes] == ["sge-zero"]
    assert asked(EMPTY, "B.qp0.recv_wr[0]").slug == "sge-zero"


def test_after_a_tidy_up_the_fix_is_the_line_that_changes() -> None:
    lab = Lab()
    for line in (
        "use rc_pair",
        "post_send A.qp0 wr_id=70 opcode=RDMA_READ sg=A.mr0[0:256] remote=B.mr0[4000] "
        "flags=SIGNALED",
        "run", "poll_cq A.cq0", "destroy_qp A.qp0", "destroy_qp B.qp0",
    ):  # fmt: skip
        lab.do(line)
    report = lab.do("why A.qp0.wr[70]")[-1].value
    is_reported = words([text_of(line) for line in answer_lines(report, 80)])
    assert "bytes 4000..4256 were named" in is_reported
    assert "this works: post_send A.qp0 wr_id=70" in is_reported
    assert "sg=A.mr0[0:96]" in is_reported
    assert "connect" not in is_reported
    assert "and 3 more: why -v" in is_reported
    assert not report.has_lines
    assert sum(row.part.name == "LINE" for row in report.rows) == 4


def test_what_is_left_out_is_named_in_the_order_of_the_causes() -> None:
    """The refused post stands before the poll that waits in vain for its completion."""
    lab = played(
        "use rc_pair channel=1", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:256]",
        "program B.rx lines={req_notify_cq B.cq0 solicited_only=1; get_cq_event B.ch0; poll B.cq0}",
        "program A.tx lines={sleep 5us; try post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:128] "
        "flags=SIGNALED|INLINE; post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[128:136] "
        "flags=SIGNALED|INLINE; poll A.cq0; poll A.cq0}", "run 2ms",
    )  # fmt: skip
    report = why(lab)
    slugs = [cause.check.slug for cause in report.causes]
    assert slugs == ["solicited-only", "inline-too-long", "already-polled"]
    short = "\n".join(map(text_of, answer_lines(report, 80)))
    assert "also: the call of event" in short
    assert "inline-too-long" in short
