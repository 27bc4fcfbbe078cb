"""Load a course file: its labs and its roster, and all mistakes with their places."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from yaml.nodes import Node, ScalarNode

from rdmalab import disk
from rdmalab.classroom import lab_file
from rdmalab.classroom.attempts import KEEPS, Keep, Terms, due_at
from rdmalab.classroom.model import GRADER, LabDocument
from rdmalab.classroom.owner import Roster, roster_of
from rdmalab.classroom.parameter_model import Percent
from rdmalab.classroom.public import is_for_students
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.scenario import field_types, yaml_tree
from rdmalab.scenario.files import WHERE, lesson_files, of_instructor, read
from rdmalab.scenario.model import Section
from rdmalab.scenario.parameters import shaped
from rdmalab.scenario.source import FileError, Source, together
from rdmalab.spec.row import dataclass

KIND = "course"
MOST_LABS = 100


def _due(value: object) -> datetime:
    hint = 'write 2026-11-30, or "2026-11-30 18:00"'
    if not isinstance(value, str):
        raise field_types.wrong("a date is required here", hint)
    try:
        return due_at(value)
    except ValueError:
        raise field_types.wrong(f"{quoted(value)} is not a date", hint) from None


def _keep(value: object) -> str:
    if value not in KEEPS:
        given = quoted(value) if isinstance(value, str) else "this"
        message = f"{given} is not a rule for several works of a student"
        raise field_types.wrong(message, listed(list(KEEPS)))
    return str(value)


_DATE = WithJsonSchema({"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"})
Due = Annotated[datetime, BeforeValidator(_due), _DATE]
Kept = Annotated[Keep, BeforeValidator(_keep), WithJsonSchema({"enum": list(KEEPS)})]
Weight = Annotated[int, *field_types.integer(0, 1000, "write 1")]


class CourseLab(Section):
    """A lab of the course."""

    lab: field_types.Sentence
    """The lab's file, from the folder of this file, or the name of a lab of the program."""
    works: field_types.Sentence
    """The folder with what was handed in, such as a download of Moodle, or its .zip."""
    due: Due | None = None
    """Works whose file is newer are late: a date, which means its end, or date and time."""
    weight: Weight = 1
    """Its part of the total, beside the weights of the other labs."""
    penalty: Percent | None = None
    """As `penalty` of the course, for this lab."""
    keep: Kept | None = None
    """As `keep` of the course, for this lab."""


class Course(Section):
    """A course: its labs, its students, and how works are counted."""

    rdmalab: field_types.Version
    """Version of the format; the first key."""
    kind: Literal["course"]
    """`course`."""
    title: field_types.Sentence
    """One line."""
    roster: field_types.Sentence
    """The file with the students: ids, or a table of Moodle, Canvas or Gradescope."""
    salt: field_types.Sentence | None = None
    """The salt of all labs, with which `rdmalab lab publish --salt` has published them."""
    keep: Kept = "newest"
    """The work of a student that counts, among several: `newest` or `best`."""
    penalty: Percent = 0
    """Per cent of the score that a work loses for each day that begins after its due date."""
    remarks: field_types.Sentence = "remarks.csv"
    """The table of remarks and points given by hand; it is made if there is none."""
    out: field_types.Sentence = "marks"
    """The folder for grades, gradebook and reports."""
    labs: Annotated[list[CourseLab], Field(min_length=1, max_length=MOST_LABS)]
    """The labs, in the order of the course."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A lab of a course. works: the folder or archive, which need not exist. text: of the lab."""

    document: LabDocument
    path: str
    text: str
    works: Path
    terms: Terms
    weight: int

    @property
    def id(self) -> str:
        """The id of the lab."""
        return self.document.id


@dataclass(frozen=True, slots=True)
class CourseFile:
    """A course. warnings: of folders that do not exist, and of labs that lack what is judged."""

    document: Course
    folder: Path
    roster: Roster
    assignments: tuple[Assignment, ...]
    warnings: tuple[FileError, ...]

    @property
    def out(self) -> Path:
        """The folder for grades, gradebook and reports."""
        return self.folder / self.document.out

    @property
    def remarks(self) -> Path:
        """The table of remarks."""
        return self.folder / self.document.remarks


def load(path: str) -> CourseFile:
    """The course in a file; raises FileError with all mistakes, those of its labs included."""
    return _Loader(Source(path, read(path))).loaded()


class _Loader:
    """Loads one file. wrong: the mistakes so far. warnings: see CourseFile."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root = yaml_tree.compose(source)
        self.folder = Path(source.path).parent
        self.wrong: list[FileError] = []
        self.warnings: list[FileError] = []
        self.labs: dict[int, tuple[str, str, LabDocument]] = {}

    def loaded(self) -> CourseFile:
        """The course; raises FileError."""
        document = None
        try:
            with shaped(self.source, self.root, document=Course):
                document = Course.model_validate(yaml_tree.plain(self.root))
        except FileError as wrong:
            self.wrong += wrong.all
        roster = self._roster()
        self._open_labs()
        if self.wrong or document is None:
            raise together(self.wrong)
        assignments = []
        for number, each in enumerate(document.labs):
            path, text, lab = self.labs[number]
            penalty = document.penalty if each.penalty is None else each.penalty
            terms = Terms(each.keep or document.keep, each.due, penalty)
            works = self.folder / each.works
            assignments.append(Assignment(lab, path, text, works, terms, each.weight))
        return CourseFile(document, self.folder, roster, tuple(assignments), tuple(self.warnings))

    # ------------------------------------------------------------------ what it names
    def _texts(self, *path: int | str) -> Iterator[tuple[str, Node]]:
        """The text at a path, with its place; none if there is no text."""
        above, node = (yaml_tree.find(self.root, each) for each in (path[:-1], path))
        if node is not above and isinstance(node, ScalarNode) and node.value.strip():
            yield node.value, node

    def _roster(self) -> Roster:
        """The roster; mistakes in it are noted at the key that names it."""
        for name, node in self._texts("roster"):
            path = self.folder / name
            try:
                roster = roster_of(disk.read(path).decode("utf-8-sig"))
            except FileNotFoundError:
                self.wrong.append(self._missing(node, name, "file"))
            except (OSError, UnicodeDecodeError) as wrong:
                why = getattr(wrong, "strerror", None) or "it is not UTF-8"
                self.wrong.append(self._at(node, f"{quoted(name)} cannot be read: {why}"))
            else:
                self.wrong += [self._at(node, f"{name}: {each}") for each in roster.wrong]
                if not roster:
                    hint = "write one id a line, or a table with a column id"
                    self.wrong.append(self._at(node, f"{name} names no student", hint))
                return roster
        return Roster()

    def _open_labs(self) -> None:
        tree = yaml_tree.plain(self.root)
        labs = tree.get("labs") if isinstance(tree, dict) else None
        salts = [text for text, _ in self._texts("salt")]
        ids: dict[str, int] = {}
        for number in range(len(labs) if isinstance(labs, list) else 0):
            for name, node in self._texts("labs", number, "lab"):
                self._open_lab(number, name, node, next(iter(salts), ""))
            if number in self.labs:
                own = self.labs[number][2].id
                if own in ids:
                    message = f"labs {ids[own] + 1} and {number + 1} are both {own}"
                    node = yaml_tree.find(self.root, ("labs", number, "lab"))
                    self.wrong.append(self._at(node, message, "leave one out"))
                ids.setdefault(own, number)
            for name, node in self._texts("labs", number, "works"):
                if not (self.folder / name).exists():
                    self.warnings.append(self._missing(node, name, "folder"))

    def _open_lab(self, number: int, name: str, node: Node, salt: str) -> None:
        own = self.folder / name
        path = str(own) if own.is_file() else of_instructor(name)
        if not Path(path).is_file():
            self.wrong.append(self._missing(node, name, "lab"))
            return
        try:
            text = read(path)
            lab = lab_file.loads(text, path, student="1", salt=salt)
        except FileError as wrong:
            self.wrong += wrong.all
        else:
            self.labs[number] = (path, text, lab.document)
            left_out = any(task.hidden or task.judged == GRADER for task in lab.document.tasks)
            if left_out and is_for_students(lab):
                message = f"{quoted(name)} is a file for students: what it leaves out is not judged"
                self.warnings.append(self._at(node, message, WHERE))

    def _missing(self, node: Node, name: str, what: str) -> FileError:
        """The error of a name that nothing has; a hint names what is similar."""
        place = self.folder / name
        try:
            course = Path(self.source.path).name
            beside = [each.name for each in place.parent.iterdir() if each.name != course]
        except OSError:
            beside = []
        lessons = [each for each, _ in lesson_files()] if what == "lab" else []
        hints = [suggest(place.name, beside), suggest(name, lessons)]
        near = next((each for each in hints if each.startswith("did you mean")), "")
        hint = near or hints[0] or f"paths begin at {self.folder}"
        return self._at(node, f"no {what} {quoted(name)}", hint)

    def _at(self, node: Node, message: str, hint: str = "") -> FileError:
        return self.source.error(message, hint, yaml_tree.place_of(node))
