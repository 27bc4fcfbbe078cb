"""Files of the book, each with the path of its page, in the order of folders and names."""

from collections.abc import Iterable
from pathlib import PurePath

from rdmalab.book.html import slug
from rdmalab.scenario import lessons
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, short_name
from rdmalab.spec.row import dataclass

LESSONS, LABS, GUIDE, MANUAL = "lessons", "labs", "guide", "manual"
"""Folders of pages."""

_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Chapter:
    """One file.

    name: for `load`. page: the path of its page. folder: its chapter. level: 1 to 3, None: unknown.
    """

    path: str
    name: str
    page: str
    folder: str
    level: int | None = None
    minutes: int = 0

    @property
    def is_lab(self) -> bool:
        return self.path.endswith(LAB_SUFFIX)


@dataclass(frozen=True, slots=True)
class BookPath:
    """A learning path, with those of its lessons that the book has."""

    name: str
    title: str
    chapters: tuple[Chapter, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All files, in order. paths: the learning paths, each with its chapters in its order."""

    chapters: tuple[Chapter, ...]
    paths: tuple[BookPath, ...] = ()

    def pages(self) -> dict[str, str]:
        """Name for `load` → page."""
        return {chapter.name: chapter.page for chapter in self.chapters}

    def folders(self) -> dict[str, list[Chapter]]:
        """The lessons by folder, in order; labs are not among them."""
        found: dict[str, list[Chapter]] = {}
        for chapter in self.chapters:
            if not chapter.is_lab:
                found.setdefault(chapter.folder, []).append(chapter)
        return found

    @property
    def labs(self) -> list[Chapter]:
        """The labs by level, then by the time that they take."""
        labs = (chapter for chapter in self.chapters if chapter.is_lab)
        return sorted(labs, key=lambda lab: (lab.level or max(lessons.LEVELS), lab.minutes))

    @property
    def first(self) -> list[Chapter]:
        """The first chapters: two lessons of the first path, and the first lab of a path."""
        on_paths = [chapter for path in self.paths for chapter in path.chapters]
        labs = [each for each in on_paths[2:] if each.is_lab]
        return [*on_paths[:2], *labs[:1]]

    def neighbours(self, chapter: Chapter) -> tuple[Chapter | None, Chapter | None]:
        """The one before and the one after: on its path, else by name, lessons and labs apart."""
        of_path = [path.chapters for path in self.paths if chapter in path.chapters[:-1]]
        of_path += [path.chapters for path in self.paths if chapter in path.chapters[1:]]
        others = (each for each in self.chapters if each.is_lab == chapter.is_lab)
        row = list(of_path[0] if of_path else others)
        at = row.index(chapter)
        return (row[at - 1] if at else None), (row[at + 1] if at + 1 < len(row) else None)


def catalogue(paths: Iterable[str]) -> Catalogue:
    """The catalogue of these files, each once."""
    found: list[Chapter] = []
    used: set[str] = set()
    listed = {each.name: each for each in lessons.catalogue()}
    for path in sorted(dict.fromkeys(paths), key=lambda path: PurePath(path).parts):
        name = short_name(path)
        is_lab = path.endswith(LAB_SUFFIX)
        parts = _parts(name)
        folder = parts[0] if len(parts) > 1 else _OTHERS
        place = "/".join([LABS, parts[-1]] if is_lab else [LESSONS, folder, parts[-1]])
        page, number = f"{place}.html", 2
        while page.lower() in used:  # file systems that know no case
            page, number = f"{place}-{number}.html", number + 1
        used.add(page.lower())
        facts = listed.get(name) or lessons.listed(path)
        level, minutes = (facts.level, facts.minutes) if facts is not None else (None, 0)
        found.append(Chapter(path, name, page, folder, level, minutes))
    by_name = {chapter.name: chapter for chapter in found}
    known = (
        BookPath(path.name, path.title, tuple(by_name[n] for n in path.lessons if n in by_name))
        for path in lessons.learning_paths()
    )
    return Catalogue(tuple(found), tuple(path for path in known if path.chapters))


def _parts(name: str) -> list[str]:
    """The last folder and the name of a file, as parts of the path of a page."""
    bare = PurePath(name.removesuffix(SUFFIX).removesuffix(LAB_SUFFIX))
    return [slug(part) for part in bare.parts[-2:] if part.strip("/\\.")] or ["x"]
