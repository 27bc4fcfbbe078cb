"""Progress: one line at a terminal, few lines elsewhere."""

import io
import time

import pytest

from rdmalab.jobs.progress import Progress


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), 3), (io.StringIO(), 1)])
def test_a_line_now_and_then(
    stream: io.StringIO, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    progress = Progress(stream, 120, "points", done=20)
    for clock[0] in (100.5, 101.5, 101.55, 105.0, 111.0):
        progress.advance("2 cut")
    written = stream.getvalue()
    assert written.count("points") == shown
    assert "25/120 points, 2 cut, 0.455/s, 209 s left" in written
    progress.end()
    assert stream.getvalue().endswith("\r" if shown == 3 else "left\n")
