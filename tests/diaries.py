"""Diaries that are closed when their test ends, as their process would do it."""

from pathlib import Path

from rdmalab.workbench.diary import Diary, Head

HEAD = Head({"A": "strict", "B": "strict"})
_OPEN: list[Diary] = []


def opened(folder: Path, head: Head = HEAD) -> Diary:
    """A diary that is being written."""
    diary = Diary(head, folder)
    _OPEN.append(diary)
    return diary


def close_all() -> None:
    """Their processes end; one that writes nevertheless begins another file."""
    for diary in _OPEN:
        diary.close()
