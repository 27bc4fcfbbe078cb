"""Run a program with Python's chance fixed: rdma-core's tests choose sizes and flags at random.

rdmalab python seeded.py PROGRAM ARG…
"""

import random
import runpy
import sys
from pathlib import Path

SEED = 64


def main() -> None:
    """Carry out the program that `sys.argv` names, as `__main__`."""
    random.seed(SEED)
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
