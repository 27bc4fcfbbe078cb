import pytest

from rdmalab.guide.questions import asked


@pytest.mark.parametrize(
    ("text", "words", "is_question"),
    [
        ("rnr", "rnr", False),
        ("what is rnr?", "rnr", True),
        ("What's an RNR NAK?", "RNR NAK", True),
        ("what does rnr_retry mean", "rnr_retry", True),
        ("post_send A.qp0", "post_send A.qp0", False),
        ("how", "how", False),
        ("what is the", "the", True),
        ("", "", False),
        (" ? ", "", False),
    ],
)
def test_the_words_that_only_ask_are_left_out(text: str, words: str, *, is_question: bool) -> None:
    found = asked(text)
    assert (" ".join(found.words), found.is_question) == (words, is_question)
