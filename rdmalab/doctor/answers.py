"""Answers of the doctor, as far as faces need to know them before they show one.

The doctor itself is imported when it is first asked: its checks and their table take 50 ms.
"""

from collections.abc import Mapping


class Answer:
    """Base of a Report, what `why` answers, and of a Walk, what `checklist` answers."""

    __slots__ = ()

    def as_json(self) -> Mapping[str, object]:
        """The answer as a document."""
        raise NotImplementedError


LISTS: Mapping[str, tuple[str, ...]] = {
    "no-completion": ("POSTED", "QUEUE", "LOCAL", "PROGRESS", "PEER", "ERROR"),
    "no-receive": ("QUEUE", "LOCAL", "RECEIVE", "PEER", "ERROR"),
    "bring-up": ("LOCAL", "PEER"),
    "slow": ("PROGRESS", "RECEIVE"),
}
"""The FAQs of the documents: the sections of the checklist that each works through, by name."""


def list_for(name: str) -> str:
    """The name of the checklist for a subject; for an empty name, that for what is wrong."""
    return "no-receive" if ".recv_wr[" in name else "no-completion"
