"""Where devices differ from a document: an article for each, a line in the articles concerned."""

from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, Section, article
from rdmalab.guide.entry import Entry, Sort, normal
from rdmalab.spec.document_differences import DIFFERENCES, GUIDE_LESSON, guide_note, refused_on
from rdmalab.spec.states import ATTRIBUTES

_GUIDE = "bring-up-guide"
_KIND = "a document and devices"


def entries() -> Iterator[Entry]:
    """Each difference, and the attributes that a bring-up guide lists for too many types."""
    for name in DIFFERENCES:
        yield Entry(name, _KIND, (), partial(_article, name))
    yield Entry(_GUIDE, _KIND, ("bring-up guide",), _guide_article)


def _article(name: str) -> Article:
    row = DIFFERENCES[name]
    rows: list[Row] = [
        ("document", row.document),
        ("devices", row.devices),
        ("because", row.reason),
        ("source", row.source),
        ("shown by", f"load {row.lesson}"),
    ]
    return article(name, _KIND, rows, [f"explain {row.about[0]}"])


def _guide_article() -> Article:
    rows: list[Row] = [
        (
            "document",
            "a widely read guide lists attributes for all queue pairs, all "
            "connected or all unconnected ones",
        ),
        *((name, f"refused on {' '.join(types)}") for name, types in _listed()),
        ("shown by", f"load {GUIDE_LESSON}"),
    ]
    return article(_GUIDE, _KIND, rows, ["explain attr-surplus", "explain modify_qp UD"])


def _listed() -> Iterator[tuple[str, list[str]]]:
    for name, row in ATTRIBUTES.items():
        if types := refused_on(row.mask):
            yield name, [qp_type.name for qp_type in types]


def differing(entry: Entry) -> list[Section]:
    """The section `differs`, if a document and devices disagree about this word."""
    said = [*_said(entry), *_of_the_guide(entry)]
    return [Section("differs", said)] if said else []


def _said(entry: Entry) -> Iterator[str]:
    words = _words(entry)
    for name, row in DIFFERENCES.items():
        if words & {normal(word) for word in row.about}:
            yield f"{row.brief}: explain {name}"


def _words(entry: Entry) -> set[str]:
    return {normal(word) for word in (entry.name, *entry.words)}


_OF_THE_GUIDE = {normal("attr-surplus"), normal("modify_qp")}


def _of_the_guide(entry: Entry) -> Iterator[str]:
    """Attributes that a bring-up guide lists for more types than devices have them on."""
    if entry.about is not None and entry.about.sort is Sort.ATTRIBUTE:
        mask = ATTRIBUTES[entry.about.key].mask
        if note := guide_note(refused_on(mask), mask):
            yield note
    elif _words(entry) & _OF_THE_GUIDE:
        yield f"a widely read guide lists more attributes: explain {_GUIDE}"
