"""How an adapter says no at once: a rule of the book, with the errno of its profile."""

from typing import Any

from rdmalab.command import Refused
from rdmalab.spec.profiles import Profile
from rdmalab.spec.rules import RULES


def refused(
    profile: Profile, rule: str, *details: Any, argument: str = "", legal: str = ""
) -> Refused:
    """The exception to raise; `details` fill the rule's sentence."""
    row = RULES[rule]
    errno = profile.errnos.get(rule, row.errno)
    return Refused(errno, rule, row.sentence.format(*details), argument, legal)
