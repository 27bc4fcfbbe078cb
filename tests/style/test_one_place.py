"""Facts that one module holds: no other writes them down again."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab.spec.opcodes import FETCHING_OPS, OPCODES, WORD_OPS

PACKAGE = Path(__file__).parents[2] / "rdmalab"
SPEC = PACKAGE / "spec"
RELATIONS = PACKAGE / "world" / "relations.py"
WORLD = PACKAGE / "world" / "world.py"
NETWORK = PACKAGE / "world" / "network.py"

# What must not be written, and where it may be.
ONCE = {
    "a set of atomics: spec.opcodes has WORD_OPS and FETCHING_OPS": (
        r"(COMPARE_SWAP|ATOMIC_CMP_AND_SWP)\W+(\w+\.)?(FETCH_ADD|ATOMIC_FETCH_AND_ADD)\b",
        (SPEC, PACKAGE / "compat", PACKAGE / "scenario" / "share_text.py"),
    ),
    "the states of the way up: spec.states has BRING_UP": (
        r"\bRESET,\s+(\w+\.)?INIT,\s+(\w+\.)?RTR\b",
        (SPEC,),
    ),
    "bytes of an atomic: spec.opcodes has ATOMIC_BYTES": (
        r"(?m)^_?(ATOMIC_BYTES|WORD) = 8\b",
        (SPEC,),
    ),
    "endless retries: spec.timers has INFINITE_RETRIES": (
        r"(rnr_retry|retry_cnt) [=!]= 7\b|(?m:^_?(INFINITE|FOR_EVER|NEVER)\w* = 7\b)",
        (SPEC,),
    ),
    "the slots in use: queues have `used`": (
        r"\.posted( \+ [\w.]+)? - [\w.]+\.freed\b",
        (PACKAGE / "hca" / "qp.py", PACKAGE / "hca" / "srq.py"),
    ),
    "the node of an address: world.relations has node_at": (
        r"\bnode_of_(gid|lid)\b",
        (RELATIONS, WORLD, NETWORK),
    ),
    "the peer of a queue pair: world.relations has peer_thing": (
        r"\btarget_of\([\w.]*path\.flow\)",
        (RELATIONS,),
    ),
    "the prefix of an enum in C: spec.c_names has it": (
        r"\"(IBV_(QPS|QPT|ACCESS|MIG|SRQT|QP_EX_WITH|WC_EX_WITH)_|RDMA_CM_EVENT_)\"",
        (SPEC,),
    ),
    "the bytes of an MTU code: MTU has in_bytes": (r"octets if \w+ in tuple\(\w+\)", (SPEC,)),
    "what a move of modify_qp takes in words: guide.states has move_words": (
        r"may set \{takes\}",
        (PACKAGE / "guide" / "states.py",),
    ),
    "the first free name: session.names has first_free": (
        r"next\([^\n]*is_free\(",
        (PACKAGE / "session" / "names.py",),
    ),
    "the name of a work request: views.fmt has wr": (
        r"f\"[^\"\n]*\bwr\{[\w.]*wr_id\}",
        (PACKAGE / "views" / "fmt.py",),
    ),
    "an ordinal: views.fmt has nth": (r"\}th\b", (PACKAGE / "views" / "fmt.py",)),
    "the commands of a line: grammar.syntax has command_texts": (
        r"line\.split\(\";\"\)",
        (PACKAGE / "grammar",),
    ),
    "the name of an errno: spec.rules has errno_name": (
        r"\berrorcode\b",
        (SPEC, PACKAGE / "compat"),
    ),
}


def copies(pattern: str, allowed: tuple[Path, ...]) -> Iterator[str]:
    """`hca/mr.py:12` for each place where it is written and should be asked for."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if not any(path.is_relative_to(place) for place in allowed):
            text = path.read_text("utf-8")
            for found in re.finditer(pattern, text):
                yield f"{path.relative_to(PACKAGE)}:{text.count(chr(10), 0, found.start()) + 1}"


@pytest.mark.parametrize("fact", ONCE)
def test_a_fact_stands_in_one_place(fact: str) -> None:
    pattern, allowed = ONCE[fact]
    assert not list(copies(pattern, allowed)), f"ask the one place: {fact}"


@pytest.mark.parametrize("fact", ONCE)
def test_the_pattern_finds_the_place_itself(fact: str) -> None:
    """A pattern that finds nothing anywhere would guard nothing."""
    pattern, allowed = ONCE[fact]
    samples = "\n".join(path.read_text("utf-8") for place in allowed for path in _files(place))
    assert re.search(pattern, samples) or re.search(pattern, _COPIES)


_COPIES = """
_ATOMICS = (Op.COMPARE_SWAP, Op.FETCH_ADD)
_UP = (QPState.RESET, QPState.INIT, QPState.RTR, QPState.RTS)
_NEVER = 7
name = f"wr{wqe.wr.wr_id}"
time = f"{polls}th"
parts = line.split(";")
"""


def _files(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def test_a_packet_with_the_header_of_atomics_is_one() -> None:
    """So that its address is checked, and a duplicate of it is not executed again."""
    carried = {row.op for row in OPCODES.values() if "atomiceth" in row.headers}
    assert carried == set(FETCHING_OPS) <= set(WORD_OPS)
