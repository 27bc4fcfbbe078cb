"""A small book: a few lessons of the repository, a hostile one, a lab and two sheets."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rdmalab.book.build import Book, build
from rdmalab.book.catalogue import Catalogue, catalogue
from rdmalab.jobs.limits import Ending, Limits, Outcome, Work
from rdmalab.scenario.files import lessons_folder

LAB = str(lessons_folder() / "labs/sq-full.lab.yaml")
HOSTILE_ID = '../../x"><script>pwned=1</script>'
LESSONS = (
    "err/rnr-retry-exceeded", "why/loc-len", "why/atomic-mixed", "ud/multicast", "loss/lost-packet",
    "xrc/by-functions", "time/what-if",
)  # fmt: skip
# Each text that a lesson may hold tries to become markup.
HOSTILE = """\
rdmalab: 1
title: '</script></title><script>window.pwned=1</script>'
about: '"><img src=x onerror="window.pwned=2"> <svg onload=window.pwned=3> javascript:pwned=4'
nodes: {A: {}, B: {}}
params:
  p: {default: '<script>pwned=5</script>', about: "</details><script>pwned=6</script>"}
setup:
  - use rc_pair
  - write A.mr0[0:8] "<script>"
programs:
  A.tx: ['write A.mr0[0:9] "</script>"']
steps:
  - note: "</section><iframe src='https://example.org/'></iframe>\\u202e\\x1b[31m\\ud800 &amp;"
  - name: "<style>*{display:none}</style><meta http-equiv=refresh content='0;url=https://a.b/'>"
    do: 'write B.mr0[0:5] "<b>&<"'
    expect: ['B.mr0[0] == 0x3c']
  - do: post_send A.qp0 opcode=SEND sg=A.mr0[0:8]
  - run: 1ms
    id: x
"""


class Inline:
    """A pool that works in this process."""

    def results(
        self, work: Work[object, object], items: Iterable[object]
    ) -> Iterator[Outcome[object]]:
        for number, item in enumerate(items):
            yield Outcome(number, Ending.DONE, work(item, Limits()))


class Made(NamedTuple):
    """A book, and the folder in which it was written."""

    book: Book
    folder: Path
    catalogue: Catalogue

    def text(self, page: str) -> str:
        return self.book.files[page].decode()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    base = tmp_path_factory.mktemp("book")
    hostile = base / "<img src=x onerror=pwned=8>.rdmalab.yaml"
    hostile.write_text(HOSTILE)
    paths = [str(lessons_folder() / f"{name}.rdmalab.yaml") for name in LESSONS]
    listed = catalogue([*paths, LAB, str(hostile)])
    book = build(listed, Inline(), ["s4711", HOSTILE_ID])  # type: ignore[arg-type]
    for name, octets in book.files.items():
        (base / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (base / "out" / name).write_bytes(octets)
    return Made(book, base / "out", listed)
