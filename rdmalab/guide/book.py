"""The whole guide, to be printed: chapters in the order of learning."""

from collections.abc import Iterator, Mapping
from textwrap import wrap

from rdmalab.command import Command
from rdmalab.guide.entry import Entry
from rdmalab.guide.explain import entries, written
from rdmalab.guide.usual import kind_of

# Kinds of entries by chapter; what has no chapter stands in the last one.
CHAPTERS: dict[str, tuple[str, ...]] = {
    "Terms": ("word",),
    "Commands": ("command",),
    "Fields of verbs": (
        "field of a verb", "struct of libibverbs", "enum of libibverbs", "field of an answer",
    ),
    "Queue pairs: states and types": ("QP state", "QP type"),
    "Queue pairs: the moves of modify_qp": ("moves", "move"),
    "Queue pairs: attributes": (
        "QP attribute", "path MTU", "migration state", "timer code", "RNR timer code",
    ),
    "Work requests": (
        "send opcode", "send flag", "right", "flush_type of FLUSH", "flush_level of FLUSH",
        "type of memory window", "flag of rereg_mr", "builder flag", "creation mask",
    ),
    "Completions": (
        "completion status", "completion opcode", "completion flag", "wc_flags flag", "arming",
    ),
    "Asynchronous events": ("async event", "event kind", "mishap"),
    "Connections of rdma_cm": ("event of rdma_cm", "reject reason"),
    "Errnos and rules": ("errno", "rule"),
    "On the wire": ("wire opcode", "header", "AETH syndrome", "service", "operation", "place"),
    "Refusals and drops": ("refusal", "drop"),
    "Devices": (
        "device profile", "profile cell", "device limit", "device capability", "atomic capability",
        "port state", "phys state", "link layer",
    ),
    "Records of the log": ("record",),
}  # fmt: skip
OTHERS = "Everything else"
WIDEST = 100


def chapters(vocabulary: Mapping[str, Command]) -> dict[str, list[Entry]]:
    """Each chapter with its entries, every entry once; no chapter is empty."""
    of_kind = {kind: chapter for chapter, kinds in CHAPTERS.items() for kind in kinds}
    found: dict[str, list[Entry]] = {chapter: [] for chapter in (*CHAPTERS, OTHERS)}
    for entry in entries(vocabulary):
        found[of_kind.get(kind_of(entry), OTHERS)].append(entry)
    return {chapter: members for chapter, members in found.items() if members}


def lines(vocabulary: Mapping[str, Command], width: int = WIDEST) -> Iterator[str]:
    """Title, contents, and all articles."""
    book = chapters(vocabulary)
    yield "The guide of rdmalab: all articles of explain"
    yield ""
    for number, (chapter, members) in enumerate(book.items(), 1):
        yield from _contents(number, chapter, members, width)
    for number, (chapter, members) in enumerate(book.items(), 1):
        title = f"{number}  {chapter}"
        yield from ("", "", title, "=" * len(title))
        for entry in members:
            yield ""
            yield from written(entry).lines(width)


def _contents(number: int, chapter: str, members: list[Entry], width: int) -> list[str]:
    """The chapter, and below it what it explains."""
    names = " · ".join(entry.name for entry in members)
    inset = " " * 5
    listed = wrap(names, width, initial_indent=inset, subsequent_indent=inset,
                  break_on_hyphens=False)  # fmt: skip
    return [f"{number:>3}  {chapter}", *listed]
