"""What one can ask why of, as things stand: offered while one types, and where one is stuck."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.log import Log
from rdmalab.doctor.work.send import post_kind
from rdmalab.session.session import Session
from rdmalab.spec.records import event_of, recv_wqe_of, send_wqe_of, wqe_of
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt

WORK = {Noun.QP: ("wr", "recv_wr"), Noun.SRQ: ("recv_wr",)}
"""By which words the work requests of a queue are named."""

_NEWEST = 8  # work requests of a queue that are offered
_EXAMPLES = 3


class Topic(NamedTuple):
    """One thing: what to type, and a word on it. thing: what it is, where it is an object."""

    text: str
    about: str = ""
    thing: Thing | None = None


def topics(session: Session, log: Log) -> list[Topic]:
    """All there is: the queues with their newest work, other objects, errnos, nodes."""
    found: list[Topic] = []
    for noun in (Noun.QP, Noun.SRQ, Noun.CQ, Noun.PROGRAM, Noun.MR, Noun.CHANNEL):
        for thing in session.names.living(session.world, noun):
            name = session.names.of(thing)
            found += [Topic(name, thing=thing), *work_of(log, name, thing)]
    found += [Topic(name, "returned so far") for name in returned(log)]
    return found + [Topic(node, "all that is wrong on it") for node in session.world.nodes]


def examples(session: Session, log: Log, node: str = "") -> list[str]:
    """The most likely questions, on one node or on any, to show as examples."""
    found = [topic.text for topic in topics(session, log) if topic.text.startswith(node)]
    likely = [text for text in found if "[" in text] + [text for text in found if "." in text]
    return list(dict.fromkeys(likely))[:_EXAMPLES]


def work_of(log: Log, name: str, thing: Thing) -> list[Topic]:
    """The newest work requests of a queue, each wr_id once."""
    return [topic for word in WORK.get(thing.noun, ()) for topic in _work(log, name, thing, word)]


def _work(log: Log, name: str, thing: Thing, word: str) -> list[Topic]:
    found: dict[int, Topic] = {}
    is_send = word == "wr"
    for record in reversed(log.about(post_kind(thing, is_send=is_send), thing)):
        said = fmt.send_wqe(send_wqe_of(record)) if is_send else fmt.recv_wqe(recv_wqe_of(record))
        wr_id = wqe_of(record).wr.wr_id
        about = f"{said.partition(' ')[2]}, posted in {fmt.ev(event_of(record))}"
        found.setdefault(wr_id, Topic(f"{name}.{word}[{wr_id}]", about))
        if len(found) == _NEWEST:
            break
    return list(found.values())


def returned(log: Log) -> list[str]:
    """The errnos of refused calls, the newest first, each once."""
    return list(dict.fromkeys(errno_name(call.errno) for call in reversed(log.refused())))
