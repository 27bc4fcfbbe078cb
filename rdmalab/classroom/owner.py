"""Owner of a file: by the roster, the folder or the name of the file, never by its text.

In a download of a learning platform the platform names the student, in the name of the folder or
in the beginning of the name of the file; what follows there was chosen by the student and is not
asked. Elsewhere the folders and the name of the file are asked, the outermost first; without a
roster only the outermost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rdmalab.classroom.roster import Person, Roster, folded

_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_.*", re.DOTALL
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


def own_file(student: str) -> str:
    """The name of a file that shows whose work is in it: `s1.yaml`."""
    return f"{student}.yaml"


def file_advice(file: str, student: str) -> str:
    """The advice on a name that `grade` accepts without a roster; empty: it accepts this one.

    file: its name. student: that of the work, who has an id.
    """
    if not owner_of(PurePath(file).name, None).refusal(student):
        return ""
    return f"name it {own_file(student)}, unless your course names the files"


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
                return
    for number, part in enumerate(parts):
        stem = PurePath(part).stem if number == len(parts) - 1 else part
        words = [stem, *_BETWEEN.split(stem), *re.split(r"[_\s-]+", stem)]
        yield stem, list(dict.fromkeys(filter(None, words)))


def _reversed(name: str) -> list[str]:
    parts = name.split()
    return [" ".join([*parts[n:], *parts[:n]]) for n in range(1, len(parts))]
