"""Results kept line by line: a process that is killed loses none, and the next one goes on.

A line is a JSON object with a `key`. Each is synced before the next result is taken. A last line
without its end, as a killed process leaves one, is removed.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from rdmalab import disk

Row = Mapping[str, object]
KEY = "key"
MOST = 1 << 30
"""The largest size of such a file, in bytes."""


class NotResults(ValueError):  # noqa: N818
    """The file holds something else."""


def known(path: str) -> dict[str, dict[str, object]]:
    """The results in a file by their keys; none if there is no such file.

    Raises NotResults, and OSError if the file cannot be read.
    """
    if not Path(path).exists():
        return {}
    found: dict[str, dict[str, object]] = {}
    for line in disk.read(path, MOST).split(b"\n")[:-1]:
        try:
            row = json.loads(line)
            found[str(row[KEY])] = row
        except (ValueError, KeyError, TypeError):
            raise NotResults(f"{path} is no list of results; choose another name") from None
    return found


def line_of(row: Row) -> bytes:
    """The line of a result."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


class ResultFile:
    """A file of results, open for more of them."""

    def __init__(self, path: str) -> None:
        """Open or create the file, after `known` has accepted it; raises OSError."""
        if not Path(path).exists():
            disk.write(path, b"", lambda _: False)
        self._stream: BinaryIO = disk.opened(path, updates=True)
        whole = self._stream.read(MOST)
        end = whole.rfind(b"\n") + 1
        self._stream.seek(end)
        self._stream.truncate()

    def add(self, row: Row) -> None:
        """Append a result, which has a `key`; it is on the disk when this returns."""
        self._stream.write(line_of(row))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stream.close()
