"""The whole guide: every article once, in a chapter, with a table of contents."""

from collections import Counter

from rdmalab.guide.book import CHAPTERS, OTHERS, WIDEST, chapters, lines
from rdmalab.guide.explain import entries, written
from rdmalab.guide.usual import kind_of
from rdmalab.vocabulary import VOCABULARY

ENTRIES = list(entries(VOCABULARY))
TEXT = list(lines(VOCABULARY))


def test_every_entry_stands_in_one_chapter() -> None:
    found = Counter(entry.name for members in chapters(VOCABULARY).values() for entry in members)
    assert found == Counter(entry.name for entry in ENTRIES)


def test_every_article_is_printed() -> None:
    printed = Counter(TEXT)
    titles = Counter(written(entry).lines(WIDEST)[0] for entry in ENTRIES)
    assert all(printed[title] >= count for title, count in titles.items())
    assert len(TEXT) > 5 * len(ENTRIES)


def test_the_contents_name_chapters_and_articles_in_their_order() -> None:
    book = list(chapters(VOCABULARY))
    assert [c for c in book if c != OTHERS] == list(CHAPTERS)
    begins = TEXT.index("1  Terms")
    contents = "\n".join(TEXT[:begins])
    places = [contents.index(f"{n:>3}  {chapter}") for n, chapter in enumerate(book, 1)]
    assert places == sorted(places)
    assert all(entry.name.split()[-1] in contents for entry in ENTRIES)


def test_no_line_is_too_wide() -> None:
    assert max(map(len, TEXT)) <= WIDEST


def test_every_kind_of_a_chapter_exists() -> None:
    there = {kind_of(entry) for entry in ENTRIES}
    assert {kind for kinds in CHAPTERS.values() for kind in kinds} <= there
