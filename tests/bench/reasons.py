"""What asking why costs behind a hundred thousand and a million events, in forward events.

One pair waits for a receive that never comes, the other was refused its key and flushed the rest;
of the questions that a person then asks the dearest counts. Cures are tried as part of the answer.
In a session of its own two threads poll for ever, and an event is one of their polls.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rdmalab.doctor.consultation import consult
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from tests.bench.history import EVENTS, Long
from tests.bench.loads import settle

MANY = 1_000_000
RATIOS: dict[str, tuple[float, str]] = {
    "why_100k": (18_000, "at most"),
    "why_1m": (35_000, "at most"),
    "why_polling_1m": (35_000, "at most"),
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


_THREADS = [f'program {n}.x lines={{poll {n}.cq0; write {n}.mr0[0:1] "\\x01"}}' for n in "AB"]
_POLLING = dict.fromkeys(("", "A.x", "B.x", "A.cq0"), "nothing-outstanding")


def _dearest(session: Session, roots: dict[str, str]) -> float:
    """CPU seconds of the dearest answer to questions, each with the root that it is to name."""
    took = []
    for text, root in roots.items():
        question = parse_expression(text, "A").node if text else None
        start = time.process_time()
        report = consult(session, question)
        took.append(time.process_time() - start)
        found = [cause.check.slug for cause in report.causes]
        assert not root or root in found, (text, found)
    return max(took)


def after_trouble(events: int) -> float:
    """The dearest answer behind so many events, in units of a forward event."""
    long = Long(2)
    event = long.until(events)
    for line in _TROUBLE:
        for reply in replies(long.session, line):
            if reply.travel is not None:
                reply.travel.finish()
    return _dearest(long.session, _ROOTS) / event


def polling(events: int) -> float:
    """The dearest answer about threads that poll for ever, in events of theirs."""
    settle()
    lab = Lab()
    for line in ("use rc_pair", *_THREADS):
        lab.do(line)
    lab.session.max_events = events
    start = time.process_time()
    lab.do("run")
    event = (time.process_time() - start) / events
    return _dearest(lab.session, _POLLING) / event


_LOADS = {
    "why_100k": (after_trouble, EVENTS),
    "why_1m": (after_trouble, MANY),
    "why_polling_1m": (polling, MANY),
}


def measure() -> dict[str, float]:
    """All keys of this file."""
    fresh = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        found = {key: processes.submit(load, n) for key, (load, n) in _LOADS.items()}
        return {key: round(each.result(), 2) for key, each in found.items()}
