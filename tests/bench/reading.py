"""Reading long commands: seconds for one entry of a list, and for one line in braces."""

import time
from collections.abc import Callable

from rdmalab.grammar.line import commands_of, parse
from rdmalab.vocabulary import VOCABULARY

FEW, MANY = 50, 50_000


def entries(count: int) -> float:
    """A work request with so many entries in its sg_list, so often that FEW are MANY in all."""
    line = "post_send A.qp0 opcode=SEND sg=" + ",".join(["A.mr0[0:64]"] * count)
    return _each(count, lambda: parse(line, VOCABULARY))


def lines(count: int) -> float:
    """A record of so many lines, as it is pasted."""
    text = "post_send A.qp0 wr={opcode=SEND\n" + "sg={addr=0x1000 length=64}\n" * count + "}"
    return _each(count, lambda: commands_of(text))


def _each(count: int, reading: Callable[[], object]) -> float:
    times = MANY // count
    start = time.process_time()
    for _ in range(times):
        reading()
    return (time.process_time() - start) / (count * times)


def few_entries() -> float:
    return entries(FEW)


def many_entries() -> float:
    return entries(MANY)


def few_lines() -> float:
    return lines(FEW)


def many_lines() -> float:
    return lines(MANY)
