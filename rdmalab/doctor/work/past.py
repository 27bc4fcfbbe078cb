"""Earlier contents of memory, from a replay of the session up to an event."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.messages import Piece
from rdmalab.grammar.text import in_quotes
from rdmalab.session.history import read_only_visit
from rdmalab.session.session import Session

MOST_BYTES = 1024  # that a cure writes back


def octets_then(session: Session, event: int, node: str, piece: Piece) -> bytes:
    """The bytes as they were after an event; everything stays as it is."""
    history = session.history
    with read_only_visit(history):
        history.seek(history.place_after(event))
        return session.world.nodes[node].memory.read(*piece)


def written_back(session: Session, event: int, node: str, piece: Piece) -> str | None:
    """A command that puts back what lay there after an event; None where it would be too long."""
    where = words_for(session, node, piece)
    if where is None or piece[1] > _MOST_AT_ALL:
        return None
    octets = octets_then(session, event, node, piece)
    if len(set(octets)) == 1:
        return f"fill {where} {octets[0]:#04x}"
    if piece[1] > MOST_BYTES:
        return None
    return f"write {where} {in_quotes(octets.decode('latin-1'))}"


_MOST_AT_ALL = 1 << 20  # bytes that are worth reading again


def words_for(session: Session, node: str, piece: Piece) -> str | None:
    """Bytes as a part of a region: `A.mr0[0:8]`."""
    found = bytes_at(session, node, piece)
    return f"{session.names.of(found.thing)}[{found.start}:{found.stop}]" if found else None


def bytes_at(session: Session, node: str, piece: Piece) -> Subject | None:
    """Bytes as what one asks about: of the newest region that has them; None where none has."""
    start, length = piece
    for number, mr in reversed(session.world.nodes[node].mrs.items.items()):
        if mr.addr <= start and start + length <= mr.addr + mr.length:
            first = start - mr.addr
            thing = Thing(Noun.MR, node, number)
            return Subject(Sort.BYTES, thing, start=first, stop=first + length)
    return None
