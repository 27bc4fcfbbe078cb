"""What a finding is put in order by."""

import pytest

from rdmalab.command import Noun
from rdmalab.doctor.case import Case, Log, Send, Sort, Subject
from rdmalab.doctor.check import NA, Finding, check, ok  # fmt: skip
from rdmalab.doctor.evidence.work_of_queues import newest_send
from tests.labs import SEND, lab_of


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
