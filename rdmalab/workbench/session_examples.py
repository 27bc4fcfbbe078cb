"""Add to an article of explain the values in this session, and commands with its object names."""

import re
from collections.abc import Iterator
from itertools import islice

from rdmalab.command import Noun, Thing
from rdmalab.guide.article import Article, Section
from rdmalab.guide.entry import About, Sort
from rdmalab.session.names import Names
from rdmalab.session.session import Session
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import occurrence_search, occurrences
from rdmalab.views.occurrence_search import OccurrenceRow, OccurrenceSearch
from rdmalab.views.occurrences import Finder
from rdmalab.world.relations import find_qp, peer_thing

_SHOWN = 3
_POSTER, _PEER = "A", "B"  # as the guide calls the two sides
_NAME = re.compile(rf"\b({_POSTER}|{_PEER})\.({'|'.join(Noun)})0\b")
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


def with_session(session: Session, said: Article, about: About | None) -> Article:
    """The article with a section `now`, and commands that name existing objects."""
    if about is None or not session.names.all():
        return said
    look = OccurrenceSearch(session.world, session.names, most=_SHOWN + 1)
    rows = list(islice(FINDERS[about.sort](look, about.key), _SHOWN + 1))
    cast = _cast(session, rows)
    at = len(said.sections)
    while at and said.sections[at - 1].heading in _AT_THE_END:
        at -= 1
    said.sections.insert(at, Section("now", [*_lines(look, rows), *_standing(look, cast, about)]))
    for section in said.sections:
        if section.heading == "look at":
            section.lines = [cast.fill(line) for line in section.lines] + cast.why(session)
    return said


def _standing(look: OccurrenceSearch, cast: "_Sides", about: About) -> Iterator[str]:
    """The state of the peer, for a failed completion."""
    peer = cast.sides.get(_PEER)
    if about.sort is Sort.STATUS and about.key is not WCStatus.SUCCESS and peer is not None:
        said = occurrences.standing(look, peer)
        yield from [said] * bool(said)


def _lines(look: OccurrenceSearch, rows: list[OccurrenceRow]) -> Iterator[str]:
    if not rows:
        where = f"the last {occurrence_search.REACH:,} records" if look.cut else "this session"
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
        queue = "recv_wr" if self.is_receive else "wr"
        return [f"or ask: why {self.names.of(thing)}.{queue}[{self.wr_id}]"]

    def fill(self, line: str) -> str:
        """`query_qp B.qp0` → `query_qp B.qp3`."""
        return _NODE.sub(self._node, _NAME.sub(self._name, line))

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
