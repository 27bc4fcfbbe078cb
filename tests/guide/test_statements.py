"""The statements of the documents are numbered without gaps, and said in sentences."""

from rdmalab.guide.sentences import MOST_PER_ITEM, not_applicable, page, statements


def test_they_are_numbered_without_gaps() -> None:
    assert list(statements()) == [f"S{number:03}" for number in range(1, 261)]


def test_each_is_one_sentence_and_no_two_of_a_page_are_the_same() -> None:
    lines = [(page(number), sentence) for number, sentence in statements().items()]
    assert len(set(lines)) == len(lines)
    assert all(sentence[-1] in ".?" or "? " in sentence for sentence in statements().values())


def test_pages_begin_where_they_begin() -> None:
    firsts = {page(number): number for number in reversed(statements())}
    assert firsts == {
        "ibv_post_send": "S001",
        "ibv_wr_start": "S119",
        "ibv_post_srq_recv": "S169",
        "ibv_modify_qp": "S220",
    }


def test_few_are_excused_and_each_with_a_reason() -> None:
    assert set(not_applicable()) <= set(statements())
    assert len(not_applicable()) <= 20
    assert all(len(reason.split()) > 5 for reason in not_applicable().values())
    assert MOST_PER_ITEM == 5
