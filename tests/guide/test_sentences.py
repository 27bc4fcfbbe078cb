"""The data files of the guide: each has the type it should have, and a sentence for every word."""

import enum
import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from rdmalab import spec
from rdmalab.grammar.line import parse
from rdmalab.guide import sentences
from rdmalab.guide.explain import explain, lookup
from rdmalab.guide.fields import fields_of
from rdmalab.guide.packets import HEADERS
from rdmalab.guide.reasons import errnos
from rdmalab.guide.sentences import Concept, Errno, Usual, concepts, note, read
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.profiles import CELLS, PROFILES
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import ATTRIBUTES
from rdmalab.spec.statuses import STATUS, Side, WCStatus
from rdmalab.spec.work import WORK, WROpcode
from rdmalab.vocabulary import VOCABULARY
from tests.guide.saying import WORDS, article_text, row

DATA = Path(sentences.__file__).parent / "data"
Text = str | Sequence[str]
# The schema: file → the type of what is in it.
SCHEMA: dict[str, Any] = {
    "concepts": dict[str, Concept],
    "kinds": dict[str, Usual],
    "sentences": dict[str, dict[str, Text | Errno]],
    "shown": dict[str, list[str]],
    "statements": dict[str, dict[str, str]],
    "wire": dict[str, dict[str, str]],
}


def test_every_file_has_its_schema() -> None:
    assert {path.stem for path in DATA.iterdir()} == set(SCHEMA)
    assert all(path.suffix == ".toml" for path in DATA.iterdir())


@pytest.mark.parametrize("name", SCHEMA)
def test_a_file_is_of_its_type(name: str) -> None:
    TypeAdapter(SCHEMA[name]).validate_python(read(name))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("concepts", {"psn": {"words": []}}),
        ("concepts", {"psn": {"lines": [], "word": []}}),
        ("sentences", {"Op": {"SEND": 1}}),
        ("sentences", {"errno": {"EINVAL": {"says": "Invalid argument"}}}),
    ],
)
def test_a_schema_refuses_what_is_missing_or_unknown(name: str, content: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(SCHEMA[name]).validate_python(content)


# --------------------------------------------------------------------------- words and sentences
def enums() -> dict[str, type[enum.Enum]]:
    """The enums of the tables, by name."""
    modules = [
        importlib.import_module(f"{spec.__name__}.{info.name}")
        for info in pkgutil.iter_modules(spec.__path__)
    ]
    found = [v for m in modules for v in vars(m).values() if isinstance(v, type)]
    return {cls.__name__: cls for cls in found if issubclass(cls, enum.Enum)}


def names(members: Iterable[Any]) -> set[str]:
    return {str(member.name) for member in members}


# (file, table) → the words that need a row there
NEEDED: dict[tuple[str, str], set[str]] = {
    ("sentences", "header_field"): {field.name for cls in HEADERS.values() for field in cls.FIELDS},
    **{("sentences", name): names(enums()[name]) for name in read("sentences") if name in enums()},
    ("sentences", "errno"): {errno_name(number) for number in errnos()},
}
# (file, table) → the words that may have a row there
POSSIBLE: dict[tuple[str, str], set[str]] = {
    ("sentences", "attribute"): set(ATTRIBUTES),
    ("sentences", "limit"): set(DeviceCaps.__dataclass_fields__),
    ("sentences", "queried_limit"): set(DeviceCaps.__dataclass_fields__),
    ("sentences", "field"): set(fields_of(VOCABULARY)),
    ("wire", "attribute"): set(ATTRIBUTES),
    ("wire", "field"): {*read("sentences")["field"], "rkey"},
    **{("wire", name): names(enums()[name]) for name in read("wire") if name in enums()},
}


# table of `spec/` → each member of its enum, and the row
TABLES: dict[str, dict[Any, Any]] = {
    "statuses.py STATUS": {status: STATUS.get(status) for status in WCStatus},
    "async_events.py EVENTS": {event: EVENTS.get(event) for event in AsyncEvent},
    "work.py WORK": {opcode: WORK.get(opcode) for opcode in WROpcode},
}


def test_every_word_has_its_sentence() -> None:
    """What a new row of a table still needs: the file, the table in it, and the word."""
    lacking = [
        f"rdmalab/guide/data/{file}.toml [{table}] has no sentence for {word}"
        for (file, table), words in NEEDED.items()
        for word in sorted(words - {word for word, answer in read(file)[table].items() if answer})
    ]
    profiles = "rdmalab/spec/profiles.py"
    lacking += [
        f"{profiles}: Profile.{cell} is no cell(value, sentence)"
        for cell, sentence in CELLS.items()
        if not sentence
    ]
    lacking += [
        f"{profiles}: {name}: about is empty" for name, p in PROFILES.items() if not p.about
    ]
    for table, rows in TABLES.items():
        lacking += [f"rdmalab/spec/{table} has no row for {m.name}" for m in rows if not rows[m]]
    assert not lacking, "\n".join(lacking)


def test_every_limit_has_one_sentence() -> None:
    tables = read("sentences")
    by_name = Counter([*tables["limit"], *tables["queried_limit"]])
    fields = Counter(list(DeviceCaps.__dataclass_fields__))
    wrong = sorted(name for name in by_name | fields if by_name[name] != fields[name])
    assert not wrong, (
        f"{wrong}: one row each, of a field of DeviceCaps, in [limit] or [queried_limit]"
    )


def test_no_sentence_is_about_a_word_that_is_gone() -> None:
    known = NEEDED | POSSIBLE
    for file in ("sentences", "wire"):
        for table, rows in read(file).items():
            assert (file, table) in known or (file, table) == ("wire", "WCStatus"), (file, table)
            assert set(rows) <= known[file, table], (file, table, set(rows) - known[file, table])


def test_the_wire_of_a_status_is_of_one_that_happens() -> None:
    assert all(STATUS[WCStatus[name]].side is not Side.NEITHER for name in read("wire")["WCStatus"])


def test_a_word_without_a_sentence_reads_as_empty() -> None:
    class Op(enum.Enum):
        BLINK = 1

    assert note(Op.BLINK) == ""
    assert sentences.wire("Op", "BLINK") == ""
    assert sentences.usual("blinking") is None


def commands() -> list[str]:
    return sorted({line for row in read("kinds").values() for line in row.get("look", [])})


@pytest.mark.parametrize("line", commands())
def test_what_to_look_at_can_be_typed(line: str) -> None:
    assert parse(line, WORDS, file=True)


# --------------------------------------------------------------------------- concepts
WANTED = (
    "psn", "msn", "rnr", "doorbell", "lkey", "rkey", "inline", "fence", "solicited", "flush",
    "slots", "wqe", "profile", "wr", "cqe", "wc", "signaled", "retry", "drain", "duplicate",
    "NAK", "WELL", "NEVER", "LOST", "PENDING", "rq_empty",
)  # fmt: skip


@pytest.mark.parametrize("word", WANTED)
def test_words_of_the_trade_are_explained(word: str) -> None:
    assert lookup(word, WORDS)


def test_a_concept_says_all_its_sentences() -> None:
    for name, concept in concepts().items():
        assert all(line in article_text(f"concept {name}") for line in concept.lines)


def test_row_also_called_has_other_names() -> None:
    assert row("packet sequence number", "also called") == "packet sequence number"


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("struct ibv_sge", "ibv_sge"),
        ("enum ibv_wr_opcode", "ibv_wr_opcode"),
        ("Send Request", "wr"),
        ("Receive Request", "wr"),
        ("SR", "wr"),
        ("RR", "wr"),
        ("outstanding", "outstanding"),
        ("network order", "immediate"),
        ("htonl", "immediate"),
        ("scatter/gather", "sge"),
        ("immediate data", "immediate"),
        ("inline data", "inline data"),
        ("atomic", "atomic"),
        ("segmentation fault", "segmentation fault"),
        ("critical region", "critical region"),
        ("builder", "builder"),
        ("setter", "setter"),
        ("parent domain", "parent domain"),
    ],
)
def test_words_of_the_documents(words: str, title: str) -> None:
    assert explain(words, WORDS).title == title


def test_a_thread_domain_is_no_parent_domain() -> None:
    assert "parent domain" not in row("td", "also called")


def test_the_number_of_multicast_is_explained() -> None:
    assert "every QP that is attached to the" in article_text("0xFFFFFF")
    assert article_text("0xffffff") == article_text("qpn")
