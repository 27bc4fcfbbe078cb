"""The C library, compiled with the system's compiler when it is first needed."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from rdmalab.command import UserError
from rdmalab.compat.c import page, wire
from rdmalab.recovery.user_paths import state_path
from rdmalab.spec import c_library

_FLAGS = ("-shared", "-fPIC", "-O2", "-g", "-fvisibility=hidden", "-pthread", "-Wl,-z,now",
          "-fasynchronous-unwind-tables")  # fmt: skip
_VERBS = "infiniband/verbs.h"
_NO_VERBS = f"the compiler finds no {_VERBS}; install it (Debian: apt install libibverbs-dev)"
_CM = "rdma/rdma_cma.h"
_CLOCK, _CLOCK_NAME = "clock.c", "rdmalab-clock.so"  # its functions have no versions
_NAME = "rdmalab-verbs.so"  # not libibverbs.so.1: the loader would load no other of that name


class CannotBuild(UserError):  # noqa: N818  (it says what is the matter)
    """Raised with a sentence that names what is missing on this machine."""


def compiler() -> list[str]:
    """The words that call the C compiler: those of the variable CC, else `cc`."""
    words = os.environ.get("CC", "cc").split()
    if not words or shutil.which(words[0]) is None:
        named = " ".join(words) or "cc"
        raise CannotBuild(
            f"no C compiler: {named} is not found; install gcc (Debian: apt install gcc)"
        )
    return words


def library() -> Path:
    """The compiled library; compiled now if this version of it is not kept yet.

    It is kept in the state directory under a hash of its sources, of the compiler's version and of
    what the compiler sees of <infiniband/verbs.h>. Raises CannotBuild.
    """
    words, files = compiler(), sources()
    digest = hashlib.sha256(repr(words).encode())
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name])
    verbs, cm = _header(words, _VERBS), _header(words, _CM)
    if not verbs:
        raise CannotBuild(_NO_VERBS)
    if not cm:
        del files["cm.c"]
    files |= _of_table(has_cm=bool(cm))
    digest.update(_run([*words, "--version"]).stdout + verbs + cm)
    place = state_path() / "c" / digest.hexdigest()[:24]
    if not (place / _NAME).exists():
        _compile(words, files, place)
    return place / _NAME


def clock_library(verbs: Path) -> Path:
    """The object with the virtual clocks beside the compiled library."""
    return verbs.with_name(_CLOCK_NAME)


def compile_program(words: Sequence[str], output: str) -> int:
    """Compile a program against libibverbs, and librdmacm where its header is; the exit code.

    words: files and options. What the compiler prints goes where this process prints.
    Raises CannotBuild.
    """
    called = compiler()
    if not _header(called, _VERBS):
        raise CannotBuild(_NO_VERBS)
    libraries = ["-lrdmacm", "-libverbs"] if _header(called, _CM) else ["-libverbs"]
    warnings = ["-Wall", "-Wextra", "-g", "-pthread"]
    return subprocess.run(
        [*called, *warnings, "-o", output, *words, *libraries], check=False
    ).returncode


def sources() -> dict[str, bytes]:
    """The files of the library by name, with those that are made of `wire` and `c_library`."""
    folder = resources.files("rdmalab.compat.c") / "library"
    found = {each.name: each.read_bytes() for each in folder.iterdir()}
    headers = {"wire.h": wire.header().encode(), "page.h": page.header().encode()}
    return found | headers | _of_table(has_cm=True)


def _of_table(*, has_cm: bool) -> dict[str, bytes]:
    made = {
        "library.map": c_library.version_script(has_cm=has_cm),
        "refused.c": c_library.refusing_functions(has_cm=has_cm),
    }
    return {name: text.encode() for name, text in made.items()}


def _header(words: list[str], name: str) -> bytes:
    """Text of a header after the C preprocessor; empty if the compiler does not find the header."""
    done = _run([*words, "-E", "-xc", "-"], given=f"#include <{name}>\n".encode())
    return b"" if done.returncode else done.stdout


def _compile(words: list[str], files: dict[str, bytes], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        for name, octets in files.items():
            (Path(folder) / name).write_bytes(octets)
        names = sorted(name for name in files if name.endswith(".c") and name != _CLOCK)
        script = "-Wl,--version-script=library.map"
        for made, parts in ((_CLOCK_NAME, [_CLOCK]), (_NAME, [script, *names])):
            done = _run([*words, *_FLAGS, "-o", made, *parts], folder=folder)
            if done.returncode:
                raise CannotBuild(f"the C library does not compile:\n{done.stderr.decode()}")
        place.mkdir(exist_ok=True)
        (Path(folder) / _CLOCK_NAME).replace(place / _CLOCK_NAME)
        (Path(folder) / _NAME).replace(place / _NAME)


def _run(
    words: list[str], given: bytes = b"", folder: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(words, input=given, capture_output=True, cwd=folder, check=False)
    except OSError as wrong:
        raise CannotBuild(f"{words[0]} cannot be run: {wrong.strerror}") from None
