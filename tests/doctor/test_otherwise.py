"""A refused call said once more, as it was or otherwise."""

from rdmalab.command import Ref
from rdmalab.doctor import attempts
from rdmalab.doctor.case import Case
from rdmalab.doctor.complaints import subjects
from rdmalab.doctor.log import Log
from rdmalab.doctor.otherwise import (
    arguments,
    beyond,
    joined,
    otherwise,
    repost,
    with_at_most,
)  # fmt: skip
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.labs import lab_of, refusal

_ONE = "wr={wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=INLINE}"
_TWO = "wr={wr_id=2 opcode=SEND sg=A.mr0[0:80] flags=INLINE}"
_LIST = f"post_send A.qp0 {_TWO} {_ONE}"


def case_of(lab: Lab, asked: str) -> Case:
    log = Log(lab.session)
    (subject,) = subjects(lab.session, log, parse_expression(asked, "A").node)
    return Case(lab.session, subject, log, asked=True)


def test_a_call_is_said_with_other_arguments_and_all_the_rest_as_it_was() -> None:
    lab = lab_of()
    refusal(lab, "reg_mr A.mr1 pd=A.pd0 length=8 access=LOCAL_WRITE addr=0x10")
    case = case_of(lab, "EFAULT")
    assert arguments(case, ("reg_mr",))["length"] == 8
    assert arguments(case, ("create_cq",)) == {}
    (line,) = otherwise(case, {"addr": 0x1000_0000})
    assert line == "reg_mr A.mr1 pd=A.pd0 length=8 access=LOCAL_WRITE addr=0x10000000"


def test_no_argument_exceeds_its_limit_in_records_too() -> None:
    said = {"cqe": 9, "init": {"cap": {"max_send_wr": 20, "max_recv_wr": 3}}, "name": "x"}
    most = {"cqe": 9, "max_send_wr": 8, "max_recv_wr": 8}
    assert beyond(said, most) == ["max_send_wr=20, it has 8"]
    assert with_at_most(said, most) == said | {
        "init": {"cap": {"max_send_wr": 8, "max_recv_wr": 3}}
    }


def test_pieces_that_touch_are_one() -> None:
    def at(start: int, stop: int, name: str = "mr0") -> Ref:
        return Ref("A", name, start, stop)

    assert joined([at(0, 8), at(8, 9), at(10, 12)]) == [at(0, 9), at(10, 12)]
    assert joined([at(0, 8), at(8, 9, "mr1")]) == [at(0, 8), at(8, 9, "mr1")]
    assert joined([{"addr": 1, "length": 1}, {"addr": 2}]) == [
        {"addr": 1, "length": 1},
        {"addr": 2},
    ]
    assert joined([]) == []


def test_a_receive_is_posted_for_each_send_that_finds_none() -> None:
    for waiting, rooms in ((0, 2), (1, 1), (2, 0)):
        lab = lab_of(*["post_recv B.qp0 sg=B.mr0[0:64]"] * waiting)
        refusal(lab, _LIST)
        case = case_of(lab, "EINVAL")
        attempt, qp = attempts.of_call(case), case.qp
        assert attempt is not None
        assert qp is not None
        *posted, again = repost(case, qp, attempt, attempt.left)
        assert again == _LIST
        assert (
            posted
            == ["post_recv B.qp0 sg=B.mr0[0:80]", "post_recv B.qp0 sg=B.mr0[0:8]"][2 - rooms :]
        )
