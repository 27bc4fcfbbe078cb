"""The code blocks of README and of the manual, done as a reader would do them.

`lab`: lines of the prompt; `lab new` begins with an empty world; `# refused` after a line that
returns an errno. `console`: lines after `A> `, and what they print; `…` stands for rows left out.
`sh`: lines of a shell that begin with `rdmalab`. `python`: a program. `yaml NAME`: a file.
RDMALAB_UPDATE=1 writes what the console blocks print now, for a person to read the diff.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click

from rdmalab import cli
from rdmalab.cli.commands import program
from rdmalab.grammar.line import commands_of
from rdmalab.guide.manual import ManualPart, Shape
from rdmalab.shell.evaluation import LineEnd
from tests.shell.prompts import Prompt

ROOT = Path(__file__).parents[1]
WIDTH = 100
PROMPT, LEFT_OUT, REFUSED = "A> ", "…", "# refused"
MAX_EVENTS = 2_000  # what ^C is for in a session of a person

# Lines of a shell that are not carried out here, and why; their options are read.
ONLY_READ = {
    "rdmalab book public": "all lessons take a minute",
    "rdmalab book more": "all lessons again; tests/page tries a lesson in the page of a lab",
    "rdmalab site public": "node may not be installed; tests/page carries it out",
    "rdmalab serve": "it serves until ^C; tests/serve carries it out",
    "rdmalab run --watch": "it waits for changes of the file",
    "rdmalab lab try": "it opens the app",
    "rdmalab lessons --coverage": "it runs all bound tests",
    "rdmalab exec": "the programs may not be installed; tests/compat/c runs them",
    "rdmalab cc": "the compiler may not be installed; tests/compat/c runs it",
    "rdmalab selfcheck": "what it finds depends on the machine",
}
# Exit codes other than 0.
CODES = {
    "rdmalab why": 1, "rdmalab compare": 1, "rdmalab repl --keep-going": 1,
    "rdmalab grade": 1,  # the work in downloads is unreadable
}  # fmt: skip

SUPPLIES = {
    "pingpong.py": "tests/pyverbs_programs/rc_pingpong.py",
    "path_migration.py": "tests/pyverbs_programs/path_migration.py",
}
TEXTS = {
    "class.csv": "id\ns1\ns2\n",
    "my.lines": "use rc_pair\nmodify_qp A.qp0 state=INIT pkey_index=0\n",
    "downloads/s1.yaml": "not a submission\n",
}


def supply(folder: Path) -> None:
    """The files that a page names and does not make."""
    for shared in ("scenarios", "instructor"):
        (folder / shared).symlink_to(ROOT / shared)
    for name, path in SUPPLIES.items():
        shutil.copy(ROOT / path, folder / name)
    (folder / "downloads").mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")


class Reader:
    """Does what the blocks of a document ask for. The working directory is a folder of its own."""

    def __init__(self, *begun: str) -> None:
        self.begun = begun
        self.done = 0
        self.printed: list[tuple[str, str]] = []  # console blocks: as they are, as they should be
        self._open()

    def _open(self, *begun: str) -> None:
        self.prompt = Prompt(*(begun or self.begun), width=WIDTH)
        self.prompt.lab.session.max_events = MAX_EVENTS

    def read(self, parts: Sequence[ManualPart]) -> None:
        """Do all blocks, in their order."""
        for part in parts:
            for block in part.blocks:
                if block.shape is Shape.CODE and block.language:
                    kind, _, more = block.language.partition(" ")
                    getattr(self, f"_{kind}")(block.texts[0], more)
                    self.done += 1

    # ------------------------------------------------------------------ the prompt
    def _lab(self, text: str, more: str) -> None:
        assert more in ("", "new"), more
        if more == "new":
            self._open()
        for _, line in commands_of(text):
            self.type(line)

    def type(self, line: str) -> list[str]:
        """What a line prints; it must be understood, and refused only where that is announced."""
        printed = self.prompt.ask(line)
        end = self.prompt.conversation.end
        allowed = {LineEnd.FAILED} if REFUSED in line else {LineEnd.FINE, LineEnd.STOPPED}
        assert end in allowed, (line, end, printed)
        return printed

    def _console(self, text: str, more: str) -> None:
        assert not more
        wanted = [
            row for typed, rows in _typed(text)
            for row in (f"{PROMPT}{typed}", *_shortened(self.type(typed), rows))
        ]  # fmt: skip
        self.printed.append((text, "".join(f"{row}\n" for row in wanted)))

    # ------------------------------------------------------------------ files and programs
    def _yaml(self, text: str, name: str) -> None:
        assert re.fullmatch(r"[\w.-]+\.yaml", name), name
        Path(name).write_text(text, "utf-8")

    def _python(self, text: str, more: str) -> None:
        assert not more
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", text], check=True, env=environment, timeout=60)

    def _sh(self, text: str, more: str) -> None:
        assert not more
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            assert words[0] == "rdmalab", line
            _shell(line, words[1:])


def _shell(line: str, words: list[str]) -> None:
    target = os.devnull
    if ">" in words:
        words, (target,) = words[: words.index(">")], words[words.index(">") + 1 :]
    if any(line.startswith(each) for each in ONLY_READ):
        _only_read(program, words)
        return
    wanted = next((code for begun, code in CODES.items() if line.startswith(begun)), 0)
    with Path(target).open("w", encoding="utf-8") as stream, redirect_stdout(stream):
        assert cli.main(words) == wanted, line


def _only_read(command: click.Command, words: list[str]) -> None:
    """Whether the options and arguments of a line are what its command takes."""
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    command.make_context(str(command.name), list(words))


def _typed(text: str) -> Iterator[tuple[str, list[str]]]:
    """(line, rows that stand below it) of a console block."""
    for piece in text.split(f"\n{PROMPT}"):
        line, *rows = piece.removeprefix(PROMPT).rstrip("\n").split("\n")
        yield line, rows


def _shortened(printed: list[str], rows: list[str]) -> list[str]:
    """What is printed, with rows left out where the document leaves some out."""
    if LEFT_OUT not in rows:
        return printed
    first = rows.index(LEFT_OUT)
    last = len(rows) - first - 1
    return [*printed[:first], LEFT_OUT, *printed[len(printed) - last :]]


def check(path: Path, reader: Reader) -> None:
    """The console blocks of a file print what they print today."""
    text = path.read_text("utf-8")
    if os.environ.get("RDMALAB_UPDATE"):
        for before, today in reader.printed:
            text = text.replace(before, today)
        path.write_text(text, "utf-8")
    changed = [today for _, today in reader.printed if today not in text]
    assert not changed, "RDMALAB_UPDATE=1 writes what is printed now: look at the diff"
