"""Run compiled programs by `rdmalab exec`, and compile those of this folder."""

import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Ended:
    """How an execution ended."""

    code: int
    out: str
    err: str


def execute(*words: str, limit_s: int = 60) -> Ended:
    """`rdmalab exec` with these words; hanging programs are ended, and so is a lab that hangs."""
    command = [
        sys.executable,
        "-m",
        "rdmalab",
        "exec",
        "--end-stuck",
        "--limit",
        str(limit_s),
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * limit_s, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def both(program: str, *server: str, client: tuple[str, ...] = ()) -> list[str]:
    """The words that run a program on A as a server, and on B with what makes it a client."""
    return ["--", program, *server, ":", program, *server, *client]


def free_port() -> str:
    """A TCP port of this machine at which no process listens: tests run beside each other."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return str(asked.getsockname()[1])


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="rdmalab-programs-")


@cache
def compiled(name: str, *flags: str) -> str:
    """A program of this folder, compiled; its path."""
    path = Path(_folder().name) / "".join((name, *flags))
    source = PROGRAMS / f"{name}.c"
    words = ["gcc", "-Wall", "-Wextra", "-Werror", "-g", "-o", str(path), str(source), "-libverbs"]
    subprocess.run([*words, "-lrdmacm", "-pthread", *flags], check=True)
    return str(path)


def pair(name: str, folder: Path, *flags: str) -> list[str]:
    """The words that run a program of this folder on both nodes."""
    program, socket = compiled(name, *flags), str(folder / "s")
    return ["--", program, socket, "serve", ":", program, socket, "ask"]
