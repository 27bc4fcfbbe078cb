"""The catalogue: every lesson and lab of the folder of scenarios, and the order of the paths.

A path is an order in which lessons teach something; `paths.yaml` beside them has all paths. 480
files are read in 25 ms, so that no index of them is kept.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Literal, NamedTuple

from pydantic import Field

from rdmalab import disk
from rdmalab.command import UserError
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.scenario.field_types import FORMAT, Printed
from rdmalab.scenario.files import LAB_SUFFIX, lesson_files, lessons_folder, read, short_name
from rdmalab.scenario.model import Document
from rdmalab.scenario.source import FileError
from rdmalab.spec.row import dataclass
from rdmalab.version import VERSION

PATHS = "paths.yaml"
"""The file of the paths, in the folder of the scenarios."""
LEVELS = (1, 2, 3)
_LABS = "labs"
_MOST = 1 << 16  # bytes of a file that are looked at
_WORDS_A_MINUTE = 60  # of a scenario file, commands and notes
_KEY = re.compile(r"(?m)^(title|level|minutes|tags):[ \t]*(\[[^\]]*\]|.*(?:\n[ \t]*- .*)*)")
_ESCAPED = {"'": "''", '"': '\\"'}  # a quote within quotes, in YAML


class UnknownWord(UserError):  # noqa: N818  (the sentence says which)
    """Raised for a path or a tag that no lesson has, with a suggestion."""


@dataclass(frozen=True, slots=True)
class ListedLesson:
    """A lesson or lab.

    name: as `load` takes it. path: of which it is a part, empty: of none. order: its place on the
    path, from 1, else 0. level: 1 to 3, None: neither the file nor the path has one. minutes: of
    the file, else estimated from its length.
    """

    name: str
    title: str
    tags: tuple[str, ...]
    file: str
    level: int | None
    minutes: int
    path: str = ""
    order: int = 0

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def words(self) -> str:
        """Title, name, tags and path in lower case, for a search."""
        return " ".join((self.title, self.name, *self.tags, self.path)).lower()

    @property
    def is_lab(self) -> bool:
        return self.file.endswith(LAB_SUFFIX)


class LearningPath(NamedTuple):
    """lessons: their names in order. level: of those whose file says none."""

    name: str
    title: str
    level: int
    lessons: tuple[str, ...]


def catalogue() -> list[ListedLesson]:
    """All lessons and labs: those of each path in its order, then the others by name."""
    found = {each.name: each for each in starmap(_listed, lesson_files()) if each}
    on_paths = []
    for path in learning_paths():
        for order, name in enumerate(path.lessons, 1):
            if (lesson := found.pop(name, None)) is not None:
                level = lesson.level or path.level
                on_paths.append(replace(lesson, path=path.name, order=order, level=level))
    return on_paths + sorted(found.values(), key=lambda lesson: lesson.name)


def listed(file: str) -> ListedLesson | None:
    """The lesson of a file, on no path; None if the file cannot be read."""
    return _listed(short_name(file), file)


def _listed(name: str, file: str) -> ListedLesson | None:
    try:
        text = disk.beginning(file, _MOST).decode("utf-8", "replace")
    except (OSError, ValueError):  # ValueError: a NUL in its name
        return None
    head = dict(_KEY.findall(text))
    title, level, minutes = (head.get(key, "").strip() for key in ("title", "level", "minutes"))
    if (quote := title[:1]) and quote in _ESCAPED:
        title = title[1:-1].replace(_ESCAPED[quote], quote)
    estimated = max(1, round(len(text.split()) / _WORDS_A_MINUTE))
    tags = tuple(re.findall(r"[\w-]*\w", head.get("tags", "")))
    grade = int(level) if level.isdecimal() else None
    needed = int(minutes) if minutes.isdecimal() else estimated
    return ListedLesson(name, title, tags, file, grade, needed)


def titles() -> dict[str, str]:
    """Title of each lesson and lab, by name and in the order of the names."""
    found = (each for each in starmap(_listed, lesson_files()) if each)
    return {each.name: each.title for each in sorted(found, key=lambda lesson: lesson.name)}


def learning_paths() -> list[LearningPath]:
    """The paths in their order; raises FileError if the file of the paths is not one."""
    import yaml

    file = lessons_folder() / PATHS
    if not file.is_file():
        return []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where there is one
    try:
        given = yaml.load(read(str(file)), loader)
        return [
            LearningPath(name, str(path["title"]), int(path["level"]), tuple(path["lessons"]))
            for name, path in given["paths"].items()
        ]
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as wrong:
        message = f"no list of paths: {' '.join(str(wrong).split())}"
        raise FileError(str(file), message, "paths: {NAME: {title, level, lessons}}") from None


def chosen(
    lessons: Sequence[ListedLesson], path: str = "", tag: str = "", level: int | None = None
) -> list[ListedLesson]:
    """Those of a path or folder, with a tag, of a level; empty or None: of any.

    path: `labs`: those and all other labs; if no path or folder has this name, words that are
    sought. Raises UnknownWord for a path, word or tag that none of them has.
    """
    of = {each.name: (each.path, each.folder, _LABS * each.is_lab) for each in lessons}
    places = {place: 0 for each in of.values() for place in each if place}
    tags = {each: 0 for lesson in lessons for each in lesson.tags}
    if path and path not in places:
        if not (found := sought(lessons, path)):
            raise UnknownWord(f"no lesson has {quoted(path)} ({suggest(path, places)})")
        lessons, path = found, ""
    if tag and tag not in tags:
        raise UnknownWord(f"no lesson has tag {quoted(tag)} ({suggest(tag, tags)})")
    return [
        each
        for each in lessons
        if (not path or path in of[each.name])
        and (not tag or tag in each.tags)
        and level in (None, each.level)
    ]


def sought(lessons: Sequence[ListedLesson], text: str) -> list[ListedLesson]:
    """Those that have all words of a text in title, name, tags or path."""
    words = text.lower().split()
    return [each for each in lessons if all(word in each.words for word in words)]


def following(name: str) -> ListedLesson | None:
    """The lesson after this one on its path; None: it is the last, or on no path."""
    lessons = catalogue()
    this = next((each for each in lessons if each.name == name and each.path), None)
    after = lessons[lessons.index(this) + 1 :] if this is not None else []
    return after[0] if this is not None and after and after[0].path == this.path else None


class LessonModel(Printed):
    """A lesson or a lab in the list."""

    name: str
    """As `load` takes it."""
    file: str
    kind: Literal["lesson", "lab"]
    title: str
    about: str
    tags: list[str]
    path: str
    """The learning path; empty: on none."""
    order: int
    """Its place on the path, from 1; 0: on none."""
    level: int | None
    """1 to 3; null: unknown."""
    minutes: int
    done: bool
    """Whether it was walked to its end on this machine."""
    steps: int
    """Number of steps, the setup included; of a lab, its tasks."""
    teaches: list[str]
    """Statements of the documents, those of steps included."""


class LessonsModel(Printed, title="rdmalab lessons"):
    """Document that `rdmalab lessons --json` prints."""

    rdmalab: int = FORMAT
    """Version of this document."""
    engine: str = VERSION
    lessons: list[LessonModel] = Field(default_factory=list)


def lesson(
    listed: ListedLesson, document: Document, steps: int, teaches: Iterable[str], *, done: bool
) -> LessonModel:
    """The row of a lesson whose file was loaded."""
    return LessonModel(
        name=listed.name,
        file=listed.file,
        kind="lab" if listed.is_lab else "lesson",
        title=document.title,
        about=(document.about or "").strip(),
        tags=list(document.tags),
        path=listed.path,
        order=listed.order,
        level=listed.level,
        minutes=listed.minutes,
        done=done,
        steps=steps,
        teaches=list(teaches),
    )
