"""The lab in a web page: its start, its keys, its engine, its size. Wall time, for information.

Without node, npm or a browser the keys are named with what is missing.
"""

from __future__ import annotations

import gzip
import os
import statistics
import tempfile
import time
from pathlib import Path

from rdmalab import cli
from tests.bench import loads
from tests.page.conftest import SITE, downloads, missing
from tests.page.lab_tab import ChromiumTab
from tests.page.serving import Site

KEYS = (
    "page_cold_ms", "page_warm_ms", "page_key_to_paint_ms", "page_engine_ratio", "page_mb",
)  # fmt: skip
_RUNS, _TURNS = 3, 7
_LINE = "post_send A.qp0 "
# The load of `command64`: SENDs from post to completion through the session.
_MODULES = ("loads", "silence")  # of this folder; they are imported with the names that they have
ENGINE = """
import pathlib, sys, types
sys.modules.setdefault("simpy", types.ModuleType("simpy"))
folder = pathlib.Path("/bench/tests/bench")
folder.mkdir(parents=True)
for name, source in SOURCES.items():
    (folder / f"{name}.py").write_text(source)
sys.path.append("/bench")
from tests.bench import loads
loads.commands()
""".replace(
    "SOURCES",
    repr({name: (Path(__file__).parent / f"{name}.py").read_text("utf-8") for name in _MODULES}),
)
_FEW, _MANY = 12, 60  # rounds; their difference is free of what is prepared
# The key is sent in the page and timed there: from the event of the key to the painted answer.
_PRESS = """
new Promise((done) => {
  const before = performance.now();
  page.terminal.onRender(() => done(performance.now() - before));
  page.terminal.input(%r);
})
"""


def information() -> dict[str, object]:
    """The five keys, or what is missing for each."""
    if absent := missing():
        return dict.fromkeys(KEYS, f"left out: {absent} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(os.environ.get(SITE, f"{folder}/site"))
        if SITE not in os.environ:
            cli.main(["site", str(made), "--downloads", downloads()])
        with Site(made) as site:
            starts = [_started(site, Path(folder) / f"profile-{n}") for n in range(_RUNS)]
            keys, engine, native = _keys_and_engines(site, Path(folder) / "profile")
        files = [path.read_bytes() for path in made.rglob("*") if path.is_file()]
    size = sum(min(len(each), len(gzip.compress(each, 9))) for each in files)
    return {
        "page_cold_ms": round(statistics.median(cold for cold, _ in starts)),
        "page_warm_ms": round(statistics.median(warm for _, warm in starts)),
        "page_key_to_paint_ms": {
            "median": round(statistics.median(keys), 1),
            "p95": round(sorted(keys)[int(len(keys) * 0.95) - 1], 1),
        },
        "page_engine_ratio": round(engine / native, 2),
        "page_mb": round(size / 1e6, 2),
    }


def _started(site: Site, profile: Path) -> tuple[float, float]:
    """From the navigation to the prompt, in ms: a new profile, then a reload."""
    tab = ChromiumTab(profile)
    try:
        tab.visit(site.address)
        cold = tab.ask("page.marks.painted")
        tab.until_snapshot()  # the first start keeps it for later ones
        tab.reload()
        tab.wait("!!globalThis.page?.marks.painted")
        return cold, tab.ask("page.marks.painted")
    finally:
        tab.close()


def _keys_and_engines(site: Site, profile: Path) -> tuple[list[float], float, float]:
    """Milliseconds of keys; CPU seconds of a SEND in the page and here, which take turns.

    The speed of a machine that others use, too, changes from minute to minute.
    """
    tab = ChromiumTab(profile)
    try:
        tab.visit(site.address)
        time.sleep(2)  # panes that are drawn after the first frame
        keys = [tab.eventually(_PRESS % key) for key in _LINE * 2]
        tab.python(ENGINE)  # compiled code, and nothing is imported later
        turns = [
            (_worker_s(tab, _FEW), _worker_s(tab, _MANY), loads.commands(_MANY))
            for _ in range(_TURNS)
        ]
        few, many, native = map(min, zip(*turns, strict=True))
        return keys, (many - few) / ((_MANY - _FEW) * loads.OUTSTANDING), native
    finally:
        tab.close()


def _worker_s(tab: ChromiumTab, rounds: int) -> float:
    """CPU time of the worker for so many rounds: Python in it has no other clock than wall time."""
    before = tab.worker_cpu_s()
    tab.python(f"loads.commands({rounds})")
    return tab.worker_cpu_s() - before
