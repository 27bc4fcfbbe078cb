"""The pages of help and explain with examples of the session; the hint for a question."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from rdmalab.command import Command, NotUnderstood, Noun, Thing, UnknownVerb
from rdmalab.doctor.article import SUSPICIONS
from rdmalab.grammar.hints import elsewhere, quoted, suggest
from rdmalab.grammar.line import from_c
from rdmalab.guide import manual, usage
from rdmalab.guide.article import Article, ArticleSection, Row, article
from rdmalab.guide.entry import About, Sort
from rdmalab.guide.explain import answer, lookup
from rdmalab.guide.manual import asked
from rdmalab.guide.structs import structs_of
from rdmalab.session.names import Names
from rdmalab.session.session import Session
from rdmalab.spec.programs import FREE, WORDS
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt, occurrences
from rdmalab.views.occurrences import Finder, OccurrenceRow, OccurrenceSearch
from rdmalab.views.query import fields
from rdmalab.world.relations import find_qp, peer_thing

_SHOWN = 3
_POSTER, _PEER = "A", "B"  # as the guide calls the two sides
_NAME = re.compile(rf"\b({_POSTER}|{_PEER})\.({'|'.join(Noun)})0\b")
_SHOW = re.compile(rf"\b(show (?:{'|'.join(Noun)})) (\w+\.\w+)")
_NODE = re.compile(r"\b(get_async_event|query_device|query_port|show port|show device) ([AB])\b")
_AT_THE_END = (
    "look at",
    "shown by",
    "also",
)  # `now` stands in front of these, where they end an article

FINDERS: dict[Sort, Finder] = {
    Sort.STATUS: occurrences.of_status,
    Sort.STATE: occurrences.of_state,
    Sort.MOVE: occurrences.of_move,
    Sort.TYPE: occurrences.of_type,
    Sort.ATTRIBUTE: occurrences.of_attribute,
    Sort.OPCODE: occurrences.of_opcode,
    Sort.FLAG: occurrences.of_flag,
    Sort.RIGHT: occurrences.of_right,
    Sort.EVENT: occurrences.of_event,
    Sort.SYNDROME: occurrences.of_syndrome,
    Sort.PACKET: occurrences.of_packet,
    Sort.ERRNO: occurrences.of_errno,
    Sort.RULE: occurrences.of_rule,
    Sort.REFUSAL: occurrences.of_refusal,
    Sort.DROP: occurrences.of_drop,
    Sort.PORT: occurrences.of_port,
    Sort.PROFILE: occurrences.of_profile,
    Sort.CELL: occurrences.of_cell,
    Sort.LIMIT: occurrences.of_limit,
    Sort.RECORD: occurrences.of_record,
    Sort.VERB: occurrences.of_verb,
}


def with_session(session: Session, article: Article, about: About | None) -> Article:
    """The article with a section `now`, and commands that name existing objects."""
    if about is None or not session.names.all():
        return article
    search = OccurrenceSearch(session.world, session.names, most=_SHOWN + 1)
    rows = list(islice(FINDERS[about.sort](search, about.key), _SHOWN + 1))
    cast = _cast(session, rows)
    at = len(article.sections)
    while at and article.sections[at - 1].heading in _AT_THE_END:
        at -= 1
    article.sections.insert(
        at, ArticleSection("now", [*_lines_of(search, rows), *_state_of_peer(search, cast, about)])
    )
    for section in article.sections:
        if section.heading == "look at":
            section.lines = [cast.fill(line) for line in section.lines] + cast.why(session)
    return article


def _state_of_peer(search: OccurrenceSearch, cast: "_Sides", about: About) -> Iterator[str]:
    """The state of the peer, for a failed completion."""
    peer = cast.sides.get(_PEER)
    if about.sort is Sort.STATUS and about.key is not WCStatus.SUCCESS and peer is not None:
        text = occurrences.state_text(search, peer)
        yield from [text] * bool(text)


def _lines_of(search: OccurrenceSearch, rows: list[OccurrenceRow]) -> Iterator[str]:
    if not rows:
        where = f"the last {occurrences.REACH:,} records" if search.cut else "this session"
        yield f"nothing of it in {where}"
    for row in rows[:_SHOWN]:
        yield row.text
    if len(rows) > _SHOWN:
        yield "and more"


class _Sides:
    """The queue pairs of both sides; if both are known, the commands name them."""

    def __init__(self, names: Names, sides: dict[str, Thing], row: OccurrenceRow | None) -> None:
        self.names = names
        self.sides = sides
        self.wr_id = row.wr_id if row is not None else None
        self.is_receive = row is not None and row.answers

    def why(self, session: Session) -> list[str]:
        """The `why` command about this work request."""
        thing = self.sides.get(_PEER if self.is_receive else _POSTER)
        if self.wr_id is None or thing is None or "why" not in session.vocabulary:
            return []
        name = self.names.of(thing)
        return [f"or ask: why {fmt.work_name(name, self.wr_id, is_send=not self.is_receive)}"]

    def fill(self, line: str) -> str:
        """`query_qp B.qp0` → `query_qp B.qp3`; `show mw B.mw0` → `show mw` where B has none."""
        return _SHOW.sub(self._shown, _NODE.sub(self._node, _NAME.sub(self._name, line)))

    def _shown(self, match: re.Match[str]) -> str:
        return match[0] if self.names.find(match[2]) is not None else match[1]

    def _node(self, match: re.Match[str]) -> str:
        side = self.sides.get(match[2])
        return f"{match[1]} {side.node}" if side is not None else match[0]

    def _name(self, match: re.Match[str]) -> str:
        side, noun = match[1], Noun(match[2])
        thing = self.sides.get(side)
        if thing is not None and thing.noun is noun:
            return self.names.of(thing)
        node = thing.node if thing is not None else side
        there = [name for name in self.names.all(noun) if name.startswith(f"{node}.")]
        plain = f"{node}.{noun}0"
        return plain if plain in there or not there else there[0]


def _cast(session: Session, rows: list[OccurrenceRow]) -> _Sides:
    """The queue pair of the first match, and its peer."""
    row = next((r for r in rows if r.thing and r.thing.noun is Noun.QP), None)
    if row is None or row.thing is None:
        return _Sides(session.names, {}, None)
    own, other = (_PEER, _POSTER) if row.answers else (_POSTER, _PEER)
    sides = {own: row.thing}
    qp = find_qp(session.world, row.thing.node, row.thing.number)
    peer = peer_thing(session.world, qp) if qp is not None else None
    if peer is not None and peer.node:
        sides[other] = peer
    return _Sides(session.names, sides, row)


_NEAR = "did you mean"


def page(session: Session, text: str) -> Article:
    """Article of `help` about these words; raises NotUnderstood if nothing is known."""
    name = " ".join(asked(text).words)
    if not name:
        return _contents(session)
    if name in TOPICS:
        return TOPICS[name](session)
    known = session.vocabulary.get(name.removeprefix("ibv_"))
    if known is not None:
        return _with_manual(usage.page(known), name)
    if name in _rooms(session):
        return _with_manual(_group(session, name), name)
    if places := manual.find(name):
        return manual.article(places)
    return _or_explained(session, name)


def explained(session: Session, text: str) -> Article:
    """Article of `explain`, with the values in this session; raises NotUnderstood."""
    found = answer(text, session.vocabulary, SUSPICIONS)
    return with_session(session, found.article, found.entry.about)


def _or_explained(session: Session, name: str) -> Article:
    """Article of `explain` about a word without help; NotUnderstood, with a hint, if none."""
    try:
        return answer(name, session.vocabulary, SUSPICIONS).article
    except NotUnderstood as unknown:
        legal = [*session.vocabulary, *_rooms(session), *TOPICS, *manual.words()]
        near = suggest(name, legal)
        hint = near if near.startswith(_NEAR) else unknown.hint
        raise NotUnderstood(f"there is no help on {quoted(name)}", hint=hint) from None


def meant(session: Session, wrong: NotUnderstood) -> str:
    """The hint for a line such as `rnr` or `what is rnr`; empty if the line is no question.

    A word that explain or help knows goes before a verb with a similar name.
    """
    if c := _of_c(session, wrong):
        return c
    if elsewhere(wrong.line.split()[0]) and not lookup(wrong.line, session.vocabulary, SUSPICIONS):
        return ""  # "send A" does not ask what "a send" is
    words, is_question = asked(wrong.line)
    is_question = is_question and wrong.line.split()[0] not in session.vocabulary
    if not is_question and not (len(words) == 1 and isinstance(wrong, UnknownVerb)):
        return ""
    if words[0].isdecimal() and not is_question:
        return "a number alone answers a question of a lesson, and none is open"
    texts = dict.fromkeys((" ".join(words), *words))
    found = next(filter(None, (_known(session, text) for text in texts)), "")
    return found or (
        "explain WORD explains a term, help WORD a command or a key" if is_question else ""
    )


def _known(session: Session, text: str) -> str:
    """The hint for a word that show, explain, help or load knows; empty for any other."""
    if session.names.find(text) is not None:
        return f"{_NEAR} show {text}?"
    if lookup(text, session.vocabulary, SUSPICIONS):
        return f"{_NEAR} explain {text}?"
    return f"{_NEAR} help {text}?" if text in TOPICS or manual.find(text) else _lesson(text)


def _lesson(word: str) -> str:
    """The hint for the name of a lesson, or for a word with a slash; empty if it is neither."""
    from rdmalab.scenario import files, lessons

    path = files.found(word)
    if path != word and not files.is_folder(path):
        return f"{_NEAR} load {files.short_name(path)}?"
    parts = (part for part in re.split(r"[/-]", word) if "/" in word)
    known = lessons.catalogue() if "/" in word else []
    part = next((part for part in parts if part and lessons.sought(known, part)), "")
    return f"{_NEAR} lessons {part}?" if part else ""


_STRUCT = re.compile(r"\s*(?:const\s+|static\s+)?(?:struct|enum)\s+(\w+)")
_OF_C = re.compile(
    r"\s*(?:\w+(?:\.|->)[\w.\[\]]+\s*=[^=].*|#\s*include.*|(?:if|for|while|return|int|uint\d+_t|void)\b.*"
    r"|.*;\s*$)"
)


def _of_c(session: Session, wrong: NotUnderstood) -> str:
    """The hint for a pasted line of C that is no call: the verb that takes the struct, if any."""
    if not isinstance(wrong, UnknownVerb):
        return ""
    if declared := _STRUCT.match(wrong.line):
        struct = structs_of(session.vocabulary).get(declared[1])
        verb = session.vocabulary[struct.verbs[0]] if struct is not None else None
        if struct is None or verb is None or not verb.examples:
            return "C needs no declaration here: objects are made by verbs, such as create_qp"
        thing = verb.examples[0].split()[1]
        line = from_c(wrong.line, verb, thing, session.vocabulary) or verb.examples[0]
        return f"{struct.name} is an argument of {verb.name}; write {line}"
    if _OF_C.match(wrong.line):
        return "this is C; a field is a key of a verb here: write modify_qp A.qp0 state=INIT …"
    return ""


# --------------------------------------------------------------------------- pages
def _rooms(session: Session) -> dict[str, list[Command]]:
    """The commands by group, in the order of the vocabulary."""
    rooms: dict[str, list[Command]] = {}
    for each in session.vocabulary.values():
        rooms.setdefault(each.room, []).append(each)
    return rooms


MOST_USED: tuple[tuple[str, str], ...] = (
    ("begin", "tour: a guided start · lessons · load err/rnr-retry-exceeded · use rc_pair"),
    ("work", "post_send · post_recv · poll_cq · modify_qp"),
    ("time", "step (F8) · run (F9) · back (F7) · until QUESTION · goto"),
    ("look", "show · show wire · show A.qp0 · changes · hexdump B.mr0[0:64]"),
    ("reason", "why · apply · checklist"),
    ("disturb", "fault drop A->B nth=1 · link · port"),
    ("keep", "save FILE · share · copy · snapshot · continue · new · quit"),
    ("learn", "explain WORD: a status, state, attribute, errno, packet, flag, line of a log"),
)


def _contents(session: Session) -> Article:
    """One screen: the words used most, and where all others are."""
    del session
    rows: list[Row] = [
        *MOST_USED,
        ("manual", "help TOPIC: " + " ".join(manual.PAGES)),
        ("more", "help all: every command · help VERB or GROUP · help keys · " + _topics()),
    ]
    return article("help", "the words used most", rows)


def _topics() -> str:
    return " · ".join(f"help {topic}" for topic in TOPICS if topic not in _LISTS)


def _with_manual(article: Article, name: str) -> Article:
    """The article, and what the manual has about the same word."""
    if places := manual.find(name):
        more = manual.article(places)
        more.sections[0].heading, more.sections[0].is_apart = more.title, True
        article.sections += more.sections
        article.see_also += more.see_also
    return article


def _all(session: Session) -> Article:
    rows: list[Row] = [
        (room, " ".join(each.name for each in commands))
        for room, commands in _rooms(session).items()
    ]
    return article("help", "all commands by group", rows, ["help VERB", "help GROUP"])


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


_LISTS = ("all", "verbs")
TOPICS: Mapping[str, Callable[[Session], Article]] = {
    **dict.fromkeys(_LISTS, _all),
    "expr": _expr,
    "lines": _lines,
    "examples": _examples,
}
