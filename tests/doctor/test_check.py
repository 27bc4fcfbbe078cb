"""What a finding is put in order by."""

import pytest

from rdmalab.command import Noun
from rdmalab.doctor.case import Call, Case, Log, Send, Sort, Subject
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


def test_instead_is_examined_before_the_check() -> None:
    @check("loss")
    def examined(case: Case, send: Send) -> Finding:
        return ok("of a send")

    @examined.instead
    def _unless_named(case: Case, send: Send) -> Finding | None:
        return ok("of a send that is named") if case.asked else None

    @examined.instead
    def _of_call(case: Case, call: Call) -> Finding:
        return ok("of a call")

    lab = lab_of(SEND)
    log, thing = Log(lab.session), lab.session.names.find("A.qp0")
    assert thing is not None
    send = newest_send(lab.session, log, thing, 1)
    found = [examined.examine(Case(lab.session, send, log, asked=asked)) for asked in (True, False)]
    assert found == [ok("of a send that is named"), ok("of a send")]
    assert examined.examine(Case(lab.session, Subject(Sort.QP, thing), log, asked=True)) is NA
