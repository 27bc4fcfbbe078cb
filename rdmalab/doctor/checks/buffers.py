"""Bytes that the program reads or writes while the adapter uses them."""

from typing import NamedTuple

from rdmalab.doctor.evidence.content import written_back
from rdmalab.doctor.evidence.host_reads import EarlyRead, early_fetch, early_reads, watched
from rdmalab.doctor.facts.memory_waits import Early, concerning, early_waits
from rdmalab.doctor.kit import *
from rdmalab.views.memory import scatters

_ADVICE = "wait for the completion before you write into the buffer again, or post it INLINE"


class Write(NamedTuple):
    """The program writes. piece: which bytes of the buffer."""

    event: int
    piece: Piece


@check("buffer-reused-early")
def buffer_reused_early(case: Case, content: Content) -> Finding:
    """Check whether bytes were changed between the post and the moment in which they left."""
    for touch, message in content.brought:
        source = _source(case, message)
        cut = messages.part(source, message.offset + touch.at, touch.piece[1])
        found = _writes(case, message.thing.node, cut, message.posted, message.sent)
        if found:
            return _fail(case, message, source, found[-1])
    return ok("no message was changed between the post and the packet") if content.brought else NA


def _source(case: Case, message: Message) -> list[Piece]:
    """The buffers of a message that is sent from them."""
    return ownership.gathered(case.world.nodes[message.thing.node], message.wqe)


def _writes(case: Case, node: str, pieces: list[Piece], after: int, before: int) -> list[Write]:
    """The program's writes into these bytes between two events."""
    found = []
    for record in case.log.of(Kind.HOST_WROTE, node) if pieces else []:
        if after < event_of(record) < before:
            both = meet(pieces, [piece_of(record)])
            found += [Write(event_of(record), piece) for piece in both]
    return found


def _fail(case: Case, message: Message, source: list[Piece], write: Write) -> Finding:
    return fail(
        _write_evidence(case, message.thing.node, write),
        fact(f"{name_of(case.names, message.subject)} was posted", message.posted),
        fact("the packet that brought these bytes left only then", message.sent),
        cure=_cure(case, message, source), since=write.event,
    )  # fmt: skip


def _write_evidence(case: Case, node: str, write: Write) -> Evidence:
    where = words_for(case.session, node, write.piece) or f"{write.piece[0]:#x}"
    return fact(f"the program wrote {where}, which a request sends from", write.event)


def _cure(case: Case, message: Message, source: list[Piece]) -> Fix:
    """The bytes as they were when it was posted, and the message once more."""
    node, now = message.thing.node, case.world.event + 1
    changed = {w.piece for w in _writes(case, node, source, message.posted, now)}
    lines = [written_back(case.session, message.posted, node, p) for p in sorted(changed)]
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None or None in lines:
        return Fix(program=_ADVICE)
    return Fix([*(line for line in lines if line), *posted_again(case, qp, message)])


@buffer_reused_early.instead
def _asked(case: Case, send: Send, wqe: SendWqe) -> Finding:
    """Of a send: whether other bytes left, or could have left."""
    if not case.asked or send.posted is None:
        return NA
    if send.ending is not None and send.ending.status is not WCStatus.SUCCESS:
        return NA
    refills = ownership.refills(case.log, case.node)
    for refill in (each for each in refills if each.message.subject == send.subject):
        write = Write(refill.event, refill.piece)
        return _fail(case, refill.message, _source(case, refill.message), write)
    buffers = ownership.gathered(case.hca, wqe)
    found = _writes(case, case.node, buffers, send.posted, case.ended)
    if not found:
        return ok("no program wrote into its buffers before it completed")
    posted = fact("it was posted and had not completed yet", send.posted)
    return warn(_write_evidence(case, case.node, found[0]), posted, cure=Fix(program=_ADVICE))


_READ_LATER = "read a buffer only after the completion of what fills it"


@check("read-before-complete")
def read_before_complete(case: Case, content: Content) -> Finding:
    """Check whether a READ, or a receive in use, is to fill these bytes and has not completed."""
    evidence = _reads(case, content) or _receives(case, content) or _writing(case, content)
    if not evidence:
        return ok("no message is on its way into these bytes")
    return warn(*evidence, cure=Fix(program=_READ_LATER) if case.at_rest else Fix(["run"]))


@read_before_complete.instead
def _read_early(case: Case) -> Finding | None:
    """Of a program, or of bytes and their message, whether a line read them before they came."""
    found, sent = concerning(case, early_reads), _sent_early(case)
    if (found := found or sent) is None:
        return None
    node, each = found
    name, came = case.names.of(each.program), each.came
    before, after = (octets_then(case.session, event, node, each.piece)
                     for event in (each.event, came.event))  # fmt: skip
    where = words_for(case.session, node, each.piece)
    late = f"{name_of(case.names, came.message.subject)} wrote these bytes"
    late += " only after that" if found is sent else f" later, and {name} did not read them again"
    is_cause = (case.program is not None or found is sent) and before != after
    return (fail if is_cause else warn)(
        fact(f"{name} read {where} in line {each.line.number}: {each.line.text}", each.event),
        fact(late, came.event), *_flag_before(case, node, each),
        cure=Fix(program=_READ_LATER),
    )  # fmt: skip


def _flag_before(case: Case, node: str, read: EarlyRead) -> list[Evidence]:
    """Evidence on a later request of another queue pair that arrived before a read, as a flag."""
    data, found = read.came.message, None
    for record in case.log.since(data.posted, Kind.MEMORY_WRITTEN):
        message = messages.arrived_with(case.log, record) if node_of(record) == node else None
        if event_of(record) < read.event and message is not None and message.posted > data.posted:
            own = message.thing == data.thing or message.thing.node != data.thing.node
            found = found if own else (message, event_of(record))
    if found is None:
        return []
    flag, first = (name_of(case.names, each.subject) for each in (found[0], data))
    return [fact(f"{flag} was posted after {first}, on another queue pair, and arrived before it: "
                 "queue pairs have no order among each other", found[1])]  # fmt: skip


def _sent_early(case: Case) -> tuple[str, EarlyRead] | None:
    """The read with which the bytes asked about were sent, if it was too early; and its node."""
    for touch, message in case.content.brought if case.content is not None else ():
        cut = messages.part(_source(case, message), message.offset + touch.at, touch.piece[1])
        if (found := early_fetch(case.log, message, cut)) is not None:
            return message.thing.node, found
    return None


def _reads(case: Case, content: Content) -> list[Evidence]:
    """READs and atomics of this node that are under way."""
    for number, qp in content.hca.qps.items.items():
        name = case.qp_name(qp)
        for serial in range(qp.comp.serial, qp.req.started):
            wqe = qp.sq.wqes[serial]
            pieces = messages.pieces(content.hca, wqe.sg) if scatters(wqe) else []
            if meet([content.piece], pieces):
                posted = messages.post_of(case.log, Thing(Noun.QP, content.node, number), serial)
                work = fmt.work_name(name, wqe.wr.wr_id, is_send=True)
                what = f"{work} reads into these bytes and has not completed"
                return [fact(what, posted), _come(content, pieces, posted or 0)]
    return []


def _receives(case: Case, content: Content) -> list[Evidence]:
    """Receives that a message has taken and not filled yet."""
    for number, qp in content.hca.qps.items.items():
        wqe = qp.resp.recv
        pieces = messages.pieces(content.hca, wqe.sg) if wqe is not None else []
        if wqe is not None and meet([content.piece], pieces):
            found = case.log.of(Kind.RECV_TAKEN, content.node, number)
            taken = event_of(found[-1]) if found else 0
            what = f"a message of {case.qp_name(qp)} is using the receive wr_id={wqe.wr.wr_id}"
            return [fact(what, taken), _come(content, pieces, taken - 1)]
    return []


def _writing(case: Case, content: Content) -> list[Evidence]:
    """WRITEs of other nodes that have brought a part, and are under way."""
    for subject in undelivered.for_bytes(case):
        qp = find_qp(case.world, subject.thing.node, subject.thing.number)
        wqe = qp.sq.wqes.get(subject.serial) if qp is not None else None
        if wqe is None or qp is None or subject.thing.node == case.node:
            continue
        posted = messages.post_of(case.log, subject.thing, subject.serial)
        place = [messages.target(content.hca, wqe)]
        begun = [t for t in content.touches(Kind.MEMORY_WRITTEN) if t.event > (posted or 0)]
        if begun and subject.serial >= qp.comp.serial:
            name = fmt.work_name(case.qp_name(qp), subject.wr_id, is_send=True)
            what = f"{name} writes these bytes and has not completed"
            return [fact(what, posted), _come(content, place, posted or 0)]
    return []


def _come(content: Content, pieces: list[Piece], after: int) -> Evidence:
    """The number of its bytes that are there."""
    touches = [t for t in content.touches(Kind.MEMORY_WRITTEN) if t.event > after]
    count = sum(size for t in touches for _, size in meet(pieces, [t.piece]))
    total = sum(size for _, size in pieces)
    return fact(f"{count} of {total} bytes have come", touches[-1].event if touches else None)


_PROGRAM = "fill the flag with a value that is never sent, and clear it again after each wait"


@check("flag-already-set")
def flag_already_set(case: Case) -> Finding:
    """Of bytes that came wrong, or of a program that waits, whether a wait before was none."""
    if case.content is not None and case.asked:
        return _of_bytes(case, [message for _, message in case.content.brought])
    if case.program is not None and case.asked and case.program.state is ProgramState.DONE:
        return _of_past_waits(case)
    if case.program is not None and _waits_for_memory(case):
        return _of_program(case)
    return NA


def _of_past_waits(case: Case) -> Finding:
    """Of a program that is done: it may have known that the value would do."""
    early = [each for each in early_waits(case, case.subject.thing) if each.written is not None]
    if not early:
        return ok("no wait for memory was over too early")
    found = _found(case, early[0], [], Fix(program=_PROGRAM))
    return warn(*found.evidence, cure=found.cure)


def _of_bytes(case: Case, brought: list[Message]) -> Finding:
    """Finding if the sender of the bytes did not wait for the bytes that it was to send."""
    for message in brought:
        _, sender = case.log.asked(message.posted)
        thing = case.names.find(sender) if sender else None
        early = early_waits(case, thing) if thing is not None else []
        before = [each for each in early if each.passed.event < message.posted]
        if before:
            sent = fact(f"{sender} continued and posted {fmt.wr(message.wqe.wr.wr_id)}, which "
                        "brought these bytes", message.posted)  # fmt: skip
            return _found(case, before[-1], [sent], _after_wait(case, before[-1], message))
    return ok("no program went on too early and sent them")


def _of_program(case: Case) -> Finding:
    """Finding if a wait of this program, or of one on another node, ended a round too early."""
    own = case.subject.thing
    others = [p.thing for p in programs_of(case.world)]
    for thing in sorted(others, key=lambda each: each != own):
        early = early_waits(case, thing)
        if early and (thing == own or thing.node != own.node):
            return _found(case, early[0], [], Fix(program=_PROGRAM))
    return ok("no wait for memory was over too early")


def _waits_for_memory(case: Case) -> bool:
    program = case.program
    if program is None or program.state is not ProgramState.WAITING:
        return False
    return watched(case.session, program.line.question) is not None


def _found(case: Case, early: Early, evidence: list[Evidence], cure: Fix) -> Finding:
    line, node = early.passed.line, early.program.node
    name = fmt.thing_at(case.world, case.names, node, early.passed.piece[0])
    came = fact(f"{case.names.of(early.program)} came to `{line.text}` and did not wait: it was "
                "true already", early.passed.event)  # fmt: skip
    if early.written is None:
        first = fact(f"no message had ever written {name}")
    else:
        first = fact(f"{name} still had the value of the round before, written here", early.written)
    late = [fact("the awaited value was written only here", early.came)] if early.came else []
    return fail(first, came, *evidence, *late, cure=cure, since=early.passed.event)


def _after_wait(case: Case, early: Early, message: Message) -> Fix:
    """Fix: the message again, since the bytes that it had to wait for are there now."""
    qp = find_qp(case.world, message.thing.node, message.thing.number)
    if early.came is None or qp is None:
        return Fix(program=_PROGRAM)
    return Fix(commands.again(case, qp, message.wqe.wr))
