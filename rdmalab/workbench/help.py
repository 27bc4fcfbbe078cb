"""Help: the words there are, what one of them takes, and what anything means."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from rdmalab.command import Command, NotUnderstood, command
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.guide import usage
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.explain import explain as explained
from rdmalab.lens.fields import fields
from rdmalab.session.lines import replies
from rdmalab.session.session import Session

_NEAR = "did you mean"

# What must have happened before the example of a command makes sense, after `use rc_pair`.
BEFORE: Mapping[str, tuple[str, ...]] = {
    "destroy_cq": ("destroy_qp A.qp0",),
    "dealloc_pd": ("destroy_qp A.qp0", "dereg_mr A.mr0"),
    "dealloc_mw": ("alloc_mw B.mw0 pd=B.pd0 type=TYPE_2",),
    "bind_mw": ("alloc_mw B.mw0 pd=B.pd0 type=TYPE_1",),
    "connect": ("reset A.qp0", "reset B.qp0"),
    "to_rts": ("reset A.qp0",),
}
_FRESH = ("use",)  # their examples begin in an empty world
_PAIR = "use rc_pair"


@command
def help_(session: Session, topic: str = "", more: str = "") -> Article:
    """List the words there are, or tell how one of them is used.

    A verb: what it takes, key by key. A group, such as `help time`: its words. expr: what `until`
    and `expect` can ask.

    Example: help post_send
    """
    name = " ".join(word for word in (topic, more) if word)
    if not name:
        return _contents(session)
    if name in TOPICS:
        return TOPICS[name](session)
    known = session.vocabulary.get(name.removeprefix("ibv_"))
    if known is not None:
        return usage.page(known)
    if name in _rooms(session):
        return _group(session, name)
    return _or_explained(session, name)


@command
def explain(
    session: Session, word: str, second: str = "", third: str = "", fourth: str = ""
) -> Article:
    """Tell what a word means: a status, an attribute, a state, an errno, a rule, a packet …

    With the prefixes of libibverbs or without, in either case; numbers too: 13, 0x62, 22.
    `modify_qp RTR` is about the moves into RTR, `timeout 14` about that code.

    Example: explain IBV_WC_RNR_RETRY_EXC_ERR
    See: help
    """
    text = " ".join(part for part in (word, second, third, fourth) if part)
    return explained(text, session.vocabulary)


def _or_explained(session: Session, name: str) -> Article:
    """What help does not know may still be explained."""
    try:
        return explained(name, session.vocabulary)
    except NotUnderstood as unknown:
        legal = [*session.vocabulary, *_rooms(session), *TOPICS]
        near = suggest(name, legal)
        hint = near if near.startswith(_NEAR) else unknown.hint
        raise NotUnderstood(f"there is no help on {quoted(name)}", hint=hint) from None


# --------------------------------------------------------------------------- pages
def _rooms(session: Session) -> dict[str, list[Command]]:
    """The commands by the room they live in, in the order of the vocabulary."""
    rooms: dict[str, list[Command]] = {}
    for each in session.vocabulary.values():
        rooms.setdefault(each.room, []).append(each)
    return rooms


def _contents(session: Session) -> Article:
    rows: list[Row] = [
        (room, " ".join(each.name for each in commands))
        for room, commands in _rooms(session).items()
    ]
    rows.append(("more", "help VERB or GROUP · " + " · ".join(f"help {t}" for t in TOPICS)))
    rows.append(("words", "explain WORD: a status, attribute, state, errno, packet, flag, psn, …"))
    return article("help", "every word by group", rows)


def _group(session: Session, room: str) -> Article:
    commands = _rooms(session)[room]
    module = sys.modules[commands[0].function.__module__]
    about = (module.__doc__ or "").partition("\n")[0]
    rows: list[Row] = [("", about), *((each.name, each.summary) for each in commands)]
    return article(room, "group of words", rows, ["help VERB"])


def _expr(session: Session) -> Article:
    del session
    rows: list[Row] = [
        ("", "Compare with == != < <= > >=, join with and, or, not; enum names as words."),
        *((row.path, f"{row.type}: {row.sentence}") for row in fields()),
    ]
    return article("expr", "what until, break and expect can ask", rows, ["help until"])


def _examples(session: Session) -> Article:
    rows: list[Row] = [
        (each.name, usage.docstring(each).examples) for each in session.vocabulary.values()
    ]
    return article("examples", "one line of each word", rows)


TOPICS: Mapping[str, Callable[[Session], Article]] = {"expr": _expr, "examples": _examples}


# --------------------------------------------------------------------------- the examples, run
def check_examples(open_session: Callable[[], Session], commands: Iterable[Command]) -> list[str]:
    """What is wrong with the examples of these commands: each is run in a world of its own."""
    return [wrong for each in commands for wrong in _wrong(open_session, each)]


def _wrong(open_session: Callable[[], Session], each: Command) -> Iterator[str]:
    examples = usage.docstring(each).examples
    if not examples:
        yield f"{each.name}: no example"
    for example in examples:
        session = open_session()
        before = () if each.name in _FRESH else (_PAIR, *BEFORE.get(each.name, ()))
        for line in (*before, example):
            yield from (f"{each.name}: {line}: {said}" for said in failures(session, line))


def failures(session: Session, line: str) -> Iterator[str]:
    """What goes wrong when a line is carried out to its end."""
    for reply in replies(session, line):
        if reply.travel is not None:
            reply.travel.finish()
        problem = reply.error or reply.refusal
        if problem is not None:
            yield problem.message
