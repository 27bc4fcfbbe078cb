"""Causes that have a name, `rnr-infinite`: articles of texts that somebody hands in."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from rdmalab.guide.article import Article, article
from rdmalab.guide.entry import Entry

KIND = "cause"


def entries(texts: Mapping[str, Iterable[str]]) -> Iterator[Entry]:
    """Slug → its lines: one entry each, for `more` of `explain`."""
    for slug, lines in texts.items():
        yield Entry(f"cause {slug}", KIND, (slug,), partial(_article, slug, tuple(lines)))


def _article(slug: str, lines: tuple[str, ...]) -> Article:
    return article(slug, KIND, [("", lines)], ["why"])
