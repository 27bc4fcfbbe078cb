"""Thin out a long past: fewer snapshots, and only the ends of repeated records."""

from dataclasses import replace
from enum import Enum

from rdmalab.session.branch import Snapshot
from rdmalab.spec.records import Kind, kind_of
from rdmalab.world.trace import Numbered

ENDS = 8
"""How many of the first and of the last records of one sort are kept between two snapshots."""

_NONE: frozenset[Kind] = frozenset()


def thin_out(kept: list[Snapshot], recent: int, old: int) -> list[Snapshot]:
    """The snapshots without one of the older ones, if there are more than recent + old.

    The one with the closest neighbours is removed, so the older ones stay evenly spaced.
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
    """The first and the last of equal records about one object, in their order.

    Also the kinds of which some were left out.
    """
    if len(found) <= 2 * ENDS:
        return found, _NONE
    sorts: dict[object, list[Numbered]] = {}
    for each in found:
        sorts.setdefault(_sort(each), []).append(each)
    many = [each for each in sorts.values() if len(each) > 2 * ENDS]
    if not many:
        return found, _NONE
    few = (each for each in sorts.values() if len(each) <= 2 * ENDS)
    kept = [*few, *(each[:ENDS] + each[-ENDS:] for each in many)]
    left_out = frozenset(kind_of(each[0].record) for each in many)
    return sorted((each for sort in kept for each in sort), key=lambda each: each.number), left_out


def _sort(each: Numbered) -> tuple[object, ...]:
    """The key of equal records: kind, object, and the words (not numbers) in `a` and `b`."""
    _, _, _, kind, node, number, a, b = each.record
    return kind, node, number, _word(a), _word(b)


def _word(value: object) -> object:
    return value if isinstance(value, str | Enum) else None
