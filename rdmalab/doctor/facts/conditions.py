"""Conditions that are false: counters that have passed their number, fields of a completion."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.command import Noun
from rdmalab.doctor.case import Case, CompletionQueue
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.messages import Piece, meet, taking
from rdmalab.doctor.evidence.subject import Subject, name_of
from rdmalab.doctor.evidence.work_of_queues import subject_of_cqe
from rdmalab.doctor.facts import undelivered
from rdmalab.doctor.facts.thread_waits import ThreadWait, added, of_program
from rdmalab.grammar.nodes import COMPARISONS, Binary, Index, Literal, Node, Path, operands
from rdmalab.grammar.text import octets
from rdmalab.grammar.trees import facts, render
from rdmalab.hca.wr import Cqe
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.work import WCFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_of

_OF_ANY_WORK = ("wr_id", "status", "qp_num", "qp", "vendor_err", "at_ns")
_BYTE = range(1, 256)
_HEX = ("imm_data", "invalidated_rkey")
_FLAGS = {"imm_data": WCFlags.WITH_IMM, "invalidated_rkey": WCFlags.WITH_INV}


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
    never = _passed(waits, question) or _never_so_large(waits.case, question)
    return never or _contradicted(waits, question)


def false_comparisons(case: Case, node: Node) -> Iterator[Binary]:
    """The comparisons in a condition that do not hold now, from left to right."""
    if isinstance(node, Binary) and node.operator in COMPARISONS:
        if not case.session.ask(node):
            yield node
        return
    for each in operands(node):
        yield from false_comparisons(case, each)


def wanted_octets(case: Case, question: Node) -> bytes:
    """The bytes that a condition awaits in its first false comparison; none if that is of others.

    A byte of 0 is no value that a message brings.
    """
    for each in false_comparisons(case, question):
        value = each.right.value if isinstance(each.right, Literal) else 0
        wanted = (
            octets(value) if isinstance(value, str) else bytes([value] if value in _BYTE else [])
        )
        if any(wanted) and each.operator == "==":
            return wanted
    return b""


def awaited(case: Case, piece: Piece) -> Iterator[tuple[ThreadWait, Piece, bytes]]:
    """The threads that wait at rest for some of these bytes, for which, and the octets."""
    for program in programs_of(case.world):
        question = program.line.question
        looked = watched(case.session, question) if program.node == case.node else None
        waits = of_program(case, program) if looked and meet([piece], [looked]) else None
        if waits is not None and looked is not None and question is not None:
            yield waits, looked, wanted_octets(case, question)


def values(case: Case, question: Node, event: int | None = None) -> tuple[list[Evidence], bool]:
    """`B.mr0[64] is 0`, of each fact of a condition; whether one is compared with what it cannot
    be, or has its bytes in reverse order.
    """
    unlike = {render(each.left): text for each in false_comparisons(case, question)
              if isinstance(each.right, Literal) and isinstance(each.left, Path)
              if (text := _unlike(each.left, case.session.ask(each.left), each.right.value))
              }  # fmt: skip
    asked = [(render(each), value_text(case.session.ask(each))) for each in facts(question)]
    found = [fact(f"{name} is {text}{unlike.get(name, '')}", event) for name, text in asked]
    return found, bool(unlike)


def _unlike(path: Path, value: object, wanted: object) -> str:
    """The difference in length or order between bytes and those that they are compared with."""
    if isinstance(value, int) and isinstance(path.steps[-1], Index) and isinstance(wanted, int):
        return "" if wanted in range(256) else f", one byte: it is never {wanted}"
    if not isinstance(value, bytes) or not isinstance(wanted, str):
        return ""
    other = octets(wanted)
    if len(value) != len(other):
        return f": {len(value)} bytes, compared with {len(other)}"
    return ": what is awaited, with its bytes in reverse order" if value[::-1] == other else ""


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


def _never_so_large(case: Case, question: Node) -> Unmet | None:
    """Of one byte that is to be larger than a byte can be; None of others.

    The number that it is compared with may grow further, if it is of counters that only count up.
    """
    for each in _needed(question):
        most = {">": _BYTE[-1] - 1, ">=": _BYTE[-1]}.get(each.operator)
        limit = case.session.ask(each.right)
        if most is None or not _is_byte(case, each.left):
            continue
        if not isinstance(limit, int) or limit <= most:
            continue
        if all(map(_counts_up, facts(each.right))) and _only_adds(each.right):
            name, wanted = render(each.left), render(each.right)
            is_ = "" if isinstance(each.right, Literal) else f", which is {limit}"
            never = f"{name} is one byte, at most {_BYTE[-1]}: never {each.operator} {wanted}{is_}"
            change = f"compare with a counter of more bytes than {name}, or modulo {_BYTE.stop}"
            return Unmet([fact(never), *values(case, question)[0]], change, for_good=True)
    return None


def _is_byte(case: Case, node: Node) -> bool:
    """Whether a fact is one byte of memory."""
    of_memory = isinstance(node, Path) and isinstance(node.steps[-1], Index)
    return of_memory and isinstance(case.session.ask(node), int)


def _only_adds(node: Node) -> bool:
    """Whether an expression has no other operator than +."""
    if isinstance(node, Binary) and node.operator != "+":
        return False
    return all(map(_only_adds, operands(node)))


def _counts_up(node: Node) -> bool:
    """Whether a fact is a number that never falls: of all completions, or of all posts."""
    return isinstance(node, Path) and node.steps[-1] in ("total", "posted")


def _contradicted(waits: ThreadWait, question: Node) -> Unmet | None:
    """Of the completion that was taken last, if what it says of its message excludes the condition.

    None where more is under way, or to be posted, and where a field is asked that differs with each
    work request: what is outstanding may have it.
    """
    case, numbers = waits.case, {(cq.node, cq.number) for cq in waits.cqs}
    wrong = list(false_comparisons(case, question))
    asked = [path for each in wrong for path in facts(each) if isinstance(path, Path)]
    which = {path.steps[2:-1] for path in asked} & {("last",), ("next",)}
    under_way = any((qp.comp.serial < qp.sq.posted and (qp.node, qp.send_cq) in numbers)
                    or (peer_of(case.world, qp) is not None and not undelivered.is_quiet(case, qp))
                    for qp in waits.feeding)  # fmt: skip
    if len(which) != 1 or waits.providers:
        return None
    is_next = which == {("next",)}  # no message changes it, only a poll
    if not is_next and (under_way or not waits.taken):
        return None
    fields = [path.steps[-1] for path in asked if path.steps[2:-1] in which]
    if not fields or len(fields) < len(wrong) or any(field in _OF_ANY_WORK for field in fields):
        return None
    thing = case.names.find(".".join(map(str, asked[0].steps[:2])))
    cq = case.world.find(thing, CompletionQueue) if thing is not None else None
    cqe = None if cq is None else next(iter(cq.cqes), None) if is_next else cq.last
    if cq is None or cqe is None:
        return None
    source = _source(case, subject_of_cqe(cq.node, cqe))
    name = name_of(case.names, source)
    event = added(case, cq, cqe) if is_next else waits.taken[-1].event
    evidence = [fact(_difference(case, each, name), event) for each in wrong]
    change = f"let {name} make {render(question)} true"
    absent = [each for each in map(str, fields) if not _has(cqe, each)]
    lacks = _without_field(case, source, absent[0]) if absent and not cqe.is_send else None
    if lacks is not None:
        evidence, change = [lacks[0], *evidence], lacks[1]
    return Unmet(evidence, change, for_good=False)


def _has(cqe: Cqe, field: str) -> bool:
    """Whether a field of a completion means something, as far as its flags say."""
    return field not in _FLAGS or bool(cqe.wc_flags & _FLAGS[field])


def _without_field(case: Case, source: Subject, field: str) -> tuple[Evidence, str] | None:
    """Evidence on a message whose opcode brings no such field, and advice."""
    send = Case(case.session, source, case.log, asked=True).send
    if send is None or send.wqe is None:
        return None
    name, opcode = name_of(case.names, source), fmt.member(send.wqe.wr.opcode, WROpcode)
    lost = field == "imm_data" and send.wqe.wr.imm_data
    given = f", although {field}={lost:#x} was given" if lost else ""
    kind = opcode.partition("_WITH")[0] if field == "imm_data" else "SEND"
    text = f"{name} was posted as {opcode}, which brings no {field}{given}"
    return fact(text, send.posted), f"post {name} as {kind}_{_FLAGS[field].name}"


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


def unread_events(case: Case) -> list[Evidence]:
    """`2 asynchronous events of B are unread, the oldest GID_CHANGE`; nothing if all are read."""
    unread = case.hca.async_events
    if not unread:
        return []
    raised, oldest = case.log.of(Kind.ASYNC_RAISED, case.node)[-len(unread) :], unread[0][0]
    at = next((rec.event_of(r) for r in raised if rec.async_event_of(r) is oldest), None)
    many = f"{len(unread)} asynchronous events of {case.node} are"
    many = many if len(unread) > 1 else f"1 asynchronous event of {case.node} is"
    return [fact(f"{many} unread, the oldest {oldest.name}", at)]
