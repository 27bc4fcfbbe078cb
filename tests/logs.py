"""Diaries that are closed when their test ends, as their process would do it."""

from pathlib import Path

from rdmalab.recovery.write_ahead_log import LogHeader, WriteAheadLog

HEAD = LogHeader({"A": "strict", "B": "strict"})
_OPEN: list[WriteAheadLog] = []


def opened(folder: Path, head: LogHeader = HEAD) -> WriteAheadLog:
    """A diary that is being written."""
    log = WriteAheadLog(head, folder)
    _OPEN.append(log)
    return log


def close_all() -> None:
    """Their processes end; one that writes nevertheless begins another file."""
    for log in _OPEN:
        log.close()
