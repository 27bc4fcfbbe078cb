"""A roster: the students of a class, from a list of ids or a table of Moodle, Canvas, Gradescope.

The columns of a table are found by its header. A student has one id, and other words by which a
file or a folder may name the same student: name, email address, number in a download.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO

_IDS = (
    "idnumber", "sisuserid", "sid", "studentid", "id", "student", "username", "sisloginid", "login",
    "userid", "matriculationnumber", "matrikelnummer",
)  # fmt: skip
"""Headers of columns with an id, without blanks; the first that a table has is the id."""
_NAMES = ("name", "fullname", "studentname", "displayname", "vollständigername")
_FIRST = ("firstname", "givenname", "vorname")
_LAST = ("surname", "lastname", "familyname", "nachname")
_EMAILS = ("email", "emailaddress", "mail", "mailaddress", "emailadresse", "emailadress")
_NUMBERS = ("identifier", "teilnehmernr", "participant")
"""The number of a participant, which folders of a download have: `Participant 12345`."""
_HEADS = frozenset((*_IDS, *_NAMES, *_FIRST, *_LAST, *_EMAILS, *_NUMBERS))
_TOTALS = "pointspossible"  # the second row of a gradebook of Canvas
_SEPARATORS = ";\t,"
_APART = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Person:
    """A student. words: other words that name the same student, each as `folded` returns it."""

    id: str
    name: str = ""
    email: str = ""
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Roster:
    """The students of a class, in the order of the file. wrong: rows that name no student."""

    people: tuple[Person, ...] = ()
    wrong: tuple[str, ...] = ()
    _known: Mapping[str, Person | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.people)

    @property
    def ids(self) -> list[str]:
        """The ids, in the order of the file."""
        return [each.id for each in self.people]

    def named(self, words: Iterable[str]) -> Person | None:
        """The only student that some of these words name; None: none, or several."""
        found = {id(each): each for word in words if (each := self._known.get(folded(word)))}
        return next(iter(found.values())) if len(found) == 1 else None


def folded(text: str) -> str:
    """A name without case, accents, blanks and signs: `Zoë D'Arc` is `zoedarc`."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return _APART.sub("", "".join(c for c in plain if not unicodedata.combining(c)))


def ids_of(text: str) -> list[str]:
    """The ids of a roster, each once, in its order; header and empty lines are left out."""
    return roster_of(text).ids


def roster_of(text: str) -> Roster:
    """The roster in a text; of two rows with one id the first counts."""
    people: dict[str, Person] = {}
    wrong = []
    rows = list(_rows(text))
    columns = _columns(rows[0][1]) if rows else {}
    for line, row in rows[1:] if columns else rows:
        if folded("".join(row)) == _TOTALS or folded(row[0]) == _TOTALS:
            continue
        person = _person(row, columns)
        if person is None:
            wrong.append(f"line {line} has no id: {', '.join(filter(None, row))}")
        else:
            people.setdefault(person.id, person)
    everyone = tuple(people.values())
    return Roster(everyone, tuple(wrong), _by_word(everyone))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each row that is not empty."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(_SEPARATORS, key=first.count)
    import csv  # the page in a browser has no tables to read, and not this module

    reader = csv.reader(StringIO(text.removeprefix("\ufeff")), delimiter=separator)
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells):
            yield reader.line_num, cells


def _columns(row: Sequence[str]) -> dict[str, int]:
    """Header → number of its column; empty if the row is no header."""
    heads = [_head(cell) for cell in row]
    if not _HEADS.intersection(heads):
        return {}
    return {head: heads.index(head) for head in heads if head in _HEADS}


def _head(cell: str) -> str:
    return _APART.sub("", cell.casefold())


def _person(row: Sequence[str], columns: Mapping[str, int]) -> Person | None:
    """The student of a row; None if it has no id. Without columns the first cell is the id."""
    if not columns:
        return _made(row[0], *row[1:3]) if row[0] else None
    cells = {head: row[n] for head, n in columns.items() if n < len(row) and row[n]}
    name = _first(cells, _NAMES)
    if not name and (parts := [_first(cells, _FIRST), _first(cells, _LAST)]) != ["", ""]:
        name = " ".join(filter(None, parts))
    ids = [cells[head] for head in _IDS if head in cells]
    if "student" in cells and {"id", "sisuserid"} & columns.keys():  # Canvas: it is the name
        ids.remove(cells["student"])
        name = name or cells["student"]
    email = _first(cells, _EMAILS)
    if not ids and email:
        ids = [email.partition("@")[0]]
    if not ids:
        return None
    numbers = re.findall(r"\d+", _first(cells, _NUMBERS))
    return _made(ids[0], name, email, *ids[1:], *numbers)


def _first(cells: Mapping[str, str], heads: Sequence[str]) -> str:
    return next((cells[head] for head in heads if head in cells), "")


def _made(own: str, name: str = "", email: str = "", *others: str) -> Person:
    if "@" in name and not email:
        name, email = "", name
    words = [own, name, email, email.partition("@")[0], *_turned(name), *others]
    return Person(own, name, email, frozenset(filter(None, map(folded, words))))


def _turned(name: str) -> list[str]:
    """The name with its parts in another order: `Doe Jane`, `Jane Doe` of `Doe, Jane`."""
    last, comma, first = name.partition(",")
    if comma:
        return [f"{first} {last}"]
    parts = name.split()
    return [" ".join([*parts[n:], *parts[:n]]) for n in range(1, len(parts))]


def _by_word(people: Sequence[Person]) -> dict[str, Person | None]:
    """Word → the student of that word; None: there are several. An id always has one."""
    found: dict[str, Person | None] = {}
    for person in people:
        for word in person.words:
            found[word] = None if word in found else person
    return found | {folded(person.id): person for person in people}
