"""`python -m tests.classroom.cheats [LAB …]`: what each way to points without work gets.

A row for each lab, a column for each way: percent of the points that it got before labs were made
to resist it, and now. The last column is an honest guess: each choice at random, and the commonest
right value. Exit status 1 if a way gets more than a guess. The suite plays a tenth of the labs.
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, product
from pathlib import Path

import yaml

from rdmalab.classroom import submission
from rdmalab.classroom.answers import verdict
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.judging import JudgedWork
from rdmalab.classroom.lab_file import loads
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.owner import given
from rdmalab.classroom.playing import begun
from rdmalab.classroom.public import published
from rdmalab.classroom.trust import applied, everything_right, guessed, written
from tests.classroom.cheat import PAIR, STUDENTS, SUFFIX, Cheat
from tests.classroom.labs import FOLDER
from tests.classroom.reader_cheats import READ

INSTALLED = FOLDER.parents[1] / "scenarios/labs"
_CLASS = 12
_NAMED, _MOST = re.compile(r"\$\{(\w+)\}"), 60  # a parameter in a line; repetitions of a line
BEFORE: Mapping[str, Mapping[str, int]] = {
    "apply": {"sq-full": 100, "drain": 100, "no-completion": 100, "rnr-budget": 86, "by-hand": 56,
              "retry-budget": 40},
    "host writes": {"access": 75, "immediate": 86},
    "after the end": {"counter": 44}, "waits": {"counter": 78},
    "a friend's file": {
        "drain": 100, "rnr-budget": 100, "srq-size": 85, "retry-budget": 82, "no-completion": 79,
        "immediate": 71, "read-depth": 60, "access": 53, "arm-poll": 52, "sq-full": 34,
        "counter": 29, "own-program": 29, "by-hand": 26, "fence": 25, "mr-lifetime": 20,
        "forty-bytes": 17, "reuse": 14,
    },
    "handout": {
        "access": 25, "arm-poll": 17, "by-hand": 11, "counter": 22, "drain": 11, "fence": 18,
        "forty-bytes": 12, "immediate": 14, "mr-lifetime": 20, "no-completion": 25,
        "read-depth": 18, "retry-budget": 30, "reuse": 18, "rnr-budget": 14, "sq-full": 30,
        "srq-size": 27,
    },
    "tries": {
        "access": 12, "arm-poll": 8, "by-hand": 11, "counter": 11, "drain": 11, "fence": 9,
        "forty-bytes": 12, "immediate": 14, "mr-lifetime": 10, "read-depth": 9, "retry-budget": 10,
        "reuse": 9, "rnr-budget": 14, "sq-full": 20, "srq-size": 9,
    },
    "spellings": {"access": 75},
}  # fmt: skip
"""Way → lab → percent, as measured before. Of the installed lab it was 100 for each."""


# --------------------------------------------------------------------------- the ways seen
def _apply(cheat: Cheat) -> float:
    """Again and again, and as the rejected solution of the lab does it."""
    return max(cheat.ways.alone(applied(cheat.lab)), _rejected(cheat, "apply-again-and-again"))


def _rejected(cheat: Cheat, *names: str) -> float:
    """The most that rejected solutions of these names get without an answer."""
    solutions = cheat.lab.document.solutions
    assert solutions is not None
    found = [each.lines for each in solutions.reject if each.name in names]
    return max((cheat.ways.alone(lines) for lines in found), default=0.0)


def _host_writes(cheat: Cheat) -> float:
    names = ("host-and-an-empty-write", "host-and-an-empty-message", "send-into-the-box",
             "an-empty-message", "empty-messages", "write-elsewhere")  # fmt: skip
    return max(_rejected(cheat, *names), *map(cheat.ways.alone, written(cheat.lab)))


def _read(path_text: str, cheat: Cheat) -> float:
    """What a reader of a lab file can hand in: solutions, right choices, values of questions."""
    document = yaml.safe_load(path_text)
    answers: dict[str, str] = {}
    for task in document["tasks"]:
        right = [n for n, each in enumerate(task.get("choice", ()), 1) if each.get("right")]
        answers.update({task["id"]: str(right[0])} if right else {})
        if "answer" in task:
            answers[task["id"]] = everything_right(cheat.lab)[task["id"]]
    lines = document.get("solutions", {}).get("accept", [{"lines": []}])[0]["lines"]
    return cheat.graded(cheat.work(lines, answers=answers))


def _installed(cheat: Cheat) -> float:
    return _read((INSTALLED / f"{cheat.name}{SUFFIX}").read_text("utf-8"), cheat)


def _no_log(cheat: Cheat) -> float:
    """What the removal of `hints:` and `log:` wins against the same work with both."""
    tasks = cheat.lab.document.tasks
    hints = [f"{task.id}.{n}" for task in tasks for n in range(1, len(task.hints) + 1)]
    paid = cheat.work(cheat.solved, hints=hints)
    removed = paid.model_copy(update={"hints": [], "log": []})
    return max(0.0, cheat.graded(removed) - cheat.graded(paid))


def _other_name(cheat: Cheat) -> float:
    """An empty work under the name of another student: what it makes that student have."""
    return cheat.graded(cheat.work([], student="victim"), owner=STUDENTS[0])


# --------------------------------------------------------------------------- ten more
def _reopened(cheat: Cheat) -> float:
    """The lab is opened again after each wrong answer, with a new log."""
    known: dict[str, str] = {}
    for task in cheat.lab.document.tasks:
        for number in range(1, len(task.choice or ()) + 1):
            fresh = LabSession(published(cheat.lab), cheat.name, STUDENTS[0])
            fresh.answer(task.id, str(number))
            if any(each.id == task.id and each.passed for each in fresh.grade().results):
                known[task.id] = str(number)
    return cheat.graded(cheat.work([], answers=known))


def _seals(cheat: Cheat) -> float:
    """Every answer is asked of the handout by a program."""
    handout = loads(published(cheat.lab), cheat.name, student=STUDENTS[0])
    known = {
        task.id: answer
        for index, task in enumerate(handout.document.tasks)
        for answer in [*map(str, range(100)), "ENOMEM", "REM_INV_REQ_ERR", "LOC_PROT_ERR"]
        if task.is_asked and verdict(handout, index, answer).right
    }
    return cheat.graded(cheat.work([], answers=known))


def _swapped(cheat: Cheat) -> float:
    """The solution with the two nodes exchanged: B does what A is to do."""
    return cheat.ways.alone([
        re.sub(r"(?<![\w.])([AB])(?=\.)", lambda m: "BA"["AB".index(m[1])], line)
        for line in cheat.solved
    ])  # fmt: skip


def _pulled(cheat: Cheat) -> float:
    """B READs the bytes of A, which A was to send, and sends something back."""
    rights = "LOCAL_WRITE|REMOTE_READ|REMOTE_WRITE"
    return cheat.ways.alone([
        f"rereg_mr A.mr0 flags=CHANGE_ACCESS access={rights}",
        "modify_qp A.qp0 state=RTS qp_access_flags=REMOTE_READ|REMOTE_WRITE",
        "post_send B.qp0 opcode=RDMA_READ sg=B.mr0[0:64] remote=A.mr0[0] flags=SIGNALED",
        "post_recv A.qp0 sg=A.mr0[64:128]; post_send B.qp0 opcode=SEND sg=B.mr0[0:32]",
        "run 1ms", "poll_cq A.cq0 num_entries=16", "poll_cq B.cq0 num_entries=16",
    ])  # fmt: skip


def _endless(cheat: Cheat) -> float:
    """A program that never ends, so that a limit cuts the work."""
    return cheat.ways.alone(["program A.forever lines={ loop; sleep 10ns; end }", "run 9s"])


def _before_the_setup(cheat: Cheat) -> float:
    """Back before the end of the setup, and the ready pair in its place."""
    return cheat.ways.alone(["goto start", "back 3", "use rc_pair", *cheat.solved[:1], "goto end"])


def _inside_programs(cheat: Cheat) -> float:
    """What is shut, in the lines of programs."""
    shut = ("apply", "fault clear", "connect A.qp0 B.qp0", 'write B.mr0[0:5] "hello"')
    return cheat.ways.alone(
        [f"program {n}.p{i} lines={{ loop 2; {line}; end }}" for i, line in enumerate(shut)
         for n in "AB"] + ["run 1ms"]
    )  # fmt: skip


def _injected(cheat: Cheat) -> float:
    """Packets and faults of the experimenter."""
    return cheat.ways.alone(["inject A->B opcode=SEND_ONLY", "fault clear", "link latency=1ns",
                             "port A down", "new", "load labs/by-hand", "run 1ms"])  # fmt: skip


def _claims(cheat: Cheat) -> float:
    """Keys with results in the file."""
    text = submission.written(cheat.work([]))
    text += "score: 99\nverdict: graded\nresults: [{passed: true}]\nof: 1\nparams: {size: 1}\n"
    grade = grade_submission(Item(cheat.text, cheat.name, text, "w.yaml", given(STUDENTS[0])))
    return grade.score / cheat.lab.document.points


def _nothing(cheat: Cheat) -> float:
    """Time alone."""
    return cheat.ways.alone(["run 1us", "run 1s"])


# --------------------------------------------------------------------------- five more
def _every_value(cheat: Cheat) -> float:
    """One file for a class: a solution with its lines for each value; the mean of the class."""
    document = yaml.safe_load(cheat.text)
    drawn = {name: list(map(str, _values(each))) for name, each in document["params"].items()}
    lines = list[str]()
    written = document["solutions"]["accept"][0]["lines"]
    solved = iter(cheat.solved)
    for raw in written:
        own = list(islice(solved, _times(raw, cheat.lab.params)))
        if not isinstance(raw, str):
            lines += own
            continue
        line = raw
        names = list(dict.fromkeys(_NAMED.findall(line)))
        every = islice(product(*(drawn[name] for name in names)), _MOST)
        made = [_with(line, names, values) for values in every]
        again = made if "program" not in line else made[:1]
        polls = "; run 20us; poll_cq A.cq0 num_entries=16" if again[1:] else ""
        lines.append("; ".join(f"{each}{polls}" for each in again))
    used = {name for raw in written if isinstance(raw, str) for name in _NAMED.findall(raw)}
    labs = [loads(cheat.text, cheat.name, student=f"c{n}") for n in range(_CLASS)]
    # Whose values come first has, for these lines, honest work before the rest.
    others = [lab for lab in labs if all(lab.params[name] != drawn[name][0] for name in used)]
    return sum(cheat.ways.share(lab, JudgedWork(lines)) for lab in others) / max(1, len(others))


def _times(raw: object, params: Mapping[str, object]) -> int:
    """The number of lines that an entry of a solution stands for."""
    if not isinstance(raw, dict):
        return 1
    return int(_NAMED.sub(lambda match: str(params[match[1]]), str(raw.get("repeat", 1))))


def _with(line: str, names: Sequence[str], values: Sequence[str]) -> str:
    given = dict(zip(names, values, strict=True))
    return _NAMED.sub(lambda match: given[match[1]], line)


def _values(drawn: Mapping[str, object]) -> Sequence[object]:
    """The values of which one is drawn for a student."""
    first, last = drawn.get("from"), drawn.get("to")
    if isinstance(first, int) and isinstance(last, int):
        return range(first, last + 1)
    chosen = drawn["choose"]
    assert isinstance(chosen, list)
    return chosen


def _odd_answers(cheat: Cheat) -> float:
    """Several choices in one answer, and numbers in other scripts: none is taken for the right."""
    asked = [task.id for task in cheat.lab.document.tasks if task.is_asked]
    odd = ("1 2 3 4", "1,2,3", "1|2|3", "a b c", "true", "*", ".", "\u0661", "\u00b2", "1.0 or 2.0")
    return max(cheat.graded(cheat.work([], answers=dict.fromkeys(asked, each))) for each in odd)


def _to_itself(cheat: Cheat) -> float:
    """Two queue pairs of one node send to each other what A is to send to B."""
    if not any(PAIR.search(line) for line in cheat.solved):
        return 0.0  # the work names no queue pair: with others it is the right work
    found = list[float]()
    for n in "AB":
        new = f"pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0 max_send_wr=8 max_recv_wr=8"
        made = [f"create_qp {n}.qp{number} {new}" for number in (95, 96)]
        own = {"A": f"{n}.qp95", "B": f"{n}.qp96"}
        swapped = ["".join(own.get(piece, piece) for piece in PAIR.split(line))
                   for line in cheat.solved]  # fmt: skip
        found.append(cheat.ways.alone([*made, f"connect {n}.qp95 {n}.qp96", *swapped, "run 1ms"]))
    return max(found)


def _remade(cheat: Cheat) -> float:
    """What the setup has made is destroyed, and made again with the same names, ready for use."""
    verbs = {"destroy_qp": "qp", "destroy_cq": "cq", "dereg_mr": "mr", "dealloc_pd": "pd"}
    torn = [f"{verb} {n}.{noun}0" for n in "AB" for verb, noun in verbs.items()]
    return cheat.ways.alone([*torn, "use rc_pair", "use rc_pair cqe=64", "run 1ms"])


def _stopped(cheat: Cheat) -> float:
    """The threads of the setup are stopped or replaced, so that nothing happens beside the work."""
    session = begun(cheat.lab).session
    threads = [name for name in session.names.all() if name.partition(".")[2] in ("other", "cable")
               or name.endswith((".tx", ".rx"))]  # fmt: skip
    ends = [f"stop {name}; program {name} lines={{ sleep 1ns }}" for name in threads]
    return cheat.ways.alone([*ends, "run 1ms", "poll_cq A.cq0 num_entries=16"])


Way = Callable[[Cheat], float]
SEEN: dict[str, Way] = {
    "apply": _apply, "host writes": _host_writes,
    "after the end": lambda cheat: _rejected(cheat, "host-after-the-end"),
    "waits": lambda cheat: _rejected(cheat, "waits-for-the-other"),
    "a friend's file": lambda cheat: cheat.ways.copied(),
    "handout": lambda cheat: _read(published(cheat.lab), cheat), "installed": _installed,
    "no log": _no_log, "other name": _other_name,
    "tries": lambda cheat: cheat.ways.confirmed(published(cheat.lab)),
}  # fmt: skip
"""The ways of the report that got points that they should not get."""
MORE: dict[str, Way] = {
    "reopened": _reopened, "seals": _seals, "swapped": _swapped, "pulled": _pulled,
    "endless": _endless, "before setup": _before_the_setup, "in programs": _inside_programs,
    "injected": _injected, "claims": _claims, "nothing": _nothing,
    "every value": _every_value, "odd answers": _odd_answers, "to itself": _to_itself,
    "remade": _remade, "stopped": _stopped,
}  # fmt: skip
"""Fifteen more."""
WAYS = {**SEEN, **MORE, **READ}
_LUCK = 0.03  # of a copy: a share of the class has drawn the same values
_COPIES = ("a friend's file", "every value", "spellings")


def before(way: str, name: str) -> int:
    """Percent that the way got in this lab before."""
    return 100 if way == "installed" else BEFORE.get(way, {}).get(name, 0)


def tried(name: str) -> tuple[dict[str, float], float]:
    """The share that each way gets in a lab, and that of a guess."""
    cheat = Cheat.of(name)
    shares = {way: found(cheat) for way, found in WAYS.items()}
    return shares, guessed(cheat.text, name, STUDENTS)


def too_much(shares: Mapping[str, float], guess: float) -> list[str]:
    """The ways that get more than a guess."""
    return [
        f"{way} gets {share:.0%}, a guess {guess:.0%}" for way, share in shares.items()
        if share > guess + (_LUCK if way in _COPIES else 1e-9)
    ]  # fmt: skip


def names() -> list[str]:
    return [path.name.removesuffix(SUFFIX) for path in sorted(Path(FOLDER).glob(f"*{SUFFIX}"))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.classroom.cheats", description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="default: all")
    chosen = parser.parse_args().labs or names()
    wrong: list[str] = []
    for name in chosen:
        shares, guess = tried(name)
        cells = [f"{way} {before(way, name)}→{100 * share:.0f}" for way, share in shares.items()]
        sys.stdout.write(f"{name}: {', '.join(cells)}, a guess {100 * guess:.0f}\n")
        sys.stdout.flush()
        wrong += [f"{name}: {each}" for each in too_much(shares, guess)]
    sys.stdout.write("".join(f"{each}\n" for each in (*wrong, f"{len(wrong)} above a guess")))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
