"""Questions put right, and those about nothing one can ask about."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.doctor.asking.questions import normalised
from rdmalab.doctor.evidence.log import Log
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    for line in (
        "use rc_pair",
        "reg_mr A.gone pd=A.pd0 length=8 access=0",
        "dereg_mr A.gone",
        "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
        "modify_qp A.qp0 state=INIT",
    ):
        lab.do(line)
    return lab


def put(lab: Lab, text: str) -> str:
    return str(normalised(lab.session, Log(lab.session), parse_expression(text, "A").node))


@pytest.mark.parametrize(
    ("text", "hint"),
    [("A.qp0.wr3", "write A.qp0.wr[3]"), ("qp0.recv_wr12", "write A.qp0.recv_wr[12]")],
)
def test_hint_for_a_wr_id_without_brackets(lab: Lab, text: str, hint: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        put(lab, text)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qp0", "A.qp0"),
        ("A.gone", "A.gone"),
        ("qp0.wr[7]", "A.qp0.wr[7]"),
        ("B", "B"),
        ("A.mr0[0:64]", "A.mr0[0:64]"),
        ("B.qp0.recv_wr[1]", "B.qp0.recv_wr[1]"),
        ("EINVAL", "EINVAL"),
        ("transition", "transition"),
    ],
)
def test_question_by_name_part_or_errno(lab: Lab, text: str, expected: str) -> None:
    assert put(lab, text) == expected


def test_normalised_none_is_none(lab: Lab) -> None:
    assert normalised(lab.session, Log(lab.session), None) is None


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        ("foo", "foo", 'nothing is called "foo"', "legal here: A.qp0, A.qp0.wr[7], "),
        ("A.qp9", "A.qp9", 'nothing is called "A.qp9"', "did you mean A.qp0?"),
        ("C.qp0", "C.qp0", 'no node is called "C"', "there are: A, B"),
        ("A.qp0.wr", "A.qp0.wr", "A.qp0.wr has no wr_id", "write A.qp0.wr[7]"),
        ("B.qp0.wr", "B.qp0.wr", "B.qp0.wr has no wr_id", "write B.qp0.wr[7]"),
        ("qp0.wr[1:3]", "qp0.wr[1:3]", "A.qp0.wr[1:3] has more than a wr_id", "write A.qp0.wr[7]"),
        ("A.qp0.wr[7].status", "A.qp0.wr[7].status", "more than a wr_id", "write A.qp0.wr[7]"),
        ("A.qp0.state", "A.qp0.state", "why does not explain", "write A.qp0 or A.qp0.wr[7]"),
        ("A.qp0[3]", "A.qp0[3]", "why does not explain A.qp0[3]", "write A.qp0 or A.qp0.wr[7]"),
        ("A.mr0.rkey", "A.mr0.rkey", "why does not explain", "write A.mr0 or A.mr0[0:64]"),
        ("A.cq0.count", "A.cq0.count", "why does not explain A.cq0.count", "write A.cq0"),
        ("A.pd0.x", "A.pd0.x", "why does not explain A.pd0.x", "write A.pd0"),
        ("3", "3", "3 is not a subject of why", "name a thing: why A.qp0.wr[7]"),
        ("A.qp0.state == ERR", "==", "A.qp0.state == ERR is not", "name a thing"),
        ("EFOO", "EFOO", '"EFOO" is no errno', "returned so far: EINVAL"),
        ("ENOMEM", "ENOMEM", "no call was refused with ENOMEM", "returned so far: EINVAL"),
        ("recv-state", "-", "no call was refused with recv-state", "returned so far: EINVAL"),
    ],
)
def test_an_error_in_a_question_names_the_place_and_what_is_legal(
    lab: Lab, text: str, at: str, message: str, hint: str
) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        put(lab, text)
    assert message in wrong.value.message
    assert wrong.value.hint.startswith(hint)
    place = wrong.value.place
    assert text[place.start : place.stop] == at


def test_hint_for_an_errno_without_a_refused_call() -> None:
    lab = Lab()
    for text, hint in (
        ("EINVAL", "no call was refused so far"),
        ("EINVLA", "did you mean EINVAL?"),
    ):
        with pytest.raises(NotUnderstood) as wrong:
            put(lab, text)
        assert wrong.value.hint == hint
    with pytest.raises(NotUnderstood, match="not a subject of why") as wrong:
        put(lab, "3")
    assert wrong.value.hint.startswith("ask of an object")
