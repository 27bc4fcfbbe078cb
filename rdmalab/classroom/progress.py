"""Lessons that were walked to their end, and the table of lessons with it."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import groupby

from rdmalab import disk
from rdmalab.recovery.user_paths import state_path
from rdmalab.render.meanings import APPEARANCES
from rdmalab.scenario.lessons import ListedLesson, learning_paths
from rdmalab.scenario.source import visible
from rdmalab.views.columns import Meaning

_FILE = "lessons-done.txt"
_NAME = 27  # columns: most names are shorter
_TITLE, _DIM, _GOOD = "class:title", "class:dim", "class:good"
_STATES = {Meaning.OK: "done", Meaning.CURRENT: "next"}


def done() -> frozenset[str]:
    """Names of the lessons that were walked to their end on this machine."""
    with suppress(OSError, UnicodeDecodeError):
        return frozenset(disk.read(state_path() / _FILE).decode().splitlines())
    return frozenset()


def mark_done(name: str) -> None:
    """Remember that a lesson was walked to its end; not, where nothing can be kept."""
    if name not in done():
        with suppress(OSError), (state_path() / _FILE).open("a", encoding="utf-8") as stream:
            stream.write(f"{name}\n")


def coming(lessons: Sequence[ListedLesson], finished: Collection[str]) -> ListedLesson | None:
    """The first lesson of these that is on a path and was not walked to its end."""
    return next((each for each in lessons if each.path and each.name not in finished), None)


def table(
    lessons: Sequence[ListedLesson], width: int, *, whole: bool
) -> Iterator[list[tuple[str, str]]]:
    """A row each below its path or folder, with its state: done, or next to be walked through.

    whole: those on no path, too; else how many these are, by folder.
    """
    finished, titles = done(), {path.name: path.title for path in learning_paths()}
    whole = whole or not any(each.path for each in lessons)
    shown = [each for each in lessons if whole or each.path]
    following = coming(shown, finished)
    if shown:
        yield [(_DIM, f"{'#':>4}  {'state':<6}  {'lesson':<{_NAME}} level  min  title")]
    for place, group in groupby(shown, lambda each: each.path or f"folder {each.folder or '.'}"):
        rows = list(group)
        heading = f"{place}: {visible(titles[place])}" if place in titles else place
        count = sum(each.name in finished for each in rows)
        yield [(_TITLE, heading), (_DIM, f"  {count} of {len(rows)} done")]
        for each in rows:
            is_next = Meaning.CURRENT if each is following else None
            yield _row(each, Meaning.OK if each.name in finished else is_next, width)
    rest = Counter(each.folder or "." for each in lessons if not whole and not each.path)
    if rest:
        folders = ", ".join(f"{folder} {count}" for folder, count in sorted(rest.items()))
        yield [(_DIM, f"on no path: {rest.total()}, listed by folder or tag: {visible(folders)}")]


def _row(each: ListedLesson, state: Meaning | None, width: int) -> list[tuple[str, str]]:
    text = f"{APPEARANCES[state].sign} {_STATES[state]}" if state else ""
    head = f"{each.order or '':>4}  {text:<6}  {visible(each.name):<{_NAME}} "
    facts = f"{each.level or '-':^5}  {each.minutes:>3}  "
    room = max(1, width - len(head) - len(facts))
    title = visible(each.title)
    title = title if len(title) <= room else f"{title[: room - 1]}…"
    return [(_GOOD if state is Meaning.OK else "", head), (_DIM, facts), ("", title)]
