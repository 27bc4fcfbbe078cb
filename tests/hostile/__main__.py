"""Attack by hand: python -m tests.hostile --inputs 500000 --kills 100 [--seed N] [--jobs 2]."""

import argparse
import os
import secrets
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.each import chance_of
from tests.hostile.account import Account
from tests.hostile.attacks import ATTACKS, shares

_A_JOB = 2_000  # inputs of one job, so that both processes are busy to the end
_KILLS_OF_A_JOB = 10


class Job(NamedTuple):
    """A part of an attack; seed, number: what its inputs are made of."""

    seed: int
    attack: str
    number: int
    inputs: int


def _jobs(seed: int, inputs: int, kills: int) -> Iterator[Job]:
    for attack, count in {**shares(inputs), "kills": kills, "disks": 9}.items():
        size = _KILLS_OF_A_JOB if attack in ("kills", "disks") else _A_JOB
        for number, start in enumerate(range(0, count, size)):
            yield Job(seed, attack, number, min(size, count - start))


def _done(job: Job) -> Account:
    account = Account(job.attack)
    with TemporaryDirectory(prefix="rdmalab-state-") as folder:
        os.environ["RDMALAB_STATE"] = folder
        try:
            ATTACKS[job.attack](
                chance_of(f"{job.seed}/{job.attack}", job.number), job.inputs, account
            )
        except Exception as broken:  # noqa: BLE001  (the other jobs go on)
            account.failed(f"job {job.number}: {type(broken).__name__}: {broken}")
    return account


def main() -> int:
    """Print a table of figures and every failure; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=30_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    started, accounts = time.perf_counter(), dict[str, Account]()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for found in pool.map(_done, list(_jobs(asked.seed, asked.inputs, asked.kills))):
            accounts.setdefault(found.attack, Account(found.attack)).add(found)
    rows = [account.row for account in accounts.values()]
    failures = [text for account in accounts.values() for text in account.failures]
    head = ["| attack | tries | failures | checks made |", "|---|---|---|---|"]
    took = f"seed {asked.seed}, {time.perf_counter() - started:.0f} s, {len(failures)} failures"
    sys.stdout.write("\n".join([*head, *rows, "", took, *failures, ""]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
