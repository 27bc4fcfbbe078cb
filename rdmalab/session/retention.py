"""What a branch keeps in memory of a long past: fewer snapshots, and both ends of what repeats."""

from dataclasses import replace
from enum import Enum
from typing import Any

from rdmalab.session.branch import Snapshot
from rdmalab.spec.records import Kind, kind_of
from rdmalab.world.trace import Numbered

ENDS = 8
"""So many of the first and of the last records of one sort are kept between two snapshots."""

_NONE: frozenset[Kind] = frozenset()


def thin_out(kept: list[Snapshot], recent: int, old: int) -> list[Snapshot]:
    """The snapshots without one of the older ones, if there are more than recent + old.

    The one goes whose neighbours are the closest, so the older ones stand about evenly far apart.
    The first and the `recent` newest ones stay.
    """
    if len(kept) <= recent + old:
        return kept
    events = [snapshot.place.event for snapshot in kept[: len(kept) - recent + 1]]
    gaps = [after - before for before, after in zip(events, events[2:], strict=False)]
    if not gaps:
        return kept
    index = gaps.index(min(gaps)) + 1
    gone, stays = kept[index], kept[index + 1]
    rare, left_out = both_ends(gone.rare + stays.rare)
    left_out |= gone.left_out | stays.left_out
    return [*kept[:index], replace(stays, rare=rare, left_out=left_out), *kept[index + 2 :]]


def both_ends(found: list[Numbered]) -> tuple[list[Numbered], frozenset[Kind]]:
    """Of records that say the same of the same thing the first and the last ones, in their order.

    Also the kinds of which some were left out.
    """
    if len(found) <= 2 * ENDS:
        return found, _NONE
    sorts: dict[Any, list[Numbered]] = {}
    for each in found:
        sorts.setdefault(_sort(each), []).append(each)
    many = [each for each in sorts.values() if len(each) > 2 * ENDS]
    if not many:
        return found, _NONE
    few = (each for each in sorts.values() if len(each) <= 2 * ENDS)
    kept = [*few, *(each[:ENDS] + each[-ENDS:] for each in many)]
    left_out = frozenset(kind_of(each[0].record) for each in many)
    return sorted((each for sort in kept for each in sort), key=lambda each: each.number), left_out


def _sort(each: Numbered) -> tuple[Any, ...]:
    """Kind, thing, and the words in `a` and `b`: a reason, a state, a verb; numbers differ."""
    _, _, _, kind, node, number, a, b = each.record
    return kind, node, number, _word(a), _word(b)


def _word(value: Any) -> Any:
    return value if isinstance(value, str | Enum) else None
