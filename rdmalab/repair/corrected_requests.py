"""A work request that was refused, without the mistake that its rule names."""

from dataclasses import replace
from typing import Any

from rdmalab.command import CallArguments, Ref
from rdmalab.spec.work import SendFlags

_TOO_MANY_SGES = ("send-sges", "recv-sges", "srq-sges", "read-sges")
_SURPLUS_FLAGS = {
    "inline-length": SendFlags.INLINE,
    "inline-opcode": SendFlags.INLINE,
    "crash-inline": SendFlags.INLINE,
    "ip-csum": SendFlags.IP_CSUM,
}


def corrected(wr: CallArguments, rule: str) -> CallArguments | None:
    """Request without the mistake; None where only its author can know what was meant."""
    if rule in _TOO_MANY_SGES:
        return _with_fewer_pieces(wr)
    flags, surplus = int(wr.get("flags") or 0), int(_SURPLUS_FLAGS.get(rule, 0))
    return wr | {"flags": flags & ~surplus} if flags & surplus else None


def _with_fewer_pieces(wr: CallArguments) -> CallArguments | None:
    """The work request with consecutive elements merged; None if that changes nothing."""
    pieces: list[Any] = []
    for piece in wr.get("sg") or []:
        joined = _joined(pieces[-1], piece) if pieces else None
        pieces[-1:] = [joined] if joined is not None else [*pieces[-1:], piece]
    fewer = len(pieces) < len(wr.get("sg") or [])
    return wr | {"sg": pieces} if fewer else None


def _joined(one: Any, other: Any) -> Any:
    """One piece for two that touch; None if they do not."""
    if isinstance(one, Ref) and isinstance(other, Ref):
        same = (one.node, one.name) == (other.node, other.name)
        touch = same and one.stop is not None and one.stop == other.start
        return replace(one, stop=other.stop) if touch else None
    if not isinstance(one, dict) or not isinstance(other, dict):
        return None
    touch = one.get("addr", 0) + one.get("length", 0) == other.get("addr", 0)
    if not touch or one.get("lkey") != other.get("lkey"):
        return None
    return one | {"length": one.get("length", 0) + other.get("length", 0)}
