"""From a word to its article: prefixes and case are free, the likeliest meaning comes first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from rdmalab.command import Command, NotUnderstood, Noun
from rdmalab.grammar.hints import quoted, suggest, verb_of, with_article
from rdmalab.guide import (
    attributes,
    connections,
    devices,
    fields,
    logs,
    packets,
    parts,
    reasons,
    states,
    statuses,
    structs,
    usage,
    work,
)
from rdmalab.guide.article import Article, ArticleSection, article
from rdmalab.guide.entry import Entry, normal
from rdmalab.guide.sentences import concepts, shown
from rdmalab.guide.usual import complete
from rdmalab.spec.absent import not_emulated

_NEAR = "did you mean"
_PREFIX = "ibv_"
_OBJECTS = frozenset(f"concept {name}" for name in (*(noun.value for noun in Noun), "hca"))
NO_MORE: tuple[Entry, ...] = ()


class Answer(NamedTuple):
    """The article, and the entry it belongs to."""

    article: Article
    entry: Entry


def explain(
    text: str, vocabulary: Mapping[str, Command], more: Iterable[Entry] = NO_MORE
) -> Article:
    """The article on a word or phrase; NotUnderstood, with one suggestion, where there is none."""
    return answer(text, vocabulary, more).article


def answer(text: str, vocabulary: Mapping[str, Command], more: Iterable[Entry] = NO_MORE) -> Answer:
    """The article on a word or phrase and its entry; NotUnderstood where there is none.

    more: entries of higher rooms, such as the causes of the doctor.
    """
    found, read = lookup(text, vocabulary, more), None
    if not found and "\n" in text.strip():
        several = logs.findings(text, vocabulary)
        if len(several) > 1:
            page = _of_log(several, len(text.splitlines()))
            return Answer(page, Entry("log", "log", (), lambda: page))
    if not found and (read := logs.read(text, vocabulary)) is not None:
        found = lookup(read.word, vocabulary)
    if not found and (reason := not_emulated(text)):
        message = f"{quoted(text)} is not emulated: {reason}"
        raise NotUnderstood(message, hint="rdmalab capabilities lists what is emulated")
    if not found:
        message = f"{quoted(text)} is not explained anywhere"
        raise NotUnderstood(message, hint=_hint(text, vocabulary))
    first, *others = found
    page = written(first)
    if read is not None:
        page.sections.insert(0, ArticleSection("read", list(read.facts)))
    elif others:
        page.sections.append(ArticleSection("also", [_others(others)]))
    return Answer(page, first)


def _of_log(several: Sequence[logs.Finding], lines: int) -> Article:
    """The article on a log with several subjects: what is read of each, and which explains it."""
    sections, words = list[ArticleSection](), list[str]()
    for found, line, times in several:
        words.append(found.word.removeprefix("concept "))
        where = f"line {line}" if times == 1 else f"{times} times, first in line {line}"
        sections.append(ArticleSection(words[-1], [where, *found.facts]))
    title = f"{len(several)} subjects in {lines} lines"
    return Article(title, "log", sections, [f"explain {word}" for word in words])


def written(entry: Entry) -> Article:
    """The whole article of one entry."""
    page = complete(entry, entry.write())
    page.sections += reasons.differing(entry)
    if scenario := shown().get(entry.name):
        page.sections.append(ArticleSection("shown by", [f"load {scenario}"]))
    return page


def lookup(
    text: str, vocabulary: Mapping[str, Command], more: Iterable[Entry] = NO_MORE
) -> list[Entry]:
    """All that a word can mean, likeliest first. An entry with exactly this spelling goes first."""
    index = _index(vocabulary, more)
    for reading in _readings(text, vocabulary):
        if reading in index:
            found = sorted(index[reading], key=lambda e: not _is_spelled(text, e))
            return list(dict.fromkeys([*_function(text, index), *found]))
    return []


def _is_spelled(text: str, entry: Entry) -> bool:
    """Whether it has this spelling; a field of a header comes after a flag of the same name.

    An object of the lab, such as PD, and the HCA itself, are meant in capitals, too.
    """
    if entry.name in _OBJECTS:
        return normal(text) in map(normal, entry.words)
    return text in (entry.name, *entry.words) and entry.kind != packets.FIELD


def _function(text: str, index: Mapping[str, list[Entry]]) -> list[Entry]:
    """`ibv_wr_send` in lower case is the function; the opcode is IBV_WR_SEND."""
    plain = text.strip()
    if not plain.startswith(_PREFIX):
        return []
    return index.get(normal(f"verb {plain.removeprefix(_PREFIX)}"), [])


def words(vocabulary: Mapping[str, Command]) -> list[str]:
    """Everything that can be explained, once, by its shortest name: what completion offers."""
    shortest = [min((e.name, *e.words), key=len) for e in entries(vocabulary)]
    named = [e.name for e in entries(vocabulary)]
    return list(dict.fromkeys([*shortest, *named]))


def entries(vocabulary: Mapping[str, Command]) -> Iterator[Entry]:
    """Every entry there is, likelier meanings of a word first."""
    yield from _words_of_the_book()
    yield from fields.entries(vocabulary)
    yield from structs.entries(vocabulary)
    yield from _reasons_of_the_book()
    for command in vocabulary.values():
        yield from usage.entries(command)
    yield from packets.field_entries()


def _others(others: Iterable[Entry]) -> str:
    return "; ".join(f"{with_article(other.kind)}: explain {other.name}" for other in others)


def _readings(text: str, vocabulary: Mapping[str, Command]) -> Iterator[str]:
    """As written, without the prefix of libibverbs, without a verb: `post_send SEND` is SEND."""
    plain = normal(text)
    yield plain
    yield plain.removeprefix("struct_").removeprefix("enum_")  # the keywords of C
    yield plain.removeprefix(_PREFIX)
    if " " not in text.strip():  # `wc.status 5` is a line of a log
        yield plain.rpartition(".")[2]  # the field of a struct: wr.wr.rdma.rkey
    verb, _, rest = text.strip().partition(" ")
    if rest and verb.removeprefix(_PREFIX) in vocabulary:
        yield normal(rest)


def _hint(text: str, vocabulary: Mapping[str, Command]) -> str:
    """The nearest word; where nothing is near, how to find out."""
    if text.strip().startswith("--"):
        return "in a shell, rdmalab explain --all prints the whole guide"
    spellings = [word for entry in entries(vocabulary) for word in (*entry.words, entry.name)]
    near = suggest(verb_of(text), spellings)
    return near if near.startswith(_NEAR) else "help all lists the commands; try: explain psn"


def _index(vocabulary: Mapping[str, Command], more: Iterable[Entry]) -> dict[str, list[Entry]]:
    index: dict[str, list[Entry]] = {}
    for entry in (*entries(vocabulary), *more):
        for key in dict.fromkeys(map(normal, (entry.name, *entry.words))):
            index.setdefault(key, []).append(entry)
    return index


@cache
def _words_of_the_book() -> tuple[Entry, ...]:
    """The likeliest meanings of a word."""
    return (
        *states.entries(),
        *statuses.entries(),
        *_concepts(),
        *work.entries(),
        *parts.word_entries(),
        *attributes.entries(),
    )


@cache
def _reasons_of_the_book() -> tuple[Entry, ...]:
    """The other names in the tables."""
    return (
        *packets.entries(),
        *reasons.entries(),
        *connections.entries(),
        *devices.entries(),
        *parts.builder_entries(),
        *reasons.difference_entries(),
        *parts.entries(),
        *statuses.entries_of_the_unseen(),
    )


def _concepts() -> Iterator[Entry]:
    for name, concept in concepts().items():
        yield Entry(f"concept {name}", "word", (name, *concept.words), partial(_concept, name))


def _concept(name: str) -> Article:
    concept = concepts()[name]
    rows = [("", concept.lines), ("also called", ", ".join(concept.words))]
    return article(name, "word", rows, concept.see)


VERSION = 1


def document(found: Answer) -> dict[str, Any]:
    """Document that `rdmalab explain --json` prints."""
    article, entry = found
    return {
        "version": VERSION,
        "name": entry.name,
        "kind": article.kind,
        "title": article.title,
        "sections": [{"heading": s.heading, "lines": s.lines} for s in article.sections],
        "see_also": article.see_also,
    }
