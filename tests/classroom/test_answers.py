"""Answers: numbers by value, words without regard to case and prefix."""

from rdmalab.classroom.answers import listed, same_answer
from tests.each import each


@each(
    "given, right, same",
    [
        ("ENOMEM", "12", True), ("12", "ENOMEM", True), ("enomem", "ENOMEM", True),
        ("0x10", "16", True), ("IBV_WC_SUCCESS", "SUCCESS", True), ("success ", "SUCCESS", True),
        ("IBV_QPS_ERR", "ERR", True), ("IBV_ACCESS_REMOTE_WRITE", "REMOTE_WRITE", True),
        ("IBV_MIG_ARMED", "ARMED", True), ("ibv_send_fence", "FENCE", True),
        ("rnr-infinite", "rnr-infinite", True),
        ('"hello"', "hello", True),
        ("", "", False), (" ", "0", False), ("16.0", "16", True), ("SUCCES", "SUCCESS", False),
        ("EINVAL", "ENOMEM", False), ("-1", "1", False),
    ],
)  # fmt: skip
def test_an_answer_is_the_same_or_not(given: str, right: str, same: bool) -> None:
    assert same_answer(given, right) is same


@each(
    "number, place",
    [("1", 1), ("12", 12), ("0", 0), ("", 0), ("a", 0), ("\u0661", 0), ("\u00b2", 0),
     ("9" * 5000, 0)],
)  # fmt: skip
def test_the_number_of_a_choice_has_ascii_digits(number: str, place: int) -> None:
    assert listed(number) == place
