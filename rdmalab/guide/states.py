"""Queue pair states, the moves between them, and the QP types, as the state table has them."""

from collections.abc import Iterable, Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import About, Entry, Sort, of_member
from rdmalab.guide.phrases import attribute_names, errno_of, type_names
from rdmalab.guide.sentences import note
from rdmalab.spec.c_names import full_name
from rdmalab.spec.states import (
    AUTOMATIC,
    BRING_UP_MOVES,
    MOVES,
    STATES,
    Attr,
    Automatic,
    Move,
    QPState,
    QPType,
    after_send_error,
    legal_next,
)
from rdmalab.spec.work import WORK

_BARE = Move(Attr(0), Attr(0))
_ALONE = "with the state alone"
_MAN = "ibv_modify_qp(3)"


def entries() -> Iterator[Entry]:
    """States, moves into a state, moves between two, types."""
    for state in QPState:
        name = f"state {state.name}"
        yield of_member("QP state", state, state_article, name, sort=Sort.STATE)
        into = partial(into_article, state)
        yield Entry(f"modify_qp {state.name}", "moves", (f"modify_qp state={state.name}",), into)
    for now in QPState:
        for to in QPState:
            name = f"modify_qp {now.name} {to.name}"
            words = (f"{now.name} {to.name}", f"{now.name} to {to.name}")
            about = About(Sort.MOVE, (now, to))
            yield Entry(name, "move", words, partial(move_article, now, to), about)
    for qp_type in QPType:
        name = f"{qp_type.name} queue pair"
        yield of_member("QP type", qp_type, type_article, name, sort=Sort.TYPE)
        every = partial(moves_article, qp_type)
        yield Entry(f"modify_qp {qp_type.name}", "moves", (f"moves of {qp_type.name}",), every)


def state_article(state: QPState) -> Article:
    """Article about a QP state: what is accepted and processed in it, and the next states."""
    row = STATES[state]
    recv = "accepted" if row.posts_recv else errno_of("recv-state")
    send = "accepted" if row.posts_send else errno_of("send-state")
    flushed = ["sends"] * row.flushes_sends + ["receives"] * row.flushes_recvs
    rows: list[Row] = [
        ("", row.note),
        ("post_recv", recv),
        ("post_send", send),
        ("sends", "the next one is started" if row.starts_sends else "none is started"),
        ("flushes", f"{' and '.join(flushed)} complete with WR_FLUSH_ERR" if flushed else ""),
        ("automatic", _automatic_into(state)),
        ("leads to", list(_next_lines(state))),
    ]
    see = [f"explain modify_qp {state.name}", "explain modify_qp", _MAN]
    return article(state.name, f"QP state, {full_name(state)} = {int(state)}", rows, see)


def _automatic_into(state: QPState) -> list[str]:
    rows = [row for row in AUTOMATIC if row.to is state]
    return [f"{row.mishap.value} ({type_names(row.types)})" for row in rows]


def _next_lines(state: QPState) -> Iterator[str]:
    """Moves of one type with their attributes; those that take none of any type share a line."""
    able = types_in(state)
    one, ways = able[0], {to: groups(state, to, able) for to in legal_next(able[0], state)}
    bare = [to for to, found in ways.items() if list(found) == [_BARE]]
    for to, found in ways.items():
        if to not in bare:
            others = ", others differ" if len(found) > 1 else ""
            yield f"{to.name} ({one.name}{others}): {move_words(MOVES[one, state, to])}"
    if bare:
        yield f"{', '.join(to.name for to in bare)}: {_ALONE}"


def types_in(state: QPState) -> list[QPType]:
    """The types that can be in a state, by a move or after an error; RC first."""
    moved = {qp_type for qp_type, _, to in MOVES if to is state}
    able = moved.union(*(row.types for row in AUTOMATIC if row.to is state))
    return [qp_type for qp_type in QPType if qp_type in able]


def groups(now: QPState, to: QPState, types: Iterable[QPType] = QPType) -> dict[Move, list[QPType]]:
    """Attributes that a move must and may set → the types that require these, RC first."""
    found: dict[Move, list[QPType]] = {}
    for qp_type in types:
        if (move := MOVES.get((qp_type, now, to))) is not None:
            found.setdefault(move, []).append(qp_type)
    return found


def move_words(move: Move) -> str:
    """`needs pkey_index, port_num; may set …`, `with the state alone`."""
    needs, takes = attribute_names(move.required), attribute_names(move.optional)
    parts = [f"needs {needs}"] * bool(needs) + [f"may set {takes}"] * bool(takes)
    return "; ".join(parts) or _ALONE


def into_article(to: QPState) -> Article:
    """The transitions into a state. Those with the same attributes and types share a heading."""
    origins: dict[tuple[str, Move], list[str]] = {}
    for now in QPState:
        for move, types in groups(now, to).items():
            origins.setdefault((type_names(types), move), []).append(now.name)
    together: dict[str, list[str]] = {}
    for (types_named, move), states in origins.items():
        heading = f"{' '.join(states)} → {to.name}"
        together.setdefault(heading, []).append(f"  {types_named}: {move_words(move)}")
    rows: list[Row] = [("", STATES[to].note)]
    rows += [("", [heading, *lines]) for heading, lines in together.items()]
    see = [f"explain {to.name}", "explain modify_qp", _MAN]
    return article(f"modify_qp … state={to.name}", "moves into it", rows, see)


def move_article(now: QPState, to: QPState) -> Article:
    """One transition: what each type must and may set, or that it is not legal."""
    found = groups(now, to)
    rows: list[Row] = [(type_names(types), move_words(move)) for move, types in found.items()]
    if not rows:
        nexts = ", ".join(state.name for state in legal_next(QPType.RC, now))
        rows = [
            ("", f"{now.name} → {to.name} is not a legal transition: {errno_of('transition')}."),
            ("legal", f"from {now.name} to {nexts}"),
        ]
    rows.append(("after it", STATES[to].note))
    see = [f"explain {now.name}", f"explain {to.name}", _MAN]
    return article(f"{now.name} → {to.name}", "move of modify_qp", rows, see)


def overview() -> list[str]:
    """All legal moves of RC, a line a state."""
    return [
        f"{now.name} → {' '.join(to.name for to in legal_next(QPType.RC, now))}" for now in QPState
    ]


def moves_article(qp_type: QPType) -> Article:
    """The whole state machine of a type; moves that take the state alone share a row."""
    moves = {(now, to): move for (kind, now, to), move in MOVES.items() if kind is qp_type}
    rows: list[Row] = [
        (f"{now.name} → {to.name}", move_words(move))
        for (now, to), move in moves.items()
        if move != _BARE
    ]
    for to in QPState:
        origins = [now.name for now in QPState if moves.get((now, to)) == _BARE]
        rows.append((f"… → {to.name}", f"{_ALONE}, from {' '.join(origins)}" if origins else ""))
    own = [row for row in AUTOMATIC if qp_type in row.types]
    rows.append(
        ("automatic", [f"{_origins(row)} → {row.to.name}: {row.mishap.value}" for row in own])
    )
    see = [f"explain {qp_type.name}", "explain modify_qp", _MAN]
    return article(f"modify_qp of {qp_type.name}", "all moves", rows, see)


def _origins(row: Automatic) -> str:
    every = len(row.origins) == len(QPState)
    return "any state" if every else " ".join(state.name for state in row.origins)


def type_article(qp_type: QPType) -> Article:
    """Article about a type of queue pair: its opcodes, bring-up and state after a send error."""
    opcodes = [opcode.name for opcode, row in WORK.items() if qp_type in row.types]
    rows: list[Row] = [
        ("", note(qp_type)),
        ("opcodes", " ".join(opcodes) or "none: it only receives"),
        (
            "bring-up",
            [f"{a.name} → {b.name} {move_words(MOVES[qp_type, a, b])}" for a, b in BRING_UP_MOVES],
        ),
        ("send error", f"moves it to {after_send_error(qp_type).name}"),
    ]
    see = [f"explain modify_qp {qp_type.name}", "ibv_create_qp(3)"]
    return article(qp_type.name, f"QP type, {full_name(qp_type)} = {int(qp_type)}", rows, see)
