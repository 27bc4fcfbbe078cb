"""A consultation: roots before symptoms, each cause once, cures tried before they are offered."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.doctor.check import NA, Check, ChecklistSection, Finding, Fix, fact, fail
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.diagnosis import diagnose as rooms
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.evidence.subject import Sort
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from rdmalab.spec.causes import CauseRow
from tests.labs import RECV, SEND, lab_of

_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"


def why(lab: Lab, text: str = "") -> Report:
    return consult(lab.session, parse_expression(text, "A").node if text else None)


def test_why_of_completed_work_has_no_cause() -> None:
    report = why(lab_of(RECV, SEND, "run"))
    assert (report.slug, report.causes, report.remedy) == ("well", [], None)


def test_root_cause_before_its_flush_for_each_question() -> None:
    lab = lab_of(_BAD, SEND, "run")
    for asked in ("", "A.qp0.wr[1]", "A.qp0.wr[3]", "A.qp0", "A.cq0"):
        assert why(lab, asked).slug == "rem-access", asked
    assert "qp-err-flush" in [c.check.slug for c in why(lab, "A.qp0.wr[1]").stations]


def test_a_harmless_refused_call_is_no_cause() -> None:
    lab = lab_of()
    lab.do("modify_qp A.qp0 state=INIT")
    for line in (_BAD, "run"):
        lab.do(line)
    report = why(lab)
    assert [c.check.slug for c in report.causes] == ["rem-access"]
    assert [c.check.slug for c in report.warnings] == ["bring-up-attr"]
    assert report.slug == why(lab, "A.qp0.wr[3]").slug
    assert report.remedy is not None
    assert report.remedy.cure.lines[-1].startswith("post_send A.qp0 wr_id=3")


def test_outcome_never_and_pending_after_a_receive() -> None:
    lab = lab_of(SEND, "run 2ms")
    assert why(lab, "A.qp0.wr[1]").outcome.kind is Status.NEVER
    lab.do(RECV)
    report = why(lab, "A.qp0.wr[1]")
    assert (report.outcome.kind, report.slug) == (Status.PENDING, "too-early")


def test_a_fix_was_tried() -> None:
    lab = lab_of(SEND, "run 2ms")
    remedy = why(lab, "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert (remedy.works, remedy.cure.lines) == (True, ["post_recv B.qp0 sg=B.mr0[0:64]"])


def checked(slug: str, finding: Finding, *, station: bool = False) -> Check:
    def examine(case: object) -> Finding:
        is_send = case.subject.sort is Sort.SEND  # type: ignore[attr-defined]
        return finding if is_send else NA

    row = CauseRow(0, ChecklistSection.ERROR.name, "?", "rule", "source", station=station)
    return Check(slug, row, examine)


def test_root_causes_in_the_order_of_their_origin_then_stations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checks = (
        checked("station", fail(fact("", 1)), station=True),
        checked("late", fail(fact("", 9))),
        checked("early", fail(fact("", 12), since=2)),
    )
    monkeypatch.setattr(rooms, "CHECKS", checks)
    report = why(lab_of(SEND), "A.qp0.wr[1]")
    assert [c.check.slug for c in report.chain] == ["early", "late", "station"]


def test_evidence_after_the_failure_is_no_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_of(_BAD, "run")
    end = why(lab, "A.qp0.wr[3]").outcome.event
    assert end is not None
    found = [checked("late", fail(fact("x", end + 1))), checked("just", fail(fact("x", end)))]
    monkeypatch.setattr(rooms, "CHECKS", tuple(found))
    assert [c.check.slug for c in why(lab, "A.qp0.wr[3]").chain] == ["just"]


def test_a_station_alone_is_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (checked("station", fail(fact("", 1)), station=True),)
    monkeypatch.setattr(rooms, "CHECKS", checks)
    assert why(lab_of(SEND), "A.qp0.wr[1]").slug == "station"


def test_the_cure_of_a_later_cause_is_not_that_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checks = (
        checked("one", fail(fact("", 1), cure=Fix(["dealloc_pd A.pd0"]))),
        checked("two", fail(fact("", 2), cure=Fix([RECV]))),
    )
    monkeypatch.setattr(rooms, "CHECKS", checks)
    remedy = why(lab_of(SEND, "run 2ms"), "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert (remedy.works, remedy.cure.lines) == (False, ["dealloc_pd A.pd0"])


def test_first_fix_has_its_failure_if_none_works(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (checked("one", fail(fact("", 1), cure=Fix(["dealloc_pd A.pd0"]))),)
    monkeypatch.setattr(rooms, "CHECKS", checks)
    remedy = why(lab_of(SEND, "run 2ms"), "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert not remedy.works
    assert "dealloc_pd A.pd0" in remedy.failure


def test_two_causes_are_cured_together_where_neither_alone_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = "link up", RECV
    checks = (
        checked("one", fail(fact("", 1), cure=Fix([first]))),
        checked("two", fail(fact("", 2), cure=Fix([second]))),
    )
    monkeypatch.setattr(rooms, "CHECKS", checks)
    lab = lab_of(SEND, "step 3", "link down", "run 1us")
    remedy = why(lab, "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.lines == [first, second]


def test_why_in_an_expression_is_a_slug() -> None:
    lab = lab_of(_BAD, "run")
    assert lab.look('why(A.qp0.wr[3]) == "rem-access"')
    assert lab.look('why() == "rem-access"')
    with pytest.raises(NotUnderstood, match="one thing"):
        lab.look("why(A.qp0, B.qp0)")


def test_plain_why_has_evidence_and_fix_of_rnr_infinite() -> None:
    report = why(lab_of(SEND, "run 5ms"))
    assert (report.slug, report.outcome.kind) == ("rnr-infinite", Status.NEVER)
    assert report.outcome.sentence.endswith("none will come without another call")
    assert sum("RNR NAK" in line for line in report.lines) >= 1
    assert report.remedy is not None
    assert report.remedy.works
    waits = why(lab_of(RECV, SEND, "step 2"), "A.qp0.wr[1]")
    assert "by itself" not in waits.outcome.sentence
