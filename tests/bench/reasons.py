"""What asking why costs behind a hundred thousand and a million events, in forward events.

One pair waits for a receive that never comes, the other was refused its key and flushed the rest;
of the questions that a person then asks the dearest counts. Cures are tried as part of the answer.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rdmalab.doctor.consultation import consult
from rdmalab.doctor.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.session.lines import replies
from tests.bench.history import EVENTS, Long

MANY = 1_000_000
RATIOS: dict[str, tuple[float, str]] = {
    "why_100k": (20_000, "at most"),
    "why_1m": (60_000, "at most"),
}

_TROUBLE = (
    "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",  # B has no receive
    "run 20ms",
    "post_send A.qp1 wr_id=8 opcode=RDMA_WRITE sg=A.mr1[0:64] rkey=0xdead flags=SIGNALED",
    "post_send A.qp1 wr_id=9 opcode=RDMA_WRITE sg=A.mr1[0:64] remote=B.mr1[0] flags=SIGNALED",
    "post_recv B.qp1 wr_id=10 sg=B.mr1[0:64]",
    "run 20ms",
    "modify_qp A.qp1 state=RTS",  # refused
)
_ROOTS = {
    "": "rem-access",
    "A.qp0.wr[7]": "rnr-infinite",
    "A.qp1.wr[8]": "rem-access",
    "A.qp1.wr[9]": "rem-access",
    "B.qp1.recv_wr[10]": "rem-access",
    "A.qp1": "rem-access",
    "A.cq0": "rnr-infinite",
    "EINVAL": "",
}


def _ask(long: Long, text: str) -> Report:
    question = parse_expression(text, "A").node if text else None
    return consult(long.session, question)


def dearest(events: int) -> float:
    """CPU seconds of the dearest answer behind so many events, in units of a forward event."""
    long = Long(2)
    event = long.until(events)
    for line in _TROUBLE:
        for reply in replies(long.session, line):
            if reply.travel is not None:
                reply.travel.finish()
    took = []
    for text, root in _ROOTS.items():
        start = time.process_time()
        report = _ask(long, text)
        took.append((time.process_time() - start) / event)
        found = [cause.check.slug for cause in report.causes]
        assert not root or root in found, (text, found)
    return max(took)


def measure() -> dict[str, float]:
    """All keys of this file."""
    fresh = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        counts = {"why_100k": EVENTS, "why_1m": MANY}
        return {key: round(processes.submit(dearest, n).result(), 2) for key, n in counts.items()}
