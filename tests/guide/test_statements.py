"""The statements of the documents are numbered without gaps, and said in sentences."""

from rdmalab.guide.statements import MOST_PER_ITEM, NOT_APPLICABLE, STATEMENTS, page


def test_they_are_numbered_without_gaps() -> None:
    assert list(STATEMENTS) == [f"S{number:03}" for number in range(1, 261)]


def test_each_is_one_sentence_and_no_two_of_a_page_are_the_same() -> None:
    said = [(page(number), sentence) for number, sentence in STATEMENTS.items()]
    assert len(set(said)) == len(said)
    assert all(sentence[-1] in ".?" or "? " in sentence for sentence in STATEMENTS.values())


def test_pages_begin_where_they_begin() -> None:
    firsts = {page(number): number for number in reversed(STATEMENTS)}
    assert firsts == {
        "ibv_post_send": "S001",
        "ibv_wr_start": "S119",
        "ibv_post_srq_recv": "S169",
        "ibv_modify_qp": "S220",
    }


def test_few_are_excused_and_each_with_a_reason() -> None:
    assert set(NOT_APPLICABLE) <= set(STATEMENTS)
    assert len(NOT_APPLICABLE) <= 20
    assert all(len(reason.split()) > 5 for reason in NOT_APPLICABLE.values())
    assert MOST_PER_ITEM == 5
