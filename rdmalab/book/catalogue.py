"""What the book has: each file with the path of its page, in the order of folders and names."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from rdmalab.book.html import slug
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX, short_name

LESSONS, LABS, GUIDE = "lessons", "labs", "guide"
"""Folders of pages."""

_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Chapter:
    """One file. name: for `load`. page: the path of its page. folder: its chapter."""

    path: str
    name: str
    page: str
    folder: str

    @property
    def is_lab(self) -> bool:
        return self.path.endswith(LAB_SUFFIX)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All files, in order."""

    chapters: tuple[Chapter, ...]

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
        return [chapter for chapter in self.chapters if chapter.is_lab]

    def neighbours(self, chapter: Chapter) -> tuple[Chapter | None, Chapter | None]:
        """The one before and the one after; lessons and labs apart."""
        row = [each for each in self.chapters if each.is_lab == chapter.is_lab]
        at = row.index(chapter)
        return (row[at - 1] if at else None), (row[at + 1] if at + 1 < len(row) else None)


def catalogue(paths: Iterable[str]) -> Catalogue:
    """The catalogue of these files, each once."""
    found: list[Chapter] = []
    used: set[str] = set()
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
        found.append(Chapter(path, name, page, folder))
    return Catalogue(tuple(found))


def _parts(name: str) -> list[str]:
    """The last folder and the name of a file, as parts of the path of a page."""
    bare = PurePath(name.removesuffix(SUFFIX).removesuffix(LAB_SUFFIX))
    return [slug(part) for part in bare.parts[-2:] if part.strip("/\\.")] or ["x"]
