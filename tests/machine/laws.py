"""What holds in every world at every moment, read off its state and its trace."""

from collections import Counter
from collections.abc import Iterable, Iterator

from rdmalab.hca.device import Hca
from rdmalab.hca.memory import PAGE
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import Cqe
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.world import World

Page = tuple[str, int]


class Laws:
    """The laws, and what they remember of the past: completions seen, bytes as they were."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.read = 0
        self.completed: Counter[tuple[str, int, int]] = Counter()
        self.owed: set[tuple[str, int, int]] = set()
        self.wire_lines: Counter[tuple[str, int, bool, int]] = Counter()
        self.pages = self._pages()

    def check(self) -> None:
        """After a command, and after a stretch of time."""
        records = self.world.trace.records[self.read :]
        self.read = len(self.world.trace.records)
        self._completions(records)
        self._memory(records)
        for hca in self.world.nodes.values():
            for qp in hca.qps.items.values():
                _slots(qp)
                _credits(qp)
            for cq in hca.cqs.items.values():
                assert len(cq.cqes) <= cq.capacity
                assert cq.reading <= len(cq.cqes)
            for srq in hca.srqs.items.values():
                assert 0 <= len(srq.wqes) <= srq.posted - srq.freed <= srq.capacity

    # ------------------------------------------------------------------ completions
    def _completions(self, records: Iterable[Record]) -> None:
        """Each work request completes once; an error, or a signaled one, is told once."""
        for _, _, _, kind, node, number, a, b in records:
            if kind is Kind.WQE_COMPLETED:
                key = node, number, a.serial
                self.completed[key] += 1
                assert self.completed[key] == 1, f"{key} completed twice"
                if a.signaled or b is not WCStatus.SUCCESS:
                    self.owed.add(key)
            elif kind in (Kind.CQE_ADDED, Kind.CQ_OVERRUN):
                self._tell(node, a)
        sends = {(node, qpn, serial) for node, qpn, is_send, serial in self.wire_lines if is_send}
        assert sends == self.owed, "a completion was lost, or nobody asked for it"

    def _tell(self, node: str, cqe: Cqe) -> None:
        key = node, cqe.qp_num, cqe.is_send, cqe.serial
        self.wire_lines[key] += 1
        assert self.wire_lines[key] == 1, f"{key} was told twice"

    # ------------------------------------------------------------------ memory
    def _pages(self) -> dict[Page, bytes]:
        return {
            (node, number): bytes(page)
            for node, hca in self.world.nodes.items()
            for number, page in hca.memory.pages.items()
        }

    def _memory(self, records: Iterable[Record]) -> None:
        """Every byte that changed was written by somebody who had the right to."""
        written: dict[str, list[range]] = {node: [] for node in self.world.nodes}
        for _, _, _, kind, node, number, a, b in records:
            if kind is Kind.MEMORY_WRITTEN:
                assert _may_write(self.world.nodes[node], a, b), f"QP {number} wrote {b} at {a:#x}"
            if kind in (Kind.MEMORY_WRITTEN, Kind.HOST_WROTE):
                written[node].append(range(a, a + b))
        before, self.pages = self.pages, self._pages()
        for (node, number), octets in self.pages.items():
            was = before.get((node, number), bytes(PAGE))
            if was != octets:
                for at in _differing(was, octets):
                    addr = number * PAGE + at
                    assert any(addr in span for span in written[node]), f"{node} {addr:#x} changed"


def _differing(was: bytes, now: bytes) -> Iterator[int]:
    return (at for at, (old, new) in enumerate(zip(was, now, strict=True)) if old != new)


def _may_write(hca: Hca, addr: int, length: int) -> bool:
    """Some region of this host that may be written holds all of it.

    No command comes between a write and this question but those that take a region away.
    """
    regions = list(hca.mrs.items.values())
    return any(
        mr.addr <= addr and addr + length <= mr.addr + mr.length and mr.access & 0x1
        for mr in regions
    )


# --------------------------------------------------------------------------- queues
def _slots(qp: QueuePair) -> None:
    sq, rq = qp.sq, qp.rq
    assert 0 <= sq.posted - sq.freed <= sq.capacity
    assert set(sq.wqes) == set(range(sq.freed, sq.posted))
    assert sq.freed <= qp.comp.serial <= sq.posted
    assert qp.comp.serial <= max(qp.req.started, qp.comp.serial) <= sq.posted
    assert 0 <= rq.posted - rq.freed <= rq.capacity
    assert len(rq.wqes) <= rq.posted - rq.freed


def _credits(qp: QueuePair) -> None:
    """READs and atomics under way: never more than allowed, never fewer than none."""
    under_way = qp.req.reads - qp.comp.reads
    assert under_way >= 0
    if qp.req.started > qp.comp.serial:
        assert under_way <= qp.req.started - qp.comp.serial
