"""Bytes that differ from what was meant: overwritten, elsewhere, or changed by atomics."""

from rdmalab.doctor.evidence.content import Atomic, atomics
from rdmalab.doctor.evidence.host_reads import (
    Unseen,
    early_fetch,
    is_lost,
    last_arrival,
    replaced,
    unseen,
    was_read,
    was_seen,
    written_over,
)
from rdmalab.doctor.facts.memory_waits import concerning
from rdmalab.doctor.facts.vain_requests import foreseen_swap, vain_request
from rdmalab.doctor.kit import *
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.opcodes import Op


def _concerns(case: Case, piece: Piece, *sinks: ownership.TrackedRequest) -> bool:
    """Whether bytes, or one of the requests that fill them, are what is asked about."""
    if case.content is not None:
        return bool(meet([case.content.piece], [piece]))
    return case.asked and case.subject in [sink.subject for sink in sinks]


def _asks(case: Case) -> bool:
    return case.content is not None or case.subject.sort in (Sort.SEND, Sort.RECV)


def _posted(case: Case, sink: ownership.TrackedRequest) -> Evidence:
    name = name_of(case.names, sink.subject)
    return fact(f"{name} was posted, which fills these bytes", sink.posted)


@check("sink-overwritten")
def sink_overwritten(case: Case) -> Finding:
    """Check whether the program wrote into a buffer between the post and the completion."""
    if not _asks(case):
        return NA
    for each in reversed(ownership.overwrites(case.log, case.node)):
        if _concerns(case, each.piece, each.sink):
            where = words_for(case.session, case.node, each.piece) or f"{each.piece[0]:#x}"
            over = fact("that request completed, and may have overwritten these bytes",
                        each.sink.ended)  # fmt: skip
            return fail(
                fact(f"the program wrote {where} before {name_of(case.names, each.sink.subject)} "
                     "was complete", each.event), _posted(case, each.sink),
                *([over] if each.sink.ended else []),
                cure=Fix(program="write into a buffer before the post or after its completion"),
                since=each.event,
            )  # fmt: skip
    if (found := concerning(case, written_over)) is not None:
        node, late = found
        message = late.came.message
        there = words_for(case.session, node, late.piece)
        name = name_of(case.names, message.subject)
        return (fail if is_lost(case.log, node, late) else warn)(
            fact(f"the program wrote {there} before {name} came", late.event),
            fact(f"{name} was posted", message.posted),
            fact(f"{name} wrote these bytes again", late.came.event),
            cure=Fix(program=f"write {there} when no message to it is under way"),
        )
    return ok("the program wrote nothing into what a request was to fill")


@check("stale-packet")
def stale_packet(case: Case) -> Finding:
    """Check whether a packet of an earlier connection was taken for one of the present one."""
    brought = [message for _, message in case.content.brought] if case.content is not None else []
    if not _asks(case) or (case.content is not None and not brought):
        return NA
    for node in case.world.nodes:
        for each in messages.stale(case.log, node):
            if each.victim == case.subject or each.message in (*brought, case.message):
                return _stale_packet(case, each)
    return NA  # most queue pairs have had no earlier connection


def _stale_packet(case: Case, each: messages.Stale) -> Finding:
    old, psn, end = each.message, each.message.packet.psn, case.names.of(each.receiver)
    sender, other = find_qp(case.world, *old.thing[1:]), str(psn ^ _APART)
    cure = Fix(program="begin each connection with PSNs far from those of the one before")
    if sender is not None:
        wr, psns = (each.shadowed or old.wqe).wr, ({"sq_psn": other}, {"rq_psn": other})
        cure = Fix(recovery.reconnected(case, sender, wr, *psns))
    late = f": {name_of(case.names, each.victim)} is a duplicate" if each.victim else ""
    return fail(
        fact(f"{end} took a packet of {name_of(case.names, old.subject)} for psn={psn} of its next "
             "connection", each.event),
        fact(f"that packet had left before {end} was reset", old.sent),
        fact(f"the next connection began with the same PSNs{late}", each.reset),
        cure=cure, since=old.sent,
    )  # fmt: skip


@check("overwritten-unread", asked=True)
def overwritten_unread(case: Case) -> Finding:
    """The cause if a WRITE replaced what another had brought before anything read that."""
    if not (case.content or case.send):
        return NA
    found = concerning(case, unseen) or _sent_on(case)
    if found is None:
        return ok("no message replaced bytes that nothing had read")
    node, each = found
    first, second = (name_of(case.names, subject) for subject in each.subjects)
    return fail(
        fact(f"{second} wrote over what {first} had written to "
             f"{words_for(case.session, node, each.piece)}", each.second.event),
        fact(f"{first} wrote there", each.first.event),
        fact("no call, program line or request read them in between"),
        cure=Fix(program="give each message bytes of its own, or wait until the peer has read the "
                 "one before"),
    )  # fmt: skip


def _sent_on(case: Case) -> tuple[str, Unseen] | None:
    """Messages of which the second replaced the first, before these bytes were sent from there."""
    for _, message in case.content.brought if case.content is not None else ():
        node = message.thing.node
        for each in replaced(case.log, node):
            sent = case.log.since(each.second.event, Kind.MEMORY_READ)
            read = (event_of(r) for r in sent if node_of(r) == node
                    and meet([each.piece], [piece_of(r)]))  # fmt: skip
            if next(read, None) == message.sent:
                return node, each
    return None


def _replaced(case: Case, each: ownership.Twice) -> bool:
    """Whether the second request changed bytes that nothing had read since the first ended.

    Who asks for bytes by a READ knows when they come, and may look at them before the next call.
    """
    first, second = each.first.ended or 0, each.second.ended or 0
    looked = was_read if isinstance(each.first.wqe, RecvWqe) else was_seen
    if looked(case.log, case.node, each.piece, first, second):
        return False
    wrote = [(event_of(r), cut) for r in case.log.since(first + 1, Kind.MEMORY_WRITTEN)
             if node_of(r) == case.node and event_of(r) <= second
             for cut in meet([each.piece], [piece_of(r)])]  # fmt: skip
    start = min((at for _, (at, _) in wrote), default=0)
    stop = max((at + size for _, (at, size) in wrote), default=0)
    times = (wrote[0][0] - 1, second) if wrote else ()
    octets = {octets_then(case.session, at, case.node, (start, stop - start)) for at in times}
    return len(octets) > 1  # asked last: it replays the session


@check("same-buffer-twice")
def same_buffer_twice(case: Case) -> Finding:
    """Check whether one request overwrote bytes of another that was not polled yet."""
    if not _asks(case):
        return NA
    for each in reversed(ownership.filled_twice(case.log, case.node)):
        if _concerns(case, each.piece, each.first, each.second):
            return (fail if _replaced(case, each) else warn)(
                _posted(case, each.first), _posted(case, each.second),
                fact("the second was filled before the first was polled", each.second.ended),
                cure=Fix(program="post a buffer again only after its completion was polled"),
            )  # fmt: skip
    return ok("no two requests filled the same bytes before a poll")


_ADVICE = "compare the returned old value with the expected one: they are equal if it was swapped"


@check("cas-mismatch")
def cas_mismatch(case: Case, content: Content) -> Finding:
    """Check whether the newest compare-and-swap of this word found another value than compare."""
    swaps = [a for a in atomics(content) if a.message.wqe.op is Op.COMPARE_SWAP]
    if not swaps:
        return NA
    newest = swaps[-1]
    later = content.written and content.written[0].event > newest.touch.event
    if newest.wrote or later:
        return ok("the newest compare-and-swap did swap", newest.touch.event)
    wr = newest.message.wqe.wr
    name = fmt.work_name(case.names.of(newest.message.thing), wr.wr_id, is_send=True)
    held = _held_by(case, case.node, newest.touch.piece, newest.original, newest.message)
    return fail(
        fact(f"{name} was to swap {wr.compare_add} for {wr.swap}",
             newest.message.posted),
        *held,
        fact(f"the word was {newest.original}: nothing was swapped", newest.touch.event),
        fact("its completion says SUCCESS all the same, and the old value came back"),
        cure=_cas_mismatch_cure(case, newest.message, newest.original, is_held=bool(held)),
        since=newest.touch.event,
    )  # fmt: skip


def _held_by(
    case: Case, node: str, word: Piece, value: int, mine: Message | None = None
) -> list[Evidence]:
    """The compare-and-swap of another queue pair that put the value there; [] if none did."""
    came = last_arrival(case.log, node, word)
    if came is None or came.message.wqe.op is not Op.COMPARE_SWAP:
        return []
    taker = came.message
    if taker.wqe.wr.swap != value or (mine is not None and taker.thing == mine.thing):
        return []
    text = f"{name_of(case.names, taker.subject)} put {value} there; nothing has changed it since"
    return [fact(text, came.event)]


def _cas_mismatch_cure(case: Case, message: Message, found: int, *, is_held: bool) -> Fix:
    """Fix: the compare-and-swap again, with the value that the word has now, unless it is held."""
    qp, wr = find_qp(case.world, *message.thing[1:]), message.wqe.wr
    if is_held:
        return Fix(program=f"a lock: its holder is to write {wr.compare_add} back; a counter: "
                   f"compare with {found}")  # fmt: skip
    if qp is None or wr.swap == found:
        return Fix(program=_ADVICE)
    return Fix([commands.post_send(case, qp, wr, compare_add=found)])


@cas_mismatch.instead
def _of_send(case: Case, wqe: SendWqe, ending: Ending) -> Finding:
    """The finding for a compare-and-swap, from the value that came back."""
    swapped = wqe.op is Op.COMPARE_SWAP and ending.status is WCStatus.SUCCESS
    if not swapped or not case.asked:
        return NA
    answer = messages.brought_back(case.log, case.subject.thing, wqe)
    if answer is None:
        return NA
    text = messages.swapped(answer[0], wqe.wr.compare_add)
    if answer[0] == wqe.wr.compare_add:
        return ok(text, answer[1])
    for each in messages.failed_releases(case.log, case.node):
        if (each.thing, each.wqe.serial) == (case.subject.thing, wqe.serial):
            return _not_released(case, each, fact(text, answer[1]))
    return warn(fact(text, answer[1]), cure=Fix(program=_ADVICE))


def _not_released(case: Case, release: messages.Release, came: Evidence) -> Finding:
    """FAIL of a queue pair that does not take back its own swap: the word keeps that value."""
    qp, value = find_qp(case.world, *release.thing[1:]), release.taken.wr.swap
    own = name_of(case.names, Subject.of_send(release.thing, release.taken))
    posted = messages.post_of(case.log, release.thing, release.taken.serial)
    again = commands.post_send(case, qp, release.wqe.wr, compare_add=value) if qp else ""
    return fail(came, fact(f"{own} had put {value} there, and it was to be taken back", posted),
                cure=Fix([again] if again else [], program="" if again else _ADVICE),
                since=release.event)  # fmt: skip


@cas_mismatch.instead
def _under_way(case: Case, wqe: SendWqe) -> Finding | None:
    """A warning of one on its way that will find another value than compare."""
    if not case.asked or (word := foreseen_swap(case, wqe)) is None:
        return None
    text = f"{word[0]} is {word[1]}, not {wqe.wr.compare_add}: nothing will be swapped"
    return warn(fact(text), cure=Fix(program=_ADVICE))


@cas_mismatch.instead
def _of_thread(case: Case, program: Program) -> Finding | None:
    """FAIL of a thread that repeats a compare-and-swap of a word that nothing will change."""
    if (vain := vain_request(case, program)) is None or vain.wqe.op is not Op.COMPARE_SWAP:
        return None
    name, compared = case.names.of(program.thing), vain.wqe.wr.compare_add
    other = f", or compare with {vain.found}" if compared else ""  # 0: a lock that is held
    return fail(
        fact(f"{name} repeats {fmt.wr(vain.wqe.wr.wr_id)}, to swap {compared} for "
             f"{vain.wqe.wr.swap}", vain.posted),
        fact(f"{vain.where} is {vain.found} each time: nothing is swapped", vain.ended),
        *_held_by(case, vain.node, vain.word, vain.found),
        fact(f"no thread, no request and no receive is to write {vain.where}"),
        cure=Fix(program=f"write {compared} into {vain.where} when the word is free{other}"),
        since=vain.posted,
    )  # fmt: skip


@check("atomic-mixed")
def atomic_mixed(case: Case, content: Content) -> Finding:
    """Check whether the program wrote the word after an atomic had changed it."""
    changes = [atomic for atomic in atomics(content) if atomic.wrote]
    if not changes:
        return NA
    writes = [w for w in content.touches(Kind.HOST_WROTE) if w.event > changes[0].touch.event]
    if not writes:
        return ok("only atomics have written the word since the first of them")
    undone = [atomic for atomic in changes if atomic.touch.event < writes[-1].event][-1]
    where = words_for(case.session, case.node, writes[-1].piece)
    name = name_of(case.names, undone.message.subject)
    return warn(fact(f"the program wrote {where}, a word of atomics", writes[-1].event),
                fact(f"this overwrote the result of {name}", undone.touch.event),
                cure=_atomic_mixed_cure(case, undone))  # fmt: skip


def _atomic_mixed_cure(case: Case, undone: Atomic) -> Fix | None:
    """The atomic that was undone, once more."""
    qp = find_qp(case.world, *undone.message.thing[1:])
    return Fix([commands.post_send(case, qp, undone.message.wqe.wr)]) if qp is not None else None


_NAME_THE_BYTES = "name the intended bytes in the receive, or in remote_addr and sg"


@check("wrong-place", asked=True)
def wrong_place(case: Case, content: Content) -> Finding:
    """Check whether the message for the bytes asked about wrote other bytes beside them."""
    if content.receives and (not content.brought):
        return NA
    return _left_beside(case, content) if content.brought else _landed_beside(case, content)


def _landed_beside(case: Case, content: Content) -> Finding:
    """Of bytes that no message wrote: where in their region the newest one went."""
    mr = case.world.find(case.subject.thing, MemoryRegion)
    written = case.log.of(Kind.MEMORY_WRITTEN, case.node)
    near = [r for r in written if meet([(mr.addr, mr.length)], [piece_of(r)])]
    newest = _meant(case, content, near)
    message = messages.arrived_with(case.log, newest) if newest is not None else None
    if newest is None or message is None or message.thing.node == case.node:
        return _awaited_elsewhere(case, content) or ok(
            "no message of another node was written into its region"
        )
    if content.filled_by_program:
        return ok("the program itself has filled these bytes")
    where = words_for(case.session, case.node, piece_of(newest))
    return warn(
        fact(f"{name_of(case.names, message.subject)} wrote {where}, not these bytes",
             event_of(newest)),
        fact(f"{name_of(case.names, message.subject)} was posted", message.posted),
        cure=_moved(case, message) or Fix(program=_NAME_THE_BYTES),
    )  # fmt: skip


def _awaited_elsewhere(case: Case, content: Content) -> Finding | None:
    """Of bytes that a program waits for, the message that left elsewhere what it awaits."""
    for waits, piece, wanted in conditions.awaited(case, content.piece):
        there = (
            memory_waits.beside(case, waits.thing, case.node, piece, -1, wanted) if wanted else None
        )
        if there is not None and there.place:
            text = f"{there.by} wrote {there.where}, with what {waits.name} awaits at {there.place}"
            return warn(fact(text, there.event), waits.words(), cure=Fix(program=_NAME_THE_BYTES))
    return None


def _meant(case: Case, content: Content, near: list[Record]) -> Record | None:
    """The newest write; of several to one place the one whose turn these bytes are the place of."""
    if not near:
        return None
    place, length = piece_of(near[-1])
    same = [record for record in near if piece_of(record) == (place, length)]
    turn, rest = divmod(content.start - place, length or 1)
    fits = content.piece[1] <= length and not rest and 0 < turn < len(same) - 1
    return same[turn] if fits and unseen(case.log, case.node) else near[-1]


def _moved(case: Case, message: Message) -> Fix | None:
    """Fix: the WRITE again, to the bytes that are asked about."""
    sender = find_qp(case.world, *message.thing[1:])
    if sender is None or message.wqe.wr.opcode != WROpcode.RDMA_WRITE:
        return None
    there = memory_fixes.at(f"{case.names.of(case.subject.thing)}[{case.subject.start}]")
    return Fix([commands.post_send(case, sender, message.wqe.wr, **there)])


def _left_beside(case: Case, content: Content) -> Finding:
    """Of bytes that were never filled where they came from: what the program filled there."""
    touch, message = content.brought[0]
    node, hca = message.thing.node, case.world.nodes[message.thing.node]
    source = ownership.gathered(hca, message.wqe)
    cut = messages.part(source, message.offset + touch.at, touch.piece[1])
    if not cut:
        return NA
    twin, filled = _twin(case, message, source), _filled(case, message)
    written = any(meet(cut, [piece_of(record)]) for record in filled)
    if case.log.begins or (twin is None and written):
        return ok("what was sent had been filled")
    if early_fetch(case.log, message, cut) is not None:
        return ok("a message that was under way filled what was sent")
    sends = map(send_wqe_of, case.log.of(Kind.SEND_POSTED, node) if twin else ())
    pieces = [piece for wqe in sends for piece in ownership.gathered(hca, wqe)]
    other = [r for r in filled if _is_beside(case, node, source, r)
             and not meet(pieces, [piece_of(r)])]  # fmt: skip
    if not other:
        return ok("nothing beside it was filled")
    last, name = other[-1], name_of(case.names, message.subject)
    place, sent = (words_for(case.session, node, p) for p in (piece_of(last), source[0]))
    is_late = any(meet(cut, [piece_of(record)]) for record in _written_at(case, node))
    when = "filled only later" if is_late else "never filled"
    how = fact(f"{name} was posted with {sent}, which was {when}", message.posted)
    if twin is not None:
        how = fact(f"{fmt.wr(twin.wr.wr_id)} and {name} of one list both send {sent}; no request "
                   f"sends {place}", message.posted)  # fmt: skip
    sender = find_qp(case.world, *message.thing[1:])
    cure = Fix(program=_NAME_THE_BYTES)
    if sender is not None:
        cure = Fix(posted_again(case, sender, message, sg=f"{place}"))
    is_own = kind_of(last) is Kind.HOST_WROTE
    came = None if is_own else messages.arrived_with(case.log, last)
    by = f"{name_of(case.names, came.subject)} wrote" if came is not None else "the program filled"
    return warn(fact(f"{by} {place}", event_of(last)), how, cure=cure)


def _twin(case: Case, message: Message, source: list[Piece]) -> SendWqe | None:
    """A request before a message in its list that sends the same bytes; None if there is none."""
    posts = (r for r in case.log.about(Kind.SEND_POSTED, message.thing)
             if event_of(r) == message.posted)  # fmt: skip
    wqes = (send_wqe_of(r) for r in posts)
    hca = case.world.nodes[message.thing.node]
    return next((wqe for wqe in wqes if wqe.serial < message.wqe.serial
                 and ownership.gathered(hca, wqe) == source), None)  # fmt: skip


def _filled(case: Case, message: Message) -> list[Record]:
    """Writes at the sender before the packet left, oldest first."""
    wrote = _written_at(case, message.thing.node)
    return sorted((each for each in wrote if event_of(each) < message.sent), key=event_of)


def _written_at(case: Case, node: str) -> list[Record]:
    return case.log.of(Kind.HOST_WROTE, node) + case.log.of(Kind.MEMORY_WRITTEN, node)


def _is_beside(case: Case, node: str, source: list[Piece], record: Record) -> bool:
    """Whether something was written into the region of a message, and not into its bytes."""
    regions = case.world.nodes[node].mrs.items.values()
    spans = [(mr.addr, mr.length) for mr in regions if meet([(mr.addr, mr.length)], source)]
    return bool(meet(spans, [piece_of(record)])) and not meet(source, [piece_of(record)])


_APART = 1 << 22  # between two connections: half of what a requester may have outstanding
