"""rdma-core's own tests of pyverbs, carried out on the lab.

    RDMA_CORE=/path/to/rdma-core-44.0 python -m tests.peers.rdma_core [--profile rxe] [--write]
    RDMA_CORE_64=/path/to/rdma-core-64.0 python -m tests.peers.rdma_core --release 64 [--write]

prints one line a test: what it did here, and what is recorded: for 44 what it did on Soft-RoCE, for
64, of which there is no such record, what it did on the lab. Nothing of theirs is kept here but the
names of the tests and how they ended (`tests/data/rdma_core.json`, `rdma_core_64.json`; --write
renews them).
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

VARIABLE = "RDMA_CORE"
PROFILE = "rxe"
_HERE = Path(__file__).parent
_DATA = _HERE.parent / "data"
RECORD = _DATA / "rdma_core.json"
# Those of every device; the others are of one provider, of a connection manager, or of huge pages.
MODULES = (
    "test_addr", "test_atomic", "test_cq", "test_cq_events", "test_cqex", "test_device",
    "test_flow", "test_fork", "test_mr", "test_parent_domain", "test_pd", "test_qp", "test_qpex",
    "test_relaxed_ordering", "test_rss_traffic", "test_shared_pd", "test_tag_matching",
)  # fmt: skip


class Release(NamedTuple):
    """A release of rdma-core: which variable names its sources, its record, what is asked of it."""

    variable: str
    record: Path
    modules: tuple[str, ...]
    profiles: tuple[str, ...]


V44 = Release(VARIABLE, RECORD, MODULES, (PROFILE,))
V64 = Release(
    "RDMA_CORE_64", _DATA / "rdma_core_64.json", (*MODULES, "test_buf", "test_dmah", "test_srq"),
    ("strict", "rxe", "mlx5"),
)  # fmt: skip
RELEASES = {"44": V44, "64": V64}

_NAMED = re.compile(r"^(\w+) \(tests\.(\w+)\.(\w+)\.\w+\)")
# On a line of its own if the test, or a warning of the lab, has written something before.
_ENDED = re.compile(r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped (['\"])(.*)\2)$")
_WORDS = {"ok": "pass", "FAIL": "fail", "ERROR": "error"}


class Ended(NamedTuple):
    """How a test ended: pass, skip, fail or error; reason: of a skip."""

    result: str
    reason: str = ""


def run(root: Path, module: str, profile: str) -> dict[str, Ended]:
    """All tests of a module: `module.Class.test` → how it ended."""
    tests = [str(root / "tests" / "run_tests.py"), "--dev", "rdmalab0", "--gid", "1", "-v", module]
    command = [
        sys.executable, "-m", "rdmalab", "python", "--profile", profile,
        str(_HERE / "seeded.py"), *tests,
    ]  # fmt: skip
    path = os.pathsep.join((str(_HERE / "host"), os.environ.get("PATH", "")))
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    return dict(_read(done.stderr.splitlines()))


def _read(lines: list[str]) -> list[tuple[str, Ended]]:
    """unittest's verbose output: the name, perhaps a line of documentation, and the end."""
    found, name = [], ""
    for line in lines:
        if named := _NAMED.match(line):
            name = f"{named[2]}.{named[3]}.{named[1]}"
        if name and (ended := _ENDED.search(line)):
            found.append((name, Ended(_WORDS.get(ended[1], "skip"), ended[3] or "")))
            name = ""
    return found


def results(root: Path, profile: str, modules: tuple[str, ...] = MODULES) -> dict[str, Ended]:
    """Every module in a process of its own."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(lambda module: run(root, module, profile), modules)
    return {name: ended for part in parts for name, ended in sorted(part.items())}


def recorded(release: Release = V44) -> dict[str, dict[str, Ended]]:
    """By device (`soft_roce`, the real one, or a profile of the lab), by test."""
    record = json.loads(release.record.read_text())
    return {
        device: {name: Ended(*ended) for name, ended in tests.items()}
        for device, tests in record.items()
    }


def table(release: Release, profile: str, *, write: bool) -> None:
    """Print how each test ended here, beside what is recorded; write: record it."""
    found = results(Path(os.environ[release.variable]), profile, release.modules)
    record = recorded(release)
    known = record.get("soft_roce", record.get(profile, {}))
    for name, ended in found.items():
        there = known.get(name, Ended("not recorded"))
        print(f"{ended.result:6} {there.result:12} {name}  {ended.reason}")  # noqa: T201
    print(profile, Counter(ended.result for ended in found.values()))  # noqa: T201
    if write and profile in release.profiles:
        record[profile] = found
        release.record.write_text(json.dumps(record, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=RELEASES, default="44")
    parser.add_argument("--profile", help="one of them; all that are recorded if it is not given")
    parser.add_argument("--write", action="store_true", help="of the profiles that are recorded")
    chosen = parser.parse_args()
    release = RELEASES[chosen.release]
    for profile in [chosen.profile] if chosen.profile else release.profiles:
        table(release, profile, write=chosen.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
