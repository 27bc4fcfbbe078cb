"""Print, one a line, what the lab answers: to lessons and records of the oracle, drawn by a seed.

`python -OO -m tests.answers` must print the same as `python -m tests.answers`.
"""

import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.reply_text import say
from rdmalab.shell.styled_text import text_of
from rdmalab.spec.profiles import RXE
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.each import a_third, a_twentieth
from tests.oracle.entries import ENTRIES
from tests.oracle.outcomes import RECORDED, complaints, played

LESSONS = Path(__file__).parents[1] / "scenarios"
FOLDERS = ("mw", "why")


def lessons() -> list[str]:
    """Paths below `scenarios`: those of this run, as its processes inherit RDMALAB_SEED."""
    files = [path for folder in FOLDERS for path in (LESSONS / folder).glob("*.rdmalab.yaml")]
    return a_twentieth(sorted(str(path.relative_to(LESSONS)) for path in files))


def main() -> None:
    """One line each; a lesson has the hash of its trace and of all that was said."""
    for name in lessons():
        _tell(name, *_lesson(LESSONS / name))
    for name in a_third(RECORDED):
        _tell("outcome", name, *complaints(name, played("rxe")[name]))
    for entry in a_third(ENTRIES):
        _tell("errno", entry.name, str(entry.asked(RXE)[0]))


def _tell(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")


def _lesson(path: Path) -> Iterator[str]:
    runner = Runner(load(str(path), VOCABULARY), open_session)
    output, answer = OutputFormat(runner.session), sha256()
    while not runner.over:
        for reply in runner.replies():
            for line in say(output, reply) if reply.travel is None else ():
                answer.update(text_of(line).encode())
    yield "passed" if runner.ok else "FAILED"
    yield digest(runner.session.world.trace)
    yield answer.hexdigest()


if __name__ == "__main__":
    main()
