"""A refused call said once more, with other arguments."""

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.fixes.refused_calls import arguments, call_with, clamped, values_above
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.labs import lab_of, refusal


def case_of(lab: Lab, asked: str) -> Case:
    log = Log(lab.session)
    (subject,) = subjects(lab.session, log, parse_expression(asked, "A").node)
    return Case(lab.session, subject, log, asked=True)


def test_call_with_changes_one_argument() -> None:
    lab = lab_of()
    refusal(lab, "reg_mr A.mr1 pd=A.pd0 length=8 access=LOCAL_WRITE addr=0x10")
    case = case_of(lab, "EFAULT")
    assert arguments(case, ("reg_mr",))["length"] == 8
    assert arguments(case, ("create_cq",)) == {}
    (line,) = call_with(case, {"addr": 0x1000_0000})
    assert line == "reg_mr A.mr1 pd=A.pd0 length=8 access=LOCAL_WRITE addr=0x10000000"


def test_no_argument_exceeds_its_limit_in_records_too() -> None:
    by_name = {"cqe": 9, "init": {"cap": {"max_send_wr": 20, "max_recv_wr": 3}}, "name": "x"}
    most = {"cqe": 9, "max_send_wr": 8, "max_recv_wr": 8}
    assert values_above(by_name, most) == ["max_send_wr=20, it has 8"]
    assert clamped(by_name, most) == by_name | {
        "init": {"cap": {"max_send_wr": 8, "max_recv_wr": 3}}
    }
