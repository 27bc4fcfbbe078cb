"""Roster of a class, and the owner of a file: by roster, folder or name, never by its text.

In a download of a learning platform the platform names the student, in the name of the folder or
in the beginning of the name of the file; what follows there was chosen by the student and is not
asked. Elsewhere the folders and the name of the file are asked, the outermost first; without a
roster only the outermost.

The columns of a table are found by its header. A student has one id, and other words by which a
file or a folder may name the same student: name, email address, number in a download.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from io import StringIO
from pathlib import PurePath

from rdmalab.spec.row import dataclass

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


def roster_of(text: str) -> Roster:
    """The roster in a text; of two rows with one id the first counts, and the other is reported.

    In a list without a header, a line that begins with # is a comment.
    """
    people: dict[str, Person] = {}
    wrong = []
    rows = list(_rows(text))
    columns = _columns(rows[0][1]) if rows else {}
    for line, row in rows[1:] if columns else rows:
        is_comment = not columns and row[0].startswith("#")
        if is_comment or _TOTALS in (folded("".join(row)), folded(row[0])):
            continue
        person = _person(row, columns)
        if person is None:
            wrong.append(f"line {line} has no id: {', '.join(filter(None, row))}")
        elif person.id in people:
            wrong.append(f"line {line} has the id {person.id} of an earlier line: leave one out")
        else:
            people[person.id] = person
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
    heads = [_APART.sub("", cell.casefold()) for cell in row]
    if not _HEADS.intersection(heads):
        return {}
    return {head: heads.index(head) for head in heads if head in _HEADS}


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


_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_.*)?", re.DOTALL
)
_CANVAS = re.compile(
    r"(?P<name>[^\W_]+)_(?:LATE_)?(?P<number>\d+)_(?P<work>\d+)_.+", re.IGNORECASE | re.DOTALL
)
_BETWEEN = re.compile(r"[_\s]+")
ANYONE = "anonymous"
"""The student in works of a lab that was loaded without one."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Student that a file belongs to. id: by the roster, empty: unknown. label: from the path.

    words: what may stand in the file as its student, folded. folder: the folder of a download of
    Moodle, empty elsewhere. why: why no id is known.
    """

    id: str = ""
    label: str = ""
    words: frozenset[str] = frozenset()
    folder: str = ""
    why: str = ""

    def refusal(self, student: str) -> str:
        """The reason a work that names this student is not taken as the owner's; empty if it is."""
        if self.why:
            return f"{self.why}; the work names {student}"
        if folded(student) in self.words:
            return ""
        owner = self.id or self.label
        if student == ANYONE:
            return (
                f"the lab was loaded without student=ID, and handed in by {owner}; --student ID "
                "judges it in the world of that student, where drawn values differ"
            )
        cure = "" if self.id else f"; {self._confirmation(student)}"
        return f"the work names {student}, and was handed in by {owner}{cure}"

    def drawn_for(self, student: str) -> str:
        """The student whose parameters a work is judged with. student: that of the work.

        All works without a student have one world: in it, one work would be right for every
        student. So it is judged in the owner's.
        """
        return self.id if student == ANYONE and self.id else student

    def _confirmation(self, student: str) -> str:
        named = "" if self.folder else f", a file named {student}.yaml"
        return f"a roster{named} or --student {student} confirms the student"


def given(student: str) -> Owner:
    """The owner that the command line names; also of a work that names no student."""
    return Owner(student, student, frozenset([folded(student), ANYONE]))


def own_files(student: str, lab: str) -> list[str]:
    """Names of files that show whose work is in them: `s1.yaml`, `s1_sq-full.yaml`.

    Of an id with _ only the first: `grade` would not find it in the other.
    """
    names = (f"{student}.yaml", f"{student}_{lab}.yaml")
    return [name for name in names if not owner_of(name, None).refusal(student)]


def file_advice(file: str, student: str, own: str) -> str:
    """The advice on a name that `grade` accepts without a roster; empty: it accepts this one.

    file: its name. student: that of the work, who has an id. own: the name that is proposed; empty:
    it is taken here.
    """
    if not owner_of(PurePath(file).name, None).refusal(student):
        return ""
    name = own or f"{student}.yaml in another folder"
    return f"name it {name}, unless your course names the files"


def owner_of(path: str, roster: Roster | None) -> Owner:
    """Owner of a file. path: below the folder that was named. roster: None: there is none."""
    parts = PurePath(path).parts
    folder = next(filter(is_of_moodle, parts[:-1]), "")
    found = [(label, words) for label, words in _named(parts) if words]
    label = next((label for label, _ in found), "")
    if roster is None:  # a folder inside that of a student may have any name
        words = frozenset(folded(word) for _, each in found[:1] for word in each)
        return Owner("", label, words - {""}, folder)
    for name, asked in found:
        person = roster.named(asked[:1]) or roster.named(asked)
        if person is not None:
            return Owner(person.id, name, _accepted(person), folder)
    return Owner("", label, frozenset(), folder, "neither file nor folder names a student of "
                 "the roster")  # fmt: skip


def is_of_moodle(folder: str) -> bool:
    """Whether a folder is that of one student in a download of Moodle."""
    return _MOODLE.fullmatch(folder) is not None


def _accepted(person: Person) -> frozenset[str]:
    """The words by which this student may name itself in a work."""
    return frozenset(word for word in person.words if len(word) > 1) | {folded(person.id)}


def _named(parts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Label and words of each part of a path that may name a student, the most telling first."""
    for part in parts:
        for form in (_MOODLE, _CANVAS):
            if match := form.fullmatch(part):
                name = match["name"].replace("_", " ")
                yield name, [name, match["number"], *_reversed(name)]
                for at in re.finditer("-", name):  # Moodle puts `GROUP-` in front of the name
                    yield name, [name[at.end() :], *_reversed(name[at.end() :])]
                return
    for number, part in enumerate(parts):
        stem = PurePath(part).stem if number == len(parts) - 1 else part
        words = [stem, *_BETWEEN.split(stem), *re.split(r"[_\s-]+", stem)]
        yield stem, list(dict.fromkeys(filter(None, words)))


def _reversed(name: str) -> list[str]:
    parts = name.split()
    return [" ".join([*parts[n:], *parts[:n]]) for n in range(1, len(parts))]
