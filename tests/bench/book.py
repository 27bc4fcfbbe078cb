"""How long the book of all lessons takes: wall time, for information only; the bar is 15 s."""

import subprocess
import sys
import tempfile
import time


def information() -> dict[str, object]:
    """`book_s`: seconds of `rdmalab book`, alone on the machine, with a process a core."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, "-m", "rdmalab", "book", f"{folder}/book"]
        subprocess.run(command, check=True, capture_output=True)
        return {"book_s": round(time.perf_counter() - start, 1)}


if __name__ == "__main__":
    sys.stdout.write(f"{information()}\n")
