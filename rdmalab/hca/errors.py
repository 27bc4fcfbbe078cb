"""Immediate refusals of a verb: a rule of `spec/rules.py`, with the errno of the profile."""

from collections.abc import Iterable
from enum import IntEnum

from rdmalab.command import Refused
from rdmalab.hca.adapter import Adapter
from rdmalab.spec.profiles import Profile
from rdmalab.spec.rules import RULES, errno_name


def check_useful(hca: Adapter) -> None:
    """Refuse calls that a closed or failed device does not support."""
    if hca.unavailable_rule:
        first = f"close_device {hca.node}, then " if hca.unavailable_rule == "device-fatal" else ""
        raise refused(hca.profile, hca.unavailable_rule, legal=f"{first}open_device {hca.node}")


def check_postable(hca: Adapter) -> None:
    """Refuse posts that a closed or failed device does not take."""
    if hca.unavailable_rule == "device-fatal" and hca.profile.posts_after_fatal:
        return
    check_useful(hca)


def errno_text(refusal: Refused) -> str:
    """`ENOMEM: …`."""
    return f"{errno_name(refusal.errno)}: {refusal.message}"


def refused(
    profile: Profile, rule: str, *details: object, argument: str = "", legal: str = ""
) -> Refused:
    """The exception to raise; `details` fill the rule's sentence."""
    row = RULES[rule]
    errno = profile.errnos.get(rule, row.errno)
    return Refused(errno, rule, row.filled(*details), argument, legal)


def one_of(key: str, values: Iterable[IntEnum]) -> str:
    """`key=RC, UC or UD`: each value as it is typed."""
    *first, last = [value.name for value in values]
    return f"{key}={' or '.join(filter(None, (', '.join(first), last)))}"


def say_queue_too_small(refusal: Refused, count: int, capacity: int) -> None:
    """More work requests in one call than the queue has slots: polling does not help."""
    if refusal.rule == "queue-full" and count > capacity:
        refusal.permanent = True
        stay, rest = refusal.bad_wr, count - (refusal.bad_wr or 0)
        what = f"{stay} stay posted, post the other {rest} when slots are free"
        what = what if stay else "post fewer at once"
        fits = f"{count} work requests never fit into {capacity} slots: {what}"
        never = "a queue that create_qp gave slots, by max_send_wr and max_recv_wr"
        refusal.legal = fits if capacity else never
