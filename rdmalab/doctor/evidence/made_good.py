"""Repairs since a failure: a queue pair that works again, a queue made again, a repeated call."""

from collections.abc import Sequence

from rdmalab.command import CallArguments, Invocation, New, Noun, Ref, Thing
from rdmalab.doctor.evidence.log import Call, Log
from rdmalab.doctor.evidence.messages import meet, piece_of, pieces
from rdmalab.doctor.evidence.posting_calls import (
    Attempt,
    attempt,
    bound,
    closed_by,
    differences,
    id_of,
)
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import undone
from rdmalab.doctor.evidence.work_requests import post_kind
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.world.relations import find_qp, peer_of

_OF_SLOTS = ("queue-full", "srq-error")
_BRING_UP = (QPState.INIT, QPState.RTR, QPState.RTS)


def is_made_good(session: Session, log: Log, subject: Subject, event: int) -> bool:
    """Whether what went wrong with a subject at an event was repaired since."""
    if subject.thing.noun is Noun.QP:
        return is_repaired(session, log, subject, event)
    newer = session.names.find(session.names.of(subject.thing))
    return subject.sort is Sort.CQ and newer not in (None, subject.thing)


def is_repaired(session: Session, log: Log, subject: Subject, event: int) -> bool:
    """Whether a queue pair of this name was brought up after an event and is in use since.

    In use: its own or its peer's work succeeded, or a send of them is outstanding; after the flush
    of a receive a receive that was posted since is enough, for it waits as the flushed one did.
    """
    lives = _lives(session, subject.thing)
    up = [at for it in lives for state in (QPState.RTR, QPState.RTS)  # out of SQE it enters RTS
          for at in log.entered(it, state, after=event)]  # fmt: skip
    if not up:
        return False
    qp = find_qp(session.world, *lives[-1][1:])
    ends = [end for end in (qp, qp and peer_of(session.world, qp)) if end is not None]
    if any(undone(end) for end in ends):
        return True
    things = {*lives, *(end.thing for end in ends)}
    return any(at > min(up) for it in things for at in _used(log, it, subject.sort))


def _used(log: Log, thing: Thing, sort: Sort) -> list[int]:
    """The events of a queue pair's successes; asked of a receive, of its posts as well."""
    done = [r for r in log.about(Kind.WQE_COMPLETED, thing) if not rec.status_of(r)]
    came = [(r, rec.cqe_of(r)) for r in log.of(Kind.CQE_ADDED, thing.node)]
    took = [r for r, cqe in came if not cqe.status and cqe.qp_num == thing.number]
    waits = log.about(Kind.RECV_POSTED, thing) if sort is Sort.RECV else []
    return [rec.event_of(r) for r in (*done, *took, *waits)]


def _lives(session: Session, thing: Thing) -> list[Thing]:
    """All things that ever had the name of one, oldest first."""
    name = session.names.of(thing)
    return [it for it, given in session.names.name_of.items() if given == name] or [thing]


def is_past(log: Log, call: Call) -> bool:
    """Whether a refused modify_qp asked for a state of the bring-up that is no obstacle any more.

    The queue pair has entered this state, and another modify_qp was accepted or work on it has
    succeeded since the call; or it has left the state in which the call was refused, and another
    modify_qp was refused there.
    Of a refused ack_cq_events whether all events of the node were acknowledged since.
    """
    if call.refusal == "cq-events-ack":
        return _acknowledged_since(log, call)
    if call.verb != "modify_qp" or call.invocation is None:
        return False
    thing, state = Thing(Noun.QP, *call.thing), _key(call.invocation)[2]
    moved = [rec.event_of(r) for r in log.about(Kind.STATE_CHANGED, thing)][-1:]
    newest = [c.event for c in log.refused() if (c.verb, c.thing) == (call.verb, call.thing)]
    if moved and call.event < moved[0] < newest[-1]:
        return True
    is_reached = any(each == state and log.entered(thing, each) for each in _BRING_UP)
    since = [*log.called(thing, "modify_qp", after=call.event), *_used(log, thing, Sort.SEND)]
    return is_reached and any(event > call.event for event in since)


def _acknowledged_since(log: Log, call: Call) -> bool:
    """Whether events were acknowledged after a refused call, and none of the node is left."""
    node = call.thing[0]
    accepted = (each for each in log.calls(call.verb, node) if not each.refusal)
    left = any(cq.unacked for cq in log.session.world.nodes[node].cqs.items.values())
    return not left and any(each.event > call.event for each in accepted)


class Repeats:
    """The calls that were accepted since others were refused."""

    def __init__(self, log: Log, refused: Sequence[Call]) -> None:
        self._log = log
        self._newest: dict[tuple[object, ...], int] = {}
        first = min((call.event for call in refused), default=log.begins)
        if first < log.begins:  # the journal has the calls that the log no longer has
            self._read_journal(first, {call.event for call in log.refused()})

    def _read_journal(self, first: int, refused: set[int]) -> None:
        journal = self._log.session.journal
        for entry in journal[journal.before(first) : journal.before(self._log.begins)]:
            if entry.event not in refused:
                self._newest[_key(entry.invocation)] = entry.event

    def has(self, call: Call) -> bool:
        """Whether the same was asked of the same thing, or under the same name, and done.

        Of a list or a batch: whether all its work requests were posted since, not another one.
        """
        if (batch := closed_by(self._log, call)) is not None:
            posts = self._log.about(Kind.SEND_POSTED, batch.thing)
            since = {rec.send_wqe_of(r).wr.wr_id for r in posts if rec.event_of(r) > call.event}
            return {built.wr.wr_id for built in batch.built} <= since
        if (tried := attempt(self._log, call)) is not None and call.event >= self._log.begins:
            return _is_posted_since(self._log, tried)
        invocation = call.invocation
        if invocation is not None and self._newest.get(_key(invocation), -1) > call.event:
            return True
        called = self._log.of(Kind.CALLED, *call.thing)
        done = (r for r in called if rec.verb_of(r) == call.verb and not rec.errno_of(r))
        later = [event for event in map(rec.event_of, done) if event > call.event]
        if invocation is None:
            return bool(later)
        asked = [self._log.asked(event)[0] for event in later]
        return any(it is None or _key(it)[1:] == _key(invocation)[1:] for it in asked)


def left_refused(log: Log, verb: str, node: str, before: int) -> list[Call]:
    """The calls of a verb that were refused before an event, and not made good; newest first."""
    refused = [call for call in log.refused() if call.verb == verb and call.thing[0] == node]
    repeats = Repeats(log, refused)
    return [call for call in reversed(refused) if call.event < before and not repeats.has(call)]


def _is_posted_since(log: Log, tried: Attempt) -> bool:
    """Whether all that a refused call did not post was posted since, each with its mistake mended.

    It is the same request if the wr_id is, and no more than one of opcode, buffers and target
    differs, where the mistake was: another request with success is no repetition. After a refusal
    for the state of the queue pair, or for the request itself, it may have another wr_id, if none
    of them differs and the program has not filled its buffer for another message meanwhile. (A
    queue that was full takes the next message of a loop, and the refused one is still missing.)
    """
    posts = _posts_since(log, tried.call)
    same = bound(log.session, tried, tried.left)  # [] where what it names is destroyed
    given = zip(tried.left, same or [None] * len(tried.left), strict=True)
    return all(
        any(_repeats(wr, one, r) or _is_renumbered(log, tried.call, wr, one, r) for r in posts)
        for wr, one in given
    )


def _repeats(given: CallArguments, one: SendWR | RecvWR | None, posted: rec.Record) -> bool:
    """Whether a post has the wr_id of a request, and at most one thing of it is another."""
    wr = rec.wqe_of(posted).wr
    return wr.wr_id == id_of(given) and (one is None or differences(one, wr) <= 1)


def _is_renumbered(
    log: Log, call: Call, given: CallArguments, one: SendWR | RecvWR | None, posted: rec.Record
) -> bool:
    """Whether a post is a request that was refused, with a new wr_id."""
    wr = rec.wqe_of(posted).wr
    if call.refusal in _OF_SLOTS or _is_filled(log, call, posted, wr):
        return False
    return _without_id(given) in _typed(log, posted) if one is None else not differences(one, wr)


def _posts_since(log: Log, call: Call) -> list[rec.Record]:
    """The posts since a refused one, on a queue pair of its name or on its SRQ."""
    noun = Noun.SRQ if call.verb == "post_srq_recv" else Noun.QP
    is_send = call.verb == "post_send"
    things = _lives(log.session, Thing(noun, *call.thing))
    qp = find_qp(log.session.world, *call.thing) if noun is Noun.QP else None
    if qp is not None and qp.srq and not is_send:
        things.append(Thing(Noun.SRQ, qp.node, qp.srq))
    posts = (r for it in things for r in log.about(post_kind(it, is_send=is_send), it))
    return [r for r in posts if rec.event_of(r) > call.event]


def _typed(log: Log, posted: rec.Record) -> list[CallArguments]:
    """The work requests of the call that posted one, as they were typed, without their wr_id."""
    call = log.asked(rec.event_of(posted))[0]
    wrs = call.arguments.get("wr") if call is not None else None
    return [_without_id(wr) for wr in wrs or []]


def _without_id(wr: CallArguments) -> CallArguments:
    return {key: value for key, value in wr.items() if key != "wr_id"}


def _is_filled(log: Log, call: Call, posted: rec.Record, wr: SendWR | RecvWR) -> bool:
    """Whether the program has written into the buffer of a send between a call and a post."""
    node, event = call.thing[0], rec.event_of(posted)
    wrote = [piece_of(r) for r in log.since(call.event, Kind.HOST_WROTE)
             if rec.node_of(r) == node and rec.event_of(r) < event]  # fmt: skip
    own = pieces(log.session.world.nodes[node], wr.sg)
    return isinstance(wr, SendWR) and bool(meet(own, wrote))


def _key(invocation: Invocation) -> tuple[object, ...]:
    """A verb, the first thing that it names, the state that it asks for, the requests it posts."""
    named = [value for value in invocation.arguments.values() if isinstance(value, Ref | New)]
    attr = invocation.arguments.get("attr")
    state = attr.get("qp_state") if isinstance(attr, dict) else None
    wrs = invocation.arguments.get("wr")
    ids = tuple(map(id_of, wrs)) if isinstance(wrs, list) else ()
    return invocation.name, str(named[0]) if named else "", state, ids
