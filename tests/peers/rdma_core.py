"""rdma-core's own tests of pyverbs, carried out on the lab.

    RDMA_CORE=/path/to/rdma-core-44.0 python -m tests.peers.rdma_core [--profile rxe] [--write]

prints one line a test: what it did here, and what it did on Soft-RoCE. Nothing of theirs is kept
here but the names of the tests and how they ended (`tests/data/rdma_core.json`; --write renews it).
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
RECORD = Path(__file__).parents[1] / "data" / "rdma_core.json"
# Those of every device; the others are of one provider, of a connection manager, or of huge pages.
MODULES = (
    "test_addr", "test_atomic", "test_cq", "test_cq_events", "test_cqex", "test_device",
    "test_flow", "test_fork", "test_mr", "test_parent_domain", "test_pd", "test_qp", "test_qpex",
    "test_relaxed_ordering", "test_rss_traffic", "test_shared_pd", "test_tag_matching",
)  # fmt: skip

_NAMED = re.compile(r"^(\w+) \(tests\.(\w+)\.(\w+)\.\w+\)")
_ENDED = re.compile(r"\.\.\. (ok|FAIL|ERROR|skipped (['\"])(.*)\2)$")
_WORDS = {"ok": "pass", "FAIL": "fail", "ERROR": "error"}


class Ended(NamedTuple):
    """How a test ended: pass, skip, fail or error; reason: of a skip."""

    result: str
    reason: str = ""


def run(root: Path, module: str, profile: str) -> dict[str, Ended]:
    """All tests of a module: `module.Class.test` → how it ended."""
    command = [
        sys.executable, "-m", "rdmalab", "python", "--profile", profile,
        str(root / "tests" / "run_tests.py"), "--dev", "rdmalab0", "--gid", "1", "-v", module,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
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


def results(root: Path, profile: str) -> dict[str, Ended]:
    """Every module in a process of its own."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(lambda module: run(root, module, profile), MODULES)
    return {name: ended for part in parts for name, ended in sorted(part.items())}


def recorded() -> dict[str, dict[str, Ended]]:
    """By device (`soft_roce`, the real one, and `rxe`, the lab's), by test."""
    record = json.loads(RECORD.read_text())
    return {
        device: {name: Ended(*ended) for name, ended in tests.items()}
        for device, tests in record.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default=PROFILE)
    parser.add_argument("--write", action="store_true", help="of that profile only")
    chosen = parser.parse_args()
    found = results(Path(os.environ[VARIABLE]), chosen.profile)
    record = recorded()
    real = record["soft_roce"]
    for name, ended in found.items():
        there = real.get(name, Ended("not recorded"))
        print(f"{ended.result:6} {there.result:12} {name}  {ended.reason}")  # noqa: T201
    print(Counter(ended.result for ended in found.values()))  # noqa: T201
    if chosen.write and chosen.profile == PROFILE:
        record[PROFILE] = found
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
