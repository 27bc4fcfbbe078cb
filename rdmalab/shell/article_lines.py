"""Articles of help and explain in styles: headings, lines to type, and code in a sentence."""

import re
from collections.abc import Iterable, Iterator

from rdmalab.guide.article import Article, ArticleSection
from rdmalab.shell.styled_text import Fragment, Line, plain

HEADING, CODE, REMARK = "class:name", "class:pygments.name.function", "class:pygments.comment"
_WIDEST = 100
_REMARK = re.compile(r"(?:^|\s)#(?:\s|$)")


def article_lines(page: Article, width: int) -> list[Line]:
    """The rows of an article, no wider than 100 columns; its first row is the title."""
    title, sections = page.laid(min(width, _WIDEST))
    rows = [plain(row, "class:title") for row in title]
    for section, texts in sections:
        rows += _section(section, texts)
    return rows


def _section(section: ArticleSection, rows: list[str]) -> Iterator[Line]:
    """The rows of a section; a heading at the margin is a row of its own, after an empty one."""
    if section.is_apart and section.heading:
        yield from (plain(rows[0]), plain(rows[1], HEADING))
        rows = rows[2:]
    yield from (map(_typed, rows) if section.is_code else _prose(rows))


def _typed(row: str) -> Line:
    """A line to type, and the remark after it."""
    found = _REMARK.search(row)
    stop = found.start() if found else len(row)
    return [*plain(row[:stop], CODE), *plain(row[stop:], REMARK)]


def _prose(rows: Iterable[str]) -> Iterator[Line]:
    """Sentences; what stands between backquotes is code, also over the end of a row."""
    texts = list(rows)
    if sum(text.count("`") for text in texts) % 2:
        yield from map(plain, texts)  # a backquote that is meant
        return
    is_code = False
    for text in texts:
        line: list[Fragment] = []
        for number, piece in enumerate(text.split("`")):
            is_code ^= number > 0
            line += plain(piece, CODE if is_code else "")
        yield [fragment for fragment in line if fragment[1]] or plain("")
