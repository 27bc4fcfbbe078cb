"""From a word to its article: prefixes and case are free, the likeliest meaning comes first."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial

from rdmalab.command import Command, NotUnderstood
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.guide import (
    attributes,
    builders,
    devices,
    logs,
    packets,
    reasons,
    regions,
    states,
    statuses,
    usage,
    work,
)
from rdmalab.guide.article import Article, Section, article
from rdmalab.guide.concepts import CONCEPTS
from rdmalab.guide.entry import Entry, normal

_NEAR = "did you mean"
_PREFIX = "ibv_"


def explain(text: str, vocabulary: Mapping[str, Command]) -> Article:
    """The article on a word or phrase; NotUnderstood, with one suggestion, where there is none."""
    found, read = lookup(text, vocabulary), None
    if not found and (read := logs.read(text, vocabulary)) is not None:
        found = lookup(read.word, vocabulary)
    if not found:
        message = f"{quoted(text)} is not explained anywhere"
        raise NotUnderstood(message, hint=_hint(text, vocabulary))
    first, *others = found
    said = first.write()
    if read is not None:
        said.sections.insert(0, Section("read", list(read.said)))
    elif others:
        said.sections.append(Section("also", [_others(others)]))
    return said


def lookup(text: str, vocabulary: Mapping[str, Command]) -> list[Entry]:
    """All that a word can mean, likeliest first; one spelled exactly so goes before the others."""
    index = _index(vocabulary)
    for reading in _readings(text, vocabulary):
        if reading in index:
            return sorted(index[reading], key=lambda e: text not in (e.name, *e.words))
    return []


def words(vocabulary: Mapping[str, Command]) -> list[str]:
    """Everything that can be explained, once, by its shortest name: what completion offers."""
    shortest = [min((e.name, *e.words), key=len) for e in entries(vocabulary)]
    named = [e.name for e in entries(vocabulary)]
    return list(dict.fromkeys([*shortest, *named]))


def entries(vocabulary: Mapping[str, Command]) -> Iterator[Entry]:
    """Every entry there is, likelier meanings of a word first."""
    yield from _of_the_book()
    for command in vocabulary.values():
        yield from usage.entries(command)


def _others(others: Iterable[Entry]) -> str:
    return "; ".join(f"{_one(other.kind)}: explain {other.name}" for other in others)


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _readings(text: str, vocabulary: Mapping[str, Command]) -> Iterator[str]:
    """As said; without the prefix of libibverbs; `post_send SEND` is about SEND."""
    plain = normal(text)
    yield plain
    yield plain.removeprefix(_PREFIX)
    verb, _, rest = text.strip().partition(" ")
    if rest and verb.removeprefix(_PREFIX) in vocabulary:
        yield normal(rest)


def _hint(text: str, vocabulary: Mapping[str, Command]) -> str:
    """The nearest word; where nothing is near, how to find out."""
    near = suggest(text.strip().removeprefix(_PREFIX), _spellings(vocabulary))
    return near if near.startswith(_NEAR) else "help lists the commands; try: explain psn"


def _spellings(vocabulary: Mapping[str, Command]) -> list[str]:
    return [word for entry in entries(vocabulary) for word in (*entry.words, entry.name)]


def _index(vocabulary: Mapping[str, Command]) -> dict[str, list[Entry]]:
    index = {key: list(found) for key, found in _index_of_the_book().items()}
    for command in vocabulary.values():
        for entry in usage.entries(command):
            _file(index, entry)
    return index


@cache
def _index_of_the_book() -> dict[str, list[Entry]]:
    index: dict[str, list[Entry]] = {}
    for entry in _of_the_book():
        _file(index, entry)
    return index


def _file(index: dict[str, list[Entry]], entry: Entry) -> None:
    for key in dict.fromkeys(map(normal, (entry.name, *entry.words))):
        index.setdefault(key, []).append(entry)


@cache
def _of_the_book() -> tuple[Entry, ...]:
    """All that needs no vocabulary."""
    return (
        *states.entries(),
        *statuses.entries(),
        *_concepts(),
        *work.entries(),
        *regions.entries(),
        *attributes.entries(),
        *packets.entries(),
        *reasons.entries(),
        *devices.entries(),
        *builders.entries(),
        *statuses.entries_of_the_unseen(),
    )


def _concepts() -> Iterator[Entry]:
    for name, concept in CONCEPTS.items():
        yield Entry(f"concept {name}", "word", (name, *concept.words), partial(_concept, name))


def _concept(name: str) -> Article:
    concept = CONCEPTS[name]
    rows = [("", concept.lines), ("also called", ", ".join(concept.words))]
    return article(name, "word", rows, concept.see)
