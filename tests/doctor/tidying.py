"""Sessions of `scenarios/why`, and what programs do after a failure: destroy, reset, reconnect."""

from collections.abc import Callable
from pathlib import Path

from rdmalab.command import Noun, Thing
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.model import Step
from rdmalab.scenario.runner import Runner
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.spec.states import QPState
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.relations import exists, peer_of

WHY = Path(__file__).parents[2] / "scenarios" / "why"
_DESTROY = {
    Noun.FLOW: "destroy_flow", Noun.MW: "dealloc_mw", Noun.QP: "destroy_qp",
    Noun.SRQ: "destroy_srq", Noun.AH: "destroy_ah", Noun.CQ: "destroy_cq",
    Noun.CHANNEL: "destroy_comp_channel",
    Noun.MR: "dereg_mr", Noun.XRCD: "close_xrcd", Noun.TD: "dealloc_td", Noun.PD: "dealloc_pd",
}  # fmt: skip


def files() -> list[Path]:
    """All scenarios whose subject is a cause."""
    return sorted(WHY.glob("*.rdmalab.yaml"))


def failed(path: Path) -> list[tuple[Session, Step]]:
    """The session at each step `why` of a file that expects a cause; each played alone."""
    scenario = load(str(path), VOCABULARY)
    asked = [n for n, s in enumerate(scenario.steps) if s.step.cause is not None]
    return [_played(path, number) for number in asked]


def _played(path: Path, stop: int) -> tuple[Session, Step]:
    runner = Runner(load(str(path), VOCABULARY), open_session)
    while runner.position < stop and runner.next_step() is not None:
        pass
    assert runner.ok, runner.results[-1].text(str(path))
    return runner.session, runner.scenario.steps[stop].step


def why(session: Session, question: str) -> Report:
    node = parse_expression(question, session.default_node).node if question else None
    return consult(session, node)


def is_right(report: Report, step: Step) -> bool:
    """The cause comes first; a warning is among the warnings."""
    if step.verdict == "warning":
        return step.cause in [cause.check.slug for cause in report.warnings]
    return report.slug == step.cause


def say(session: Session, line: str) -> None:
    """A line that may be refused: what is in use stays."""
    for reply in replies(session, line, file=True):
        if reply.travel is not None:
            reply.travel.go(20_000)


def living(session: Session, noun: Noun) -> list[tuple[str, Thing]]:
    return [(session.names.of(thing), thing) for thing in session.names.living(session.world, noun)]


def destroy_all(session: Session) -> None:
    """In the legal order, on both nodes."""
    for noun, verb in _DESTROY.items():
        for name, _ in living(session, noun):
            say(session, f"{verb} {name}")


def reset(session: Session) -> None:
    for name, _ in living(session, Noun.QP):
        say(session, f"modify_qp {name} state=RESET")


def reconnect(session: Session) -> None:
    pairs = set()
    for name, thing in living(session, Noun.QP):
        qp = session.world.find(thing, QueuePair)
        peer = peer_of(session.world, qp) if qp.transport.connected else None
        if peer is not None:
            other = session.names.of(Thing(Noun.QP, peer.node, peer.number))
            pairs.add(tuple(sorted((name, other))))
    reset(session)
    for a, b in sorted(pairs):
        say(session, f"connect {a} {b}")


def drain(session: Session) -> None:
    """All to ERR, run, poll, destroy."""
    for name, thing in living(session, Noun.QP):
        if session.world.find(thing, QueuePair).state is not QPState.RESET:
            say(session, f"modify_qp {name} state=ERR")
    say(session, "run 1ms")
    for name, _ in living(session, Noun.CQ):
        say(session, f"poll_cq {name} num_entries=16")
    destroy_all(session)


def apart(session: Session) -> None:
    """CQs polled, regions first, B before A, time between."""
    for name, _ in living(session, Noun.CQ):
        say(session, f"poll_cq {name} num_entries=16")
    order = [Noun.MW, Noun.MR, *[n for n in _DESTROY if n not in (Noun.MW, Noun.MR)]]
    for node in ("B", "A"):
        for noun in order:
            for name, thing in living(session, noun):
                if thing.node == node and exists(session.world, thing):
                    say(session, f"{_DESTROY[noun]} {name}")
                    say(session, "run 1ms")


TIDY: dict[str, Callable[[Session], None]] = {
    "destroyed": destroy_all, "reset": reset, "reconnected": reconnect, "drained": drain,
}  # fmt: skip

THEIR_TRUTH = {
    "ack-delayed", "ack-delayed-lost", "fence-wait", "loss-slow", "rd-atomic-depth",
    "read-before-complete", "rnr-slow", "too-early", "too-early-receive",
}  # fmt: skip
"""Files whose work would have come: the teardown took it, and is the cause."""
TAKEN = ("reset-swallowed", "own-err", "destroyed-with-work")
"""What a teardown is called as a cause."""
