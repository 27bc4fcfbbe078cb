"""`python -m tests.campaign [--seed S] [--sessions N]`: the examination of `why`, whole.

Four parts, of which the suite plays a part with a printed seed: the lessons of `scenarios/why`
after each way to tidy up, pointed and plain; sessions drawn from the tables of mistakes; each fix
that is called working, carried out; and the numbers of `tests/sweep/tables.py`, within 1 %. Exit
status 1 if a share is below its bar.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rdmalab.session.session import Session
from tests.doctor import tidying
from tests.mistakes.playing import Answer, Mistake, answer_of, drawn
from tests.sweep.tables import TABLE, is_right, measured

_LATER_EVENTS = 100_000
BARS = {"asked": 0.95, "plain": 0.90}  # of the sessions


def later(session: Session) -> None:
    """Another pair works for a hundred thousand events."""
    before = set(session.names.all())
    tidying.say(session, "use rc_pair")
    a, b = ([n for n in session.names.all() if n not in before and n.startswith(node)]
            for node in list(session.world.nodes)[:2])  # fmt: skip
    qp, cq, mr, remote = (
        next(name for name in names if f".{noun}" in name)
        for names, noun in ((a, "qp"), (a, "cq"), (a, "mr"), (b, "mr"))
    )
    write = f"post_send {qp} wr_id=5 opcode=RDMA_WRITE sg={mr}[0:64] remote={remote}[0]"
    lines = f"loop; {write} flags=SIGNALED; poll {cq}; end"
    tidying.say(session, f"program {qp.partition('.')[0]}.later lines={{{lines}}}")
    session.history.run(_LATER_EVENTS)


_TAKEN = dict.fromkeys((*tidying.TIDY, "apart"), tidying.THEIR_TRUTH)
_COME = {
    "ack-delayed", "fence-wait", "loss-slow", "rd-atomic-depth", "too-early", "too-early-receive",
}  # fmt: skip
"""Lessons whose work completes while the other pair works."""


TIDY: dict[str, Callable[[Session], None]] = {
    "": lambda _session: None, **tidying.TIDY, "apart": tidying.apart, "later": later,
}  # fmt: skip


def say(line: str) -> None:
    """A line of the table, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def lesson(path: Path, tidy: str) -> list[str]:
    """What is wrong with the answers to a lesson after tidying up so; plain where it was right."""
    wrong = []
    for session, step in tidying.failed(path):
        was_plain = tidying.is_right(tidying.why(session, ""), step)
        TIDY[tidy](session)
        pointed, plain = tidying.why(session, step.why or ""), tidying.why(session, "")
        taken = _stem(path) in (_COME if tidy == "later" else _TAKEN.get(tidy, ()))
        if not tidying.is_right(pointed, step) and not taken:
            wrong.append(f"pointed {step.cause} {pointed.slug}")
        if was_plain and not tidying.is_right(plain, step) and not taken:
            wrong.append(f"plain {step.cause} {plain.slug}")
    return wrong


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def lessons(processes: ProcessPoolExecutor, tidies: list[str] | None = None) -> None:
    """The table of the lessons."""
    paths = tidying.files()
    for tidy in TIDY if tidies is None else tidies:
        wrong = Counter[str]()
        for path, found in zip(
            paths, processes.map(lesson, paths, [tidy] * len(paths)), strict=True
        ):
            for each in found:
                wrong[each.partition(" ")[0]] += 1
                say(f"  {tidy or 'at once'}: {_stem(path)}: {each}")
        say(f"{tidy or 'at once'}: of {len(paths)} files wrong: {dict(wrong)}")


def mistakes(processes: ProcessPoolExecutor, played: Iterable[Mistake]) -> bool:
    """The table of the mistakes; whether it is above its bars."""
    answers = list(processes.map(answer_of, played))
    areas = dict.fromkeys(answer.mistake.kind.area for answer in answers)
    for area in [*areas, ""]:
        _print_row(area, [a for a in answers if area in ("", a.mistake.kind.area)])
    for answer in answers:
        if not (answer.asked_right and answer.plain_right) or answer.fixed:
            kind = answer.mistake.kind
            text = f"{answer.asked} / {answer.plain}, accepted {' '.join(kind.accept)}"
            say(f"  {answer.mistake.name}: {text} {answer.fixed}")
    return all(
        sum(getattr(answer, f"{key}_right") for answer in answers) >= bar * len(answers)
        for key, bar in BARS.items()
    ) and not any(answer.fixed for answer in answers)


def _print_row(area: str, answers: list[Answer]) -> None:
    asked, plain = (sum(getattr(a, f"{k}_right") for a in answers) for k in ("asked", "plain"))
    false = sum(bool(answer.fixed) for answer in answers)
    count = len(answers)
    shares = f"asked {asked / count:6.1%}  plain {plain / count:6.1%}"
    say(f"{area or 'all':16} {count:4} sessions  {shares}  false fixes {false}")


def sweeps(processes: ProcessPoolExecutor) -> bool:
    """The tables of the sweeps; whether every number is right."""
    wrong = 0
    for entry, value in zip(TABLE, processes.map(measured, TABLE), strict=True):
        right = is_right(entry, value)
        wrong += not right
        mark = "" if right else "  WRONG"
        say(f"{entry.name:44} {value:10.4g}  table {entry.value:10.4g}{mark}")
    say(f"sweeps: {len(TABLE) - wrong} of {len(TABLE)} numbers within 1 %")
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--part", choices=("lessons", "mistakes", "sweeps"))
    parser.add_argument("--tidy", nargs="*", choices=TIDY, help="of the lessons only these")
    chosen = parser.parse_args()
    say(f"seed {chosen.seed}")
    good = True
    with ProcessPoolExecutor() as processes:
        if chosen.part in (None, "lessons"):
            lessons(processes, chosen.tidy)
        if chosen.part in (None, "mistakes"):
            good = mistakes(processes, drawn(chosen.seed, chosen.sessions))
        if chosen.part in (None, "sweeps"):
            good = sweeps(processes) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
