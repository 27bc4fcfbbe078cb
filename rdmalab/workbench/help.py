"""Commands help and explain."""

from collections.abc import Callable, Mapping
from typing import Annotated

from rdmalab.command import PROSE, Command, Facts, NotUnderstood, Recovery, command
from rdmalab.doctor.article import SUSPICIONS
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.guide import usage
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.explain import answer
from rdmalab.session.session import Session
from rdmalab.spec.programs import FREE, WORDS
from rdmalab.views.query import fields
from rdmalab.workbench.session_examples import with_session

_NEAR = "did you mean"


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP, short=(("h", ""),)))
def help_(session: Session, topic: str = "", more: str = "") -> Article:
    """List the commands, or show how one of them is used.

    A verb: its keys. A group, such as `help time`: its commands. expr: the expressions of `until`
    and `expect`.

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


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP))
def explain(session: Session, text: Annotated[str, PROSE]) -> Article:
    """Explain a term: a status, an attribute, a state, an errno, a packet, a cause …

    With the prefixes of libibverbs or without, in either case; numbers too: 13, 0x62, 22.
    `modify_qp RTR` is about the moves into RTR, `timeout 14` about that code. A line of a log works
    too: its terms are recognised.

    Example: explain IBV_WC_RNR_RETRY_EXC_ERR
    See: help
    """
    found = answer(text, session.vocabulary, SUSPICIONS)
    return with_session(session, found.article, found.entry.about)


def _or_explained(session: Session, name: str) -> Article:
    """The hint for a word without help: explain may have it."""
    try:
        return answer(name, session.vocabulary, SUSPICIONS).article
    except NotUnderstood as unknown:
        legal = [*session.vocabulary, *_rooms(session), *TOPICS]
        near = suggest(name, legal)
        hint = near if near.startswith(_NEAR) else unknown.hint
        raise NotUnderstood(f"there is no help on {quoted(name)}", hint=hint) from None


# --------------------------------------------------------------------------- pages
def _rooms(session: Session) -> dict[str, list[Command]]:
    """The commands by group, in the order of the vocabulary."""
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
    return article("help", "all commands by group", rows)


def _group(session: Session, room: str) -> Article:
    commands = _rooms(session)[room]
    rows: list[Row] = [
        ("", commands[0].room_summary),
        *((each.name, each.summary) for each in commands),
    ]
    return article(room, "group of commands", rows, ["help VERB"])


def _expr(session: Session) -> Article:
    del session
    rows: list[Row] = [
        ("", "Compare with == != < <= > >=, join with and, or, not; enum names as words."),
        ("", "Compute with + - * // (whole numbers). Filters of counts: key=value, key!=value."),
        ("", "since=@NAME counts what came after a checkpoint, since=120 after that event,"),
        ("", "since=10us after that time; @start: the checkpoint start, else the beginning."),
        ("", "In any(), all(), count() A.qp stands for every queue pair of A."),
        *((row.path, f"{row.type}: {row.sentence}") for row in fields()),
    ]
    return article("expr", "the expressions of until, break and expect", rows, ["help until"])


def _examples(session: Session) -> Article:
    rows: list[Row] = [
        (each.name, usage.docstring(each).examples) for each in session.vocabulary.values()
    ]
    return article("examples", "one line for each command", rows)


def _lines(session: Session) -> Article:
    del session
    rows: list[Row] = [
        ("", "Verbs and other commands that change the world; default node: that of the program."),
        *((row.usage, row.sentence) for row in WORDS.values()),
        ("", f"{', '.join(FREE[:-1])} and {FREE[-1]} take no time, all others one pace."),
        ("", "A QUESTION is about the current state; a program cannot read the log."),
    ]
    return article("lines", "the lines of a program", rows, ["help program", "help expr"])


TOPICS: Mapping[str, Callable[[Session], Article]] = {
    "expr": _expr,
    "lines": _lines,
    "examples": _examples,
}
