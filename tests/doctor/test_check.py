"""What a finding is put in order by."""

import pytest

from rdmalab.command import Noun
from rdmalab.doctor.case import Case, Log, Send, Sort, Subject
from rdmalab.doctor.check import (  # fmt: skip
    NA,
    Finding,
    Verdict,
    check,
    fact,
    fail,
    ok,
    unknown,
    wait,
    warn,
)
from rdmalab.doctor.evidence.work_of_queues import newest_send
from tests.labs import SEND, lab_of


def test_origin_of_a_finding() -> None:
    facts = (fact("now"), fact("late", 9), fact("early", 4))
    assert fail(*facts).origin == 4
    assert fail(*facts, since=2).origin == 2
    assert fail(fact("only now")).origin == -1


def test_verdict_functions() -> None:
    found = [fail(), warn(), wait(), unknown("gone"), ok(), NA]
    assert [each.verdict for each in found] == list(Verdict)
    assert ok().evidence == []
    assert ok("it is signaled", 3).evidence == [fact("it is signaled", 3)]


@pytest.mark.parametrize(("asked", "applies"), [(True, True), (False, False)])
def test_check_gets_its_parameters_by_name(asked: bool, applies: bool) -> None:
    @check("loss", asked=True, many=lambda case: case.log.event)
    def examined(case: Case, send: Send, many: int) -> Finding:
        return ok(f"{case.name(Noun.QP, *send.subject.thing[1:])} {many}")

    lab = lab_of(SEND)
    log = Log(lab.session)
    thing = lab.session.names.find("A.qp0")
    assert thing is not None
    send = newest_send(lab.session, log, thing, 1)
    found = examined.examine(Case(lab.session, send, log, asked=asked))
    assert (found == ok(f"A.qp0 {log.event}")) is applies
    assert examined.examine(Case(lab.session, Subject(Sort.QP, thing), log, asked=True)) is NA
