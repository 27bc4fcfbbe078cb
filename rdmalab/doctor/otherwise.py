"""A refused call said once more, as it was or with some of its arguments otherwise."""

from dataclasses import replace
from typing import Any

from rdmalab.command import Invocation, Ref
from rdmalab.doctor import attempts, cures
from rdmalab.doctor.attempts import Attempt
from rdmalab.doctor.case import Case, peer_of
from rdmalab.grammar.format import render
from rdmalab.hca.qp import QueuePair

Said = dict[str, Any]


def arguments(case: Case, verbs: tuple[str, ...]) -> Said:
    """What was said in the call that is asked about; nothing if it is none of these verbs."""
    call = case.call
    known = call is not None and call.verb in verbs and call.invocation is not None
    return dict(call.invocation.arguments) if known and call and call.invocation else {}


def otherwise(case: Case, said: Said) -> list[str]:
    """The call with these arguments in place of what was said."""
    call = case.call
    if call is None or call.invocation is None:
        return []
    changed = Invocation(call.verb, call.invocation.arguments | said)
    return [render(changed, case.session.vocabulary[call.verb])]


def with_at_most(said: Said, most: dict[str, int]) -> Said:
    """The same arguments, none of these beyond its limit; those in records, too."""
    return {
        name: with_at_most(value, most) if isinstance(value, dict)
        else min(value, most[name]) if name in most and isinstance(value, int)
        else value
        for name, value in said.items()
    }  # fmt: skip


def beyond(said: Said, most: dict[str, int]) -> list[str]:
    """`max_inline_data=220, it has 101`: what asks for more than there is."""
    found = []
    for name, value in said.items():
        if isinstance(value, dict):
            found += beyond(value, most)
        elif name in most and isinstance(value, int) and value > most[name]:
            found.append(f"{name}={value}, it has {most[name]}")
    return found


def joined(pieces: list[Any]) -> list[Any]:
    """The pieces of a list, those that touch as one."""
    found: list[Any] = []
    for piece in pieces:
        last = found[-1] if found else None
        touch = isinstance(last, Ref) and isinstance(piece, Ref) and (
            (last.node, last.name, last.stop) == (piece.node, piece.name, piece.start)
        )  # fmt: skip
        if touch and piece.start is not None:
            found[-1] = replace(found[-1], stop=piece.stop)
        else:
            found.append(piece)
    return found


def repost(case: Case, qp: QueuePair, attempt: Attempt, wrs: list[Said]) -> list[str]:
    """Post these, with a receive at the peer for each send that needs one and finds none."""
    peer = peer_of(case.world, qp)
    sends = attempts.bound(case.session, attempt, wrs) if attempt.call.verb == "post_send" else []
    wanting = [wr for wr in sends if cures.needs_receive(wr)] if peer is not None else []
    waiting = len(peer.source.wqes) if peer is not None else 0
    rooms = [
        cures.room(case, peer, sum(sge.length for sge in wr.sg))
        for wr in wanting[waiting:]
        if peer is not None
    ]
    return [*rooms, attempts.said_again(case.session, attempt, wrs)]
