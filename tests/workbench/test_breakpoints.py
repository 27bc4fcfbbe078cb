"""Setting, listing and deleting breakpoints; nonsense gives one clear error and sets nothing."""

import pytest

from tests.labs import everything, lab_of, misread, well


def test_they_are_numbered_listed_and_deleted() -> None:
    lab = lab_of()
    assert well(lab, "break qp0.state == ERR").value == "1: break A.qp0.state == ERR"
    assert well(lab, "watch B.mr0[100:105]").value == "2: watch B.mr0[100:105]"
    assert [(b.number, str(b)) for b in well(lab, "breaks").value] == [
        (1, "break A.qp0.state == ERR"),
        (2, "watch B.mr0[100:105]"),
    ]
    assert well(lab, "delete 1").value == "deleted break A.qp0.state == ERR"
    assert well(lab, "break idle").value == "3: break idle"  # a number is never given twice
    assert well(lab, "delete").value == "2 deleted"
    assert well(lab, "breaks").value == []


def test_setting_one_is_no_event() -> None:
    lab = lab_of()
    before = everything(lab)
    for line in ("break idle", "watch now", "breaks", "trace idle", "delete"):
        well(lab, line)
    assert everything(lab) == before


@pytest.mark.parametrize("word", ["break", "watch", "trace"])
@pytest.mark.parametrize(
    ("question", "message", "start", "hint"),
    [
        ("A.qp9.state == ERR", 'nothing is called "A.qp9"', 0, "did you mean A.qp0?"),
        ("A.qp0.stat", 'A.qp0 has no "stat"', 0, "did you mean state?"),
        ("A.qp0.state ==", "a name or a value is missing here", 14, "write A.qp0.state or 12"),
        ("A.mr0[0:9999]", "A.mr0 has 4096 bytes", 0, "write A.mr0[0:64]"),
        ("A.qp0.state == DEAD", '"DEAD" is no QP state', 15, "did you mean"),
    ],
)
def test_a_wrong_condition_of_break_is_refused_with_its_place(
    word: str, question: str, message: str, start: int, hint: str
) -> None:
    lab = lab_of()
    error = misread(lab, f"{word} {question}")
    assert error.message.startswith(message)
    assert error.place.start == len(word) + 1 + start
    assert hint in error.hint or hint == "did you mean"
    assert not lab.session.breakpoints


def test_of_what_was_destroyed_nothing_can_be_asked() -> None:
    lab = lab_of("destroy_qp A.qp0")
    reply = lab.do("break A.qp0.state == ERR")[-1]
    assert "A.qp0 was destroyed" in str(reply.error or reply.refusal)
    assert not lab.session.breakpoints


def test_deleting_what_is_not_there() -> None:
    lab = lab_of()
    assert misread(lab, "delete 3").hint == "no breakpoint is set"
    well(lab, "break idle")
    error = misread(lab, "delete 3")
    assert (error.message, error.hint) == ("no breakpoint has number 3", "there is: 1")
    assert len(well(lab, "breaks").value) == 1


def test_what_is_no_yes_or_no_is_watched_or_compared() -> None:
    lab = lab_of()
    replies = lab.do("break A.qp0.sq.used")[-1].error
    assert replies is not None
    assert "watch A.qp0.sq.used" in replies.hint
    assert not lab.session.breakpoints
