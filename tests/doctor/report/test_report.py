"""What the answer says, fact by fact."""

import pytest

from rdmalab.doctor.evidence.finding import Fix, fact, fail, unknown, warn
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome
from rdmalab.doctor.report.report import Report, TriedFix
from rdmalab.doctor.report.rows import RowPart
from tests.doctor.asking import pair, why
from tests.doctor.saying import NAME, WAITS, cause, failed, pending
from tests.guide.saying import article_text as article


def test_report_lines_in_order() -> None:
    assert failed().lines == [
        "FAILED  A.qp0.wr[7] ended with WR_FLUSH_ERR; its completion is not polled  [ev 32]",
        " 1. rem-access of A.qp0.wr[6]: the rule of rem-access",
        "      B refused it  [ev 27]",
        "      so the other one failed  [ev 30]",
        " 2. qp-err-flush: the rule of qp-err-flush",
        "      A.qp0 went to ERR  [ev 31]",
        "    so A.qp0.wr[7] ended with WR_FLUSH_ERR  [ev 32]",
        "warning: small-cq: A.qp0.wr[7] holds 4  [ev 3]",
        "ruled out: unsignaled, wrong-cq",
        "fix: tested on a copy of the session: it works; apply A.qp0.wr[7] carries it out:",
        "  modify_qp A.qp0 state=RESET",
        "  connect A.qp0 B.qp0",
    ]
    assert failed().text.count("\n") == 11


def test_equal_lines_of_a_fix_in_a_row_are_one() -> None:
    lines = ["reset B.qp0", *["post_recv B.qp0 sg=B.mr0[0:8]"] * 500, "reset B.qp0"]
    report = failed(remedy=TriedFix(Fix(lines), works=True))
    shown = [row.text for row in report.rows if row.part is RowPart.LINE]
    assert shown == ["reset B.qp0", "post_recv B.qp0 sg=B.mr0[0:8]  # 500 times", "reset B.qp0"]


def test_no_symptom_row_for_the_end_of_the_chain() -> None:
    report = failed(outcome=SubjectOutcome(Status.FAILED, "it ended with WR_FLUSH_ERR", 31))
    assert not [row for row in report.rows if row.part is RowPart.SYMPTOM]


def test_no_symptom_row_for_never() -> None:
    report = failed(outcome=SubjectOutcome(Status.NEVER, "it was never posted"))
    assert sum("was never posted" in row.text for row in report.rows) == 1


def test_symptom_row_of_another_sentence() -> None:
    report = failed(
        outcome=SubjectOutcome(Status.LOST, "A.cq0 was full when its completion came", 33)
    )
    (row,) = [row for row in report.rows if row.part is RowPart.SYMPTOM]
    assert row.line == "    so A.cq0 was full when its completion came  [ev 33]"


def test_pending_report_has_wait_and_next() -> None:
    assert pending(next="at 1us A sends", waits=[WAITS]).lines == [
        f"PENDING  {NAME} has no completion  [ev 14]",
        f"too-early: {NAME} completes at 9us",
        "      next, at 1us: A sends",
    ]
    assert pending(next="at 1us A sends").lines[1:] == ["next: at 1us A sends"]


def test_no_wait_rows_with_a_cause() -> None:
    found = cause(36, "rnr-infinite", fail(fact("again and again", 17)))
    report = pending(next="at 1us A sends", waits=[WAITS], causes=[found])
    assert not [row for row in report.rows if row.part in (RowPart.WAIT, RowPart.NEXT)]


def test_well_report_has_looked_at_and_examples() -> None:
    well = SubjectOutcome(Status.WELL, "nothing has failed")
    report = Report("", well, 20, looked="2 queue pairs", examples=["A.qp0.wr[7]", "A.qp0"])
    assert report.lines == [
        "WELL  nothing has failed",
        "looked at 2 queue pairs",
        "ask about one thing: why A.qp0.wr[7]   why A.qp0",
    ]


def test_fix_rows_of_a_failed_trial_and_of_advice() -> None:
    tried = TriedFix(Fix(["run"]), works=False, failure="it has no completion")
    assert failed(remedy=tried).lines[-2:] == [
        "fix: tested on a copy of the session: not sufficient (it has no completion):",
        "  run",
    ]
    theirs = TriedFix(Fix(program="poll before you wait"))
    assert failed(remedy=theirs).lines[-1] == ("fix: change the program: poll before you wait")
    assert failed(remedy=None).lines[-1].startswith("ruled out")


def test_apply_command_of_the_question() -> None:
    assert failed().apply == f"apply {NAME}"
    assert failed(question="").apply == "apply"


def test_unknown_report() -> None:
    report = failed(
        causes=[], stations=[], warnings=[], unknown=[cause(7, "lost", unknown("gone"))]
    )
    assert report.slug == "unknown"
    assert [row.line for row in report.rows if row.part is RowPart.UNKNOWN] == [
        "not known: lost: gone",
        "cause unknown: no check matched",
    ]
    assert not [row for row in pending().rows if row.part is RowPart.UNKNOWN]


def test_slug_of_a_report() -> None:
    assert failed().slug == "rem-access"
    assert pending(waits=[WAITS]).slug == "too-early"
    assert pending(warnings=[cause(1, "odd", warn(fact("odd")))]).slug == "odd"
    assert pending(outcome=SubjectOutcome(Status.COMPLETED, "it ended")).slug == "completed"


def test_rule_of_a_finding_without_evidence() -> None:
    report = pending(warnings=[cause(1, "odd", warn())])
    assert report.lines[-1] == "warning: odd: the rule of odd"


def test_rows_have_slug_and_event() -> None:
    rows = {row.line.strip(): row for row in failed().rows}
    fact = rows["B refused it  [ev 27]"]
    assert (fact.part, fact.slug, fact.event) == (RowPart.EVIDENCE, "rem-access", 27)
    link = rows["2. qp-err-flush: the rule of qp-err-flush"]
    assert (link.number, link.slug, link.event) == (2, "qp-err-flush", None)


REFUSALS = [
    ("create_cq A.cq1 cqe=0", "cqe-range"),
    ("reg_mr A.mr1 pd=A.pd0 length=64 access=REMOTE_WRITE", "mr-access"),
]


@pytest.mark.parametrize(("line", "rule"), REFUSALS)
def test_the_rule_that_refused_is_the_cause(line: str, rule: str) -> None:
    lab = pair()
    lab.do(line)
    report = why(lab)
    assert (report.slug, report.as_json()["cause"]) == (rule, rule)
    assert f" 1. {rule}: rule of" in report.text
    assert "not known" not in report.text


def test_plain_why_names_the_cause_of_a_full_send_queue_as_the_errno_does() -> None:
    lab = pair(use="use rc_pair max_send_wr=1")
    for _ in range(2):
        lab.do("post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    assert why(lab).slug == why(lab, "ENOMEM").slug == "sq-too-small"


def test_no_advice_sends_to_query_device_for_max_inline_data() -> None:
    lab = pair()
    lab.do("create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_inline_data=9999")
    assert "max_inline_data: create_qp grants or refuses it" in why(lab).text
    assert "create_qp grants" in article("limit max_inline_data")
    assert "query_device" not in article("limit max_inline_data")
