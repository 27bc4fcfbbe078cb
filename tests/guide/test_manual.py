"""The manual: how a page is read, which words find it, how it is printed."""

import pytest

from rdmalab.guide import manual
from rdmalab.guide.entry import normal
from rdmalab.guide.explain import lookup
from rdmalab.guide.manual import (
    PAGES,
    ManualPlace,
    Shape,
    article,
    asked,
    find,
    page,
    parts_of,
    titles,
)
from tests.guide.saying import WORDS

TEXT = """\
# Title: of a page

One `code` and **two
words**, [a link](x.md).

## A heading
<!-- words: alpha, beta gamma -->

- first
- second `x`

| key | does |
|---|---|
| `F1` | `help` |

```lab new
use rc_pair

run
```
"""


def test_a_page_is_read_as_parts_and_blocks() -> None:
    first, second = parts_of(TEXT)
    assert first.heading == "Title: of a page"
    assert first.blocks[0].texts == ["One `code` and two words, a link."]
    assert [piece.text for piece in first.blocks[0].cells[0] if piece.is_strong] == [
        "two", " ", "words",
    ]  # fmt: skip
    assert [piece.href for piece in first.blocks[0].cells[0] if piece.href] == ["x.md"]
    assert (second.heading, second.words) == ("A heading", ["alpha", "beta gamma"])
    assert [block.shape for block in second.blocks] == [
        Shape.ITEM, Shape.ITEM, Shape.HEAD, Shape.ROW, Shape.CODE,
    ]  # fmt: skip
    assert second.blocks[-2].texts == ["F1", "`help`"]
    assert second.blocks[-1].language == "lab new"


def test_a_page_is_printed_with_its_headings_at_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual, "page", lambda name: manual.ManualPage(name, parts_of(TEXT)))
    assert article([ManualPlace("x")]).lines(60) == [
        "Title: of a page  (manual)",
        "  One `code` and two words, a link.",
        "",
        "A heading",
        "    - first",
        "    - second `x`",
        "",
        "  F1   `help`",
        "",
        "    use rc_pair",
        "",
        "    run",
    ]
    assert article([ManualPlace("x", 1)]).lines(60)[:2] == [
        "A heading  (manual: x)", "    - first",
    ]  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_its_title_and_an_introduction(name: str) -> None:
    first, *others = page(name).parts
    assert titles()[name] == first.heading == page(name).title
    assert first.blocks[0].shape is Shape.TEXT
    assert len(first.heading) <= 60
    assert others
    assert all(part.words for part in others)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [40, 80, 100])
def test_no_row_of_a_page_is_wider_than_the_screen(name: str, width: int) -> None:
    assert max(map(len, article([ManualPlace(name)]).lines(width))) <= width


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("keys", "keys"), ("search", "screen"), ("copy", "screen"), ("zoom", "screen"),
        ("notes", "screen"),
        ("color", "screen"), ("colours", "screen"), ("themes", "screen"), ("F5", "keys"),
        ("exit codes", "environment"), ("NO_COLOR", "screen"), ("grade", "teaching"),
        ("settings", "environment"), ("wireshark", "python"), ("undo", "time"), ("blind", "plain"),
    ],
)  # fmt: skip
def test_a_word_finds_its_part(word: str, place: str) -> None:
    assert find(word)[0].page == place


def test_a_word_of_several_parts_shows_all_of_them() -> None:
    found = article(find("search"))
    headings = [section.heading for section in found.sections if section.is_apart]
    assert found.title == "Long answers"
    assert list(filter(None, headings)) == ["Find and filter in the wire", "At the prompt"]
    assert found.see_also == ["help screen", "help keys"]
    assert find("no such word") == []


def test_copy_is_of_text_on_the_screen_and_not_of_the_work_of_others() -> None:
    assert [place.page for place in find("copy")] == ["screen"]
    assert [place.page for place in find("copied work")] == ["teaching"]


def test_a_term_of_rdma_is_left_to_explain() -> None:
    """`help WORD` asks the manual first: a word there must not hide an article."""
    own = {normal(word) for word in (*PAGES, *WORDS)}
    hidden = [
        word for word in manual.words()
        if normal(word) not in own and lookup(word, WORDS) and word not in BOTH
    ]  # fmt: skip
    assert hidden == []


BOTH = ("profiles", "profile", "crash", "compare")
"""Words that mean one thing for the program and another for RDMA."""


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
