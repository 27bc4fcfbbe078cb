"""A lab from a session: what was made is its world, what happened then are its goals.

The lines that were typed are the first accepted solution. Each proposed solution is graded before
the lab is written, so that `rdmalab lab check` passes; the author then changes texts and points.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from pathlib import PurePath

from rdmalab.classroom import checking
from rdmalab.classroom.public import dumped
from rdmalab.classroom.rules import EXPERIMENT
from rdmalab.command import NotUnderstood, Noun, Thing, Unit
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.quantities import spelled
from rdmalab.lab import Lab, open_session
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.loader import Scenario, loads
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import Unsavable, saved
from rdmalab.scenario.source import FileError, SourcePlace
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, cqe_of, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.work import WCOpcode
from rdmalab.views.completions import WcRow, wc_row
from rdmalab.views.ladder import packet_row
from rdmalab.views.transit_effects import Origin
from rdmalab.vocabulary import VOCABULARY

_ACTS = ("post_", "wr_start", "program", "bind_mw")
"""Beginnings of the first line that belongs to the solution; lines before it are the setup."""
_START = "start"  # a checkpoint of this name divides setup and solution instead
_MOST_TEXT, _MOST_BYTES = 32, 4096
_MOST_KINDS = 8  # of completions, of packets, and of texts in a region, that goals ask for
_WANTED = 3  # solutions of each kind
_SHORTER = ("use", "write", "fill", "modify_qp")  # would reach bytes and states without a message
_HEAD = (
    "# Proposed from a session: change title, texts and points, add params and hidden tasks.\n"
    "# rdmalab lab check plays the solutions; rdmalab lab try opens it as a student.\n"
)


class NoLab(Exception):  # noqa: N818  (it says what the session is)
    """Raised for a session of which no lab can be made; the text says why, and what to do."""


@dataclass(slots=True)
class _Session:
    """Lines and facts of one session. begun, ended: facts after the setup, and at the end."""

    setup: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    begun: dict[str, str] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    errno: str = ""


def lab_of(scenario: Scenario, name: str) -> str:
    """The text of a lab that begins as this session and asks for what happened in it.

    name: its id. Raises NoLab, and FileError if the session cannot be played.
    """
    session = _played(scenario)
    tasks = list(_tasks(session))
    if not tasks:
        raise NoLab("nothing has happened that a goal can ask for: post, run, and save again")
    verbs = set(map(_verb, session.lines))
    allowed = [word for word in EXPERIMENT if word in verbs]
    forbidden = [word for word in _SHORTER if word not in verbs]
    received = _received(session)
    plain: dict[str, object] = {
        "rdmalab": str(FORMAT), "kind": "lab", "id": name, "title": scenario.title,
        "about": "The world is ready. Bring about what the tasks ask for.",
        "level": "1", "minutes": "15", **_world(scenario), "setup": session.setup,
        "rules": {
            "forbid": forbidden, **({"allow": allowed} if allowed else {}),
            **({"lock": received} if received else {}),
        },
        "tasks": tasks,
    }  # fmt: skip
    answers = {session.refused: session.errno} if session.refused else {}
    plain["solutions"] = _solutions(plain, session.lines, answers)
    return _HEAD + dumped(plain)


def lines_of(text: str, path: str) -> Scenario:
    """The session of a text of lines, as they are typed at the prompt, one a line.

    Raises FileError for a line that is not understood.
    """
    lab = Lab()
    for number, line in enumerate(text.splitlines(), 1):
        for reply in lab.replies(line) if line.strip() else ():
            if reply.travel is not None:
                reply.travel.finish()
            if reply.error is not None:
                place = SourcePlace(number, 1, len(line))
                raise FileError(path, reply.error.message, reply.error.hint, place, text)
    try:
        return loads(saved(lab.session, PurePath(path).name), path, VOCABULARY)
    except Unsavable as wrong:
        raise NoLab(f"this session cannot be saved: {wrong}") from None


def _world(scenario: Scenario) -> dict[str, object]:
    """The keys of the scenario for devices, cable and seed."""
    plain = yaml_tree.plain(yaml_tree.compose(scenario.source))
    assert isinstance(plain, dict)  # it was loaded
    return {key: plain[key] for key in ("nodes", "link", "seed") if key in plain}


# --------------------------------------------------------------------------- what happened
def _played(scenario: Scenario) -> _Session:
    """Play the session, with each run as a time; raises FileError if a step fails."""
    runner, found = Runner(scenario, open_session), _Session()
    lines, wait_ns = found.setup, 0
    marked = any(step.step.checkpoint == _START for step in scenario.steps)
    while (step := runner.coming) is not None:
        before_ns = runner.session.world.now_ns
        if step.step.at is not None:
            wait_ns += step.step.at - before_ns
            before_ns = step.step.at
        is_first = (step.step.checkpoint == _START) if marked else _is_act(step)
        if lines is found.setup and is_first:
            found.begun, lines = _facts(runner.session), found.lines
        undone = lines is found.setup and step.step.errno  # a setup refuses to go on after it
        if step.line and not step.step.run and not step.step.checkpoint and not undone:
            lines += [f"run {spelled(wait_ns, Unit.NS)}"] if wait_ns else []
            lines.append(step.line)
            wait_ns = 0
        runner.next_step()
        if not runner.ok:
            raise FileError(scenario.path, runner.results[-1].text(scenario.path))
        wait_ns += runner.session.world.now_ns - before_ns
        if step.step.errno and not found.refused and lines is found.lines:
            found.refused, found.errno = "refused", step.step.errno
    if lines is found.setup:
        raise NoLab("no request was posted: post one, run, and save again")
    lines += [f"run {spelled(wait_ns, Unit.NS)}"] if wait_ns else []
    found.ended = _facts(runner.session)
    runner.session.dispose()
    return found


def _verb(line: str) -> str:
    return line.partition(" ")[0]


def _is_act(step: PlannedStep) -> bool:
    return bool(step.step.run) or step.line.startswith(_ACTS)


def _facts(session: Session) -> dict[str, str]:
    """Question → value: completions and packets by kind, states, and memory."""
    found = {question: str(count) for question, count in _happened(session).items()}
    for name in session.names.all(Noun.QP):
        found[f"{name}.state"] = getattr(_asked(session, f"{name}.state"), "name", "")
    for name in session.names.all(Noun.MR):
        length = _asked(session, f"{name}.length")
        if isinstance(length, int):
            octets = _asked(session, f"{name}[0:{min(length, _MOST_BYTES)}]")
            found[name] = octets.hex() if isinstance(octets, bytes) else ""
    return found


def _happened(session: Session) -> Counter[str]:
    """Question → how many such completions there were, or packets with bytes."""
    world, names = session.world, session.names
    queues, found = set(names.all(Noun.CQ)), Counter[str]()
    for number, record in enumerate(world.trace.records):
        if kind_of(record) is Kind.CQE_ADDED:
            node = node_of(record)
            queue = names.of(Thing(Noun.CQ, node, object_of(record)))
            row = wc_row(world.nodes[node], names, cqe_of(record))
            if queue in queues:  # it was not destroyed
                found[f"{queue}.total({', '.join(_kind(row))})"] += 1
        elif kind_of(record) is Kind.PACKET_SENT:
            packet = packet_row(world, names, number)
            if packet.psn is not None and packet.length and packet.origin is Origin.SENT:
                opcode, length = packet.opcode, packet.length
                found[f"wire.count(opcode={opcode}, from={packet.source}, length={length})"] += 1
    return found


def _kind(row: WcRow) -> Iterator[str]:
    """Filters of a completion; an empty message gives another one than a message with bytes."""
    yield f"status={row.status.name}"
    if isinstance(opcode := row.known("opcode", row.opcode), WCOpcode):
        yield f"opcode={opcode.name}"
    if (length := row.known("byte_len", row.byte_len)) is not None:
        yield f"byte_len={length}"


def _asked(session: Session, question: str) -> object:
    try:
        return session.ask(parse_expression(question).node)
    except NotUnderstood:
        return None


# --------------------------------------------------------------------------- tasks
def _tasks(session: _Session) -> Iterator[dict[str, object]]:
    """A task for completions, one for bytes, one for states, one for a refused call."""
    groups: tuple[tuple[str, str, str, Callable[[_Session], list[str]]], ...] = (
        ("completions", "3", "Bring about these completions and packets.", _completions),
        ("bytes", "2", "Bring these bytes to their places.", _bytes),
        ("states", "1", "Bring the queue pairs to these states.", _states),
    )
    for name, points, ask, goals in groups:
        if found := goals(session):
            listed = "\n".join(f"- {goal}" for goal in found)
            yield {
                "id": name, "points": points, "ask": f"{ask}\n{listed}", "goal": found,
                "else": "Compare show cq, show wire and why with what the task asks for.",
                "hints": [{"cost": "0", "text": "why says what a request waits for."}],
            }  # fmt: skip
    if session.refused:
        number = next(n for n, line in enumerate(session.lines) if not line.startswith("run"))
        yield {
            "id": session.refused, "points": "1",
            "ask": f"Which errno does the first refused call return after {session.lines[number]}?",
            "choice": _errnos(session.errno),
        }  # fmt: skip


def _errnos(right: str) -> list[dict[str, str]]:
    """The errno, and two others, as choices."""
    others = [each for each in ("EINVAL", "ENOMEM", "EBUSY") if each != right][:2]
    choices: list[dict[str, str]] = [{"text": right, "right": "true"}]
    return choices + [{"text": each, "when_wrong": "Read the line of the call."} for each in others]


def _completions(session: _Session) -> list[str]:
    """Completions of each kind, and a packet of each kind that carried bytes."""
    more = {
        question: value for question, value in session.ended.items()
        if question.endswith(")") and int(value) > int(session.begun.get(question, "0"))
    }  # fmt: skip
    sent = [f"{question} >= 1" for question in more if question.startswith("wire.")]
    ended = [f"{question} >= {n}" for question, n in more.items() if question[:5] != "wire."]
    return ended[:_MOST_KINDS] + sent[:_MOST_KINDS]


def _states(session: _Session) -> list[str]:
    return [
        f"{question} == {value}"
        for question, value in session.ended.items()
        if question.endswith(".state") and value and value != session.begun.get(question)
    ]


def _bytes(session: _Session) -> list[str]:
    """The texts that have come into regions that no line of the session has written itself.

    Several in one region are several goals: one transfer could else go to any place.
    """
    found = []
    for name in _received(session):
        before, after = bytes.fromhex(session.begun[name]), bytes.fromhex(session.ended[name])
        for at, stop in islice(_texts(before, after), _MOST_KINDS):
            shown = after[at : min(stop, at + _MOST_TEXT)]
            found.append(f'{name}[{at}:{at + len(shown)}] == "{shown.decode()}"')
    return found


def _texts(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    """First address and end of each text that has come into a region, in order of addresses.

    It begins with a byte that has changed; all that is printable from there belongs to it.
    """
    at = 0
    while at < min(len(before), len(after)):
        stop = at
        if before[at] != after[at]:
            while stop < len(after) and _is_plain(after[stop]):
                stop += 1
        if stop > at:
            yield at, stop
        at = max(stop, at + 1)


def _received(session: _Session) -> list[str]:
    """The regions whose bytes have changed, and that no line has written itself."""
    return [
        name for name, value in session.ended.items()
        if not name.endswith((")", ".state")) and session.begun.get(name, value) != value
        and not _is_changed(name, session.lines)
    ]  # fmt: skip


def _is_changed(name: str, lines: Sequence[str]) -> bool:
    """Whether a command is about this region, and does not only name its bytes for a message."""
    return any(re.search(rf" {re.escape(name)}(?!\w)", line) for line in lines)


def _is_plain(octet: int) -> bool:
    return 0x20 <= octet < 0x7F and chr(octet) not in '"\\${}%'


# --------------------------------------------------------------------------- solutions
def _solutions(
    plain: dict[str, object], lines: Sequence[str], answers: dict[str, str]
) -> dict[str, object]:
    """Three submissions that pass and three that do not, each of them graded here."""
    right = dict.fromkeys(answers, "1")  # the first choice
    accept = list(_accepted(lines))
    reject = list(_rejected(lines))
    made: dict[str, object] = {
        "accept": [_solution(f"as-typed-{n}", each, right) for n, each in enumerate(accept, 1)],
        "reject": [_solution(f"less-{n}", each, right) for n, each in enumerate(reject, 1)],
    }
    wrong = {
        trial.solution for trial in checking.trials(
            dumped({**plain, "solutions": made}), "session", ["1"]
        ) if trial.wrong
    }  # fmt: skip
    kept = {
        key: [each for each in of if isinstance(each, dict) and each["name"] not in wrong][:_WANTED]
        for key, of in made.items() if isinstance(of, list)
    }  # fmt: skip
    if any(len(each) < _WANTED for each in kept.values()):
        passing, failing = (len(each) for each in kept.values())
        raise NoLab(
            f"a lab needs {_WANTED} solutions that pass and {_WANTED} that fail; the lines of the "
            f"session give {passing} and {failing}. Leave out what the goals do not need"
        )
    return dict(kept)


def _solution(name: str, lines: Sequence[str], answers: dict[str, str]) -> dict[str, object]:
    return {"name": name, "lines": list(lines), **({"answers": dict(answers)} if answers else {})}


def _accepted(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines as they were typed, and with more time after them or between them."""
    yield list(lines)
    yield [*lines, "run 1us"]
    yield [*lines, "run 10us"]
    yield [*lines, "run 1ms"]
    yield [each for line in lines for each in (line, "run 1us")]


def _rejected(lines: Sequence[str]) -> Iterator[list[str]]:
    """Nothing, and ever less of the lines, from their beginning."""
    acts = [n for n, line in enumerate(lines) if line.startswith(_ACTS)]
    yield ["run 1us"]
    for number in reversed(acts):
        if number:
            yield [*lines[:number], "run 1us"]
    yield ["run 1ms"]
    yield ["run 10us"]
