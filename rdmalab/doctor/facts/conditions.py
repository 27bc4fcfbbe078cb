"""Conditions that are false: counters that have passed their number, fields of a completion."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Noun
from rdmalab.doctor.case import Case, CompletionQueue
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.messages import Piece, taking
from rdmalab.doctor.evidence.subject import Subject, name_of
from rdmalab.doctor.evidence.work_of_queues import subject_of_cqe
from rdmalab.doctor.facts import undelivered
from rdmalab.doctor.facts.thread_waits import ThreadWait
from rdmalab.grammar.nodes import COMPARISONS, Binary, Literal, Node, Path, operands
from rdmalab.grammar.text import octets
from rdmalab.grammar.trees import facts, render
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of

_OF_ANY_WORK = ("wr_id", "status", "qp_num", "qp", "vendor_err", "at_ns")
_BYTE = range(1, 256)
_HEX = ("imm_data", "invalidated_rkey")


class Unmet(NamedTuple):
    """The reason for which a condition stays false. advice: for the program, to do instead.

    for_good: nothing can make it true again.
    """

    evidence: list[Evidence]
    advice: str
    for_good: bool


def unmet(waits: ThreadWait) -> Unmet | None:
    """The reason for which the condition of a thread stays false; None if more may come."""
    question = waits.line.question
    if question is None or waits.case.session.ask(question):
        return None
    return _passed(waits, question) or _contradicted(waits, question)


def false_comparisons(case: Case, node: Node) -> Iterator[Binary]:
    """The comparisons in a condition that do not hold now, from left to right."""
    if isinstance(node, Binary) and node.operator in COMPARISONS:
        if not case.session.ask(node):
            yield node
        return
    for each in operands(node):
        yield from false_comparisons(case, each)


def wanted_at(case: Case, question: Node, there: Piece) -> str:
    """The last of these bytes that have the value which a condition wants; empty if none have it.

    A byte of 0 is no value that a message brings.
    """
    held = case.hca.memory.read(*there)
    for each in false_comparisons(case, question):
        value = each.right.value if isinstance(each.right, Literal) else 0
        wanted = (
            octets(value) if isinstance(value, str) else bytes([value] if value in _BYTE else [])
        )
        at = held.rfind(wanted) if wanted and each.operator == "==" else -1
        if at >= 0:
            return fmt.thing_at(case.world, case.names, case.node, there[0] + at)
    return ""


def _needed(node: Node) -> Iterator[Binary]:
    """The comparisons that must all hold."""
    if isinstance(node, Binary) and node.operator == "and":
        yield from _needed(node.left)
        yield from _needed(node.right)
    elif isinstance(node, Binary) and node.operator in COMPARISONS:
        yield node


def _passed(waits: ThreadWait, question: Node) -> Unmet | None:
    """Of a counter that only counts up, and is beyond what the condition wants; None of others."""
    ask = waits.case.session.ask
    for each in _needed(question):
        wanted = each.right.value if isinstance(each.right, Literal) else None
        if ask(each) or not _counts_up(each.left) or each.operator not in ("==", "<", "<="):
            continue
        value, name = ask(each.left), render(each.left)
        if isinstance(wanted, int) and isinstance(value, int) and value >= wanted:
            how = "reached" if each.operator == "<" else "passed"
            now = f"{name} is {value}; it only counts up, and has {how} {wanted}"
            other = render(Binary(">=", each.left, each.right))
            change = f"wait for {other}" if each.operator == "==" else f"look at {name} earlier"
            return Unmet([fact(now)], change, for_good=True)
    return None


def _counts_up(node: Node) -> bool:
    """Whether a fact is a number that never falls: of all completions, or of all posts."""
    return isinstance(node, Path) and node.steps[-1] in ("total", "posted")


def _contradicted(waits: ThreadWait, question: Node) -> Unmet | None:
    """Of the completion that was taken last, if what it says of its message excludes the condition.

    None where more is under way, or to be posted, and where a field is asked that differs with each
    work request: what is outstanding may have it.
    """
    case, numbers = waits.case, {(cq.node, cq.number) for cq in waits.cqs}
    under_way = any((qp.comp.serial < qp.sq.posted and (qp.node, qp.send_cq) in numbers)
                    or (peer_of(case.world, qp) is not None and not undelivered.is_quiet(case, qp))
                    for qp in waits.feeding)  # fmt: skip
    if under_way or waits.providers or not waits.taken:
        return None
    wrong = list(false_comparisons(case, question))
    asked = [path for each in wrong for path in facts(each) if isinstance(path, Path)]
    fields = [path.steps[-1] for path in asked if path.steps[2:-1] == ("last",)]
    if not fields or len(fields) < len(wrong) or any(field in _OF_ANY_WORK for field in fields):
        return None
    thing = case.names.find(".".join(map(str, asked[0].steps[:2])))
    cq = case.world.find(thing, CompletionQueue) if thing is not None else None
    if cq is None or cq.last is None:
        return None
    name = name_of(case.names, _source(case, subject_of_cqe(cq.node, cq.last)))
    taken = waits.taken[-1].event
    evidence = [fact(_difference(case, each, name), taken) for each in wrong]
    change = f"let {name} make {render(question)} true"
    return Unmet(evidence, change, for_good=False)


def _source(case: Case, work: Subject) -> Subject:
    """The send that decided what a completion says: of a receive that of the message it took."""
    receive = Case(case.session, work, case.log, asked=True).receive
    if receive is None or receive.wqe is None:
        return work
    number = 0 if work.thing.noun is Noun.SRQ else work.thing.number
    came = taking(case.log, work.thing.node, number, receive.wqe)
    return came.subject if came is not None else work


def _difference(case: Case, part: Binary, name: str) -> str:
    """`B.cq0.last.byte_len is 32, of A.qp0.wr[1]`; and if only the byte order is wrong."""
    path = part.left if isinstance(part.left, Path) else next(iter(facts(part)))
    value, field = case.session.ask(path), str(path).rpartition(".")[2]
    wanted = part.right.value if isinstance(part.right, Literal) else None
    text = f"{render(path)} is {value_text(value, field)}, of {name}"
    if field not in _HEX or not isinstance(wanted, int) or not isinstance(value, int):
        return text
    is_swapped = value != wanted and _swapped(value) == wanted
    return f"{text}: that is {wanted} with its bytes in reverse order" if is_swapped else text


def _swapped(number: int) -> int:
    """A number of 32 bits with its bytes in reverse order."""
    return int.from_bytes(number.to_bytes(4), "little")


def value_text(value: object, field: str = "") -> str:
    """A value as conditions name it: the word of an enum, keys and immediate data in hex."""
    if field in _HEX and isinstance(value, int):
        return f"{value:#x}"
    return getattr(value, "name", None) or str(value)
