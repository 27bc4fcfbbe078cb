"""A question normalised, or refused with what can be asked instead."""

import re
from typing import NamedTuple

from rdmalab.command import NotUnderstood, Noun, Span, Thing
from rdmalab.doctor.asking.suspects import never_made
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.work_requests import post_kind
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.grammar.nodes import Index, Node, Path
from rdmalab.grammar.trees import render
from rdmalab.session.session import Session
from rdmalab.spec.records import event_of, recv_wqe_of, send_wqe_of, wqe_of
from rdmalab.spec.rules import ERRNO_NAMES, RULES, errno_name
from rdmalab.views import fmt

_LEGAL = "ask of an object (A.qp0), its work (A.qp0.wr[7]), bytes (A.mr0[0:64]), or an errno"

_ERRNOS = sorted({errno_name(rule.errno) for rule in RULES.values()})


def normalised(session: Session, log: Log, question: Node | None) -> Path | None:
    """The question, with names in full; NotUnderstood if it names no subject."""
    if question is None:
        return None
    if isinstance(question, Path):
        return (_word if question.is_single else _thing)(session, log, question)
    text = render(question)
    if (rule := text.replace(" ", "").strip('"')) in RULES:  # its hyphen reads as a minus
        return _known_refusal(log, rule, question.place)
    found = examples(session, log)
    hint = f"name a thing: why {found[0]}" if found else _LEGAL
    raise NotUnderstood(f"{text} is not a subject of why", question.place, hint)


def _word(session: Session, log: Log, path: Path) -> Path:
    """A node, an errno or a rule, or an object of the node that is spoken to."""
    text, place = str(path), path.place
    if text in session.world.nodes:
        return path
    full = f"{session.default_node}.{text}"
    if session.names.find(full) is not None or never_made(log, full):
        return _thing(session, log, Path((session.default_node, text), place))
    if text in RULES or text in ERRNO_NAMES.values():
        return _known_refusal(log, text, place)
    if text.startswith("E") and text.isupper():
        hint = _returned(log) or suggest(text, _ERRNOS)
        raise NotUnderstood(f"{quoted(text)} is no errno", place, hint)
    hint = suggest(text, [topic.text for topic in topics(session, log)])
    raise NotUnderstood(f"nothing is called {quoted(text)}", place, hint)


def _known_refusal(log: Log, text: str, place: Span) -> Path:
    """An errno, or a rule, that some call was refused with."""
    if any(text in (call.refusal, errno_name(call.errno)) for call in log.refused()):
        return Path((text,), place)
    hint = _returned(log) or "no call was refused so far"
    raise NotUnderstood(f"no call was refused with {text}", place, hint)


def _returned(log: Log) -> str:
    return listed(returned(log), "returned so far: ")


def _thing(session: Session, log: Log, path: Path) -> Path:
    """An object, or a work request or bytes of it."""
    node, name, *rest = path.steps
    full, place = f"{node}.{name}", path.place
    if node not in session.world.nodes:
        hint = listed(list(session.world.nodes), "there are: ")
        raise NotUnderstood(f"no node is called {quoted(str(node))}", place, hint)
    thing = session.names.find(full)
    if thing is None and not rest and never_made(log, full):
        return path
    if thing is None:
        topical = [topic.text for topic in topics(session, log)]
        hint = session.names.hint(full, topical)
        raise NotUnderstood(f"nothing is called {quoted(full)}", place, hint)
    if rest:
        _part(log, path, thing, rest)
    return path


def _part(log: Log, path: Path, thing: Thing, rest: list[str | Index]) -> None:
    """`.wr[7]` of a queue, `[0:64]` of a region; nothing else has parts one can ask about."""
    head, index = rest[0], rest[1] if len(rest) > 1 else None
    if thing.noun is Noun.MR and isinstance(head, Index) and index is None:
        return
    meant = re.fullmatch(r"(wr|recv_wr)(\d+)", str(head))
    if meant is not None and meant[1] in WORK.get(thing.noun, ()):
        hint = f"write {path.steps[0]}.{path.steps[1]}.{meant[1]}[{meant[2]}]"
        raise NotUnderstood(f"why does not explain {path}", path.place, hint)
    if head not in WORK.get(thing.noun, ()):
        raise NotUnderstood(f"why does not explain {path}", path.place, _instead(log, path, thing))
    if isinstance(index, Index) and index.stop is None and len(rest) == 2:
        return
    lacks = "no wr_id" if index is None else "more than a wr_id"
    raise NotUnderstood(f"{path} has {lacks}", path.place, _instead(log, path, thing, str(head)))


def _instead(log: Log, path: Path, thing: Thing, word: str = "") -> str:
    """The hint that names a question to this object."""
    name = f"{path.steps[0]}.{path.steps[1]}"
    if thing.noun is Noun.MR:
        return f"write {name} or {name}[0:64]"
    work = [topic.text for topic in work_of(log, name, thing) if f".{word}" in topic.text]
    if word:
        return f"write {work[0]}" if work else f"write {name}.{word}[7]"
    return f"write {' or '.join([name, *work[:1]])}"


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
        text = fmt.send_wqe(send_wqe_of(record)) if is_send else fmt.recv_wqe(recv_wqe_of(record))
        wr_id = wqe_of(record).wr.wr_id
        about = f"{text.partition(' ')[2]}, posted in {fmt.ev(event_of(record))}"
        found.setdefault(wr_id, Topic(fmt.work_name(name, wr_id, is_send=is_send), about))
        if len(found) == _NEWEST:
            break
    return list(found.values())


def returned(log: Log) -> list[str]:
    """The errnos of refused calls, the newest first, each once."""
    return list(dict.fromkeys(errno_name(call.errno) for call in reversed(log.refused())))
