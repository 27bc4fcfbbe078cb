"""Drawings of the wire that are kept as text: `python -m tests.export.ladder_stories` makes them.

Look at what has changed before it is committed: the drawings are the expectation.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.export.ladder_columns import LadderRow, Room
from rdmalab.export.ladder_text import TextLadder
from rdmalab.lab import Lab
from rdmalab.views import fmt, ladder, planned
from tests.labs import well

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent / "ladders"

SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:4096]"
BAD_RKEY = "post_send A.qp0 opcode=RDMA_WRITE wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"
WRITE = "post_send A.qp0 opcode=RDMA_WRITE wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8] flags=SIGNALED"
LONG = "post_send A.qp{0} opcode=RDMA_WRITE wr_id=8 sg=A.mr{0}[8:1600] remote=B.mr{0}[8]"
DATAGRAM = (
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah{} remote_qpn={} remote_qkey={}"
)

STORIES: dict[str, tuple[str, ...]] = {
    "send-and-ack": ("use rc_pair", RECV, SEND, "run"),
    "wrong-rkey": ("use rc_pair", BAD_RKEY, WRITE, "run"),
    "lost-and-resent": ("use rc_pair", "fault drop A->B nth=1", WRITE, "run"),
    "rnr-wait": ("use rc_pair", SEND, "until A.qp0.rnr_timer.armed", RECV, "run"),
    "read": (
        "use rc_pair",
        "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[0:1500] remote=B.mr0[9] flags=SIGNALED",
        "run",
    ),
    "datagram-dropped": ("use ud_pair", DATAGRAM.format(0, "B.qp0", 5), "run"),
    "two-queue-pairs": ("use rc_pair", "use rc_pair", LONG.format(0), LONG.format(1), "run"),
    "in-flight": ("use rc_pair", LONG.format(0), "until now >= 600"),
    "nak-and-go-back": (
        "use rc_pair path_mtu=1024", RECV, "fault drop A->B nth=2",
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:4096] flags=SIGNALED", "step 9",
    ),
    "many-in-flight": (
        "use rc_pair path_mtu=256", "reg_mr A.big pd=A.pd0 length=12000 access=LOCAL_WRITE",
        "reg_mr B.big pd=B.pd0 length=12000 access=LOCAL_WRITE|REMOTE_WRITE",
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.big[0:12000] remote=B.big[0]", "run",
    ),
    "held-back": (
        "use rc_pair", "fault reorder A->B nth=2", LONG.format(0), "until now >= 600",
    ),
    "retries-exceeded": ("use rc_pair retry_cnt=1", "fault drop A->B", WRITE, "run"),
    "to-itself": (
        "use ud_pair", "create_ah A.ah1 pd=A.pd0 to=A", DATAGRAM.format(1, "A.qp0", 0x11111111),
        "run",
    ),
    "three-nodes": (
        "use ud_pair", "create_ah A.ah1 pd=A.pd0 to=C", DATAGRAM.format(0, "B.qp0", 0x11111111),
        DATAGRAM.format(1, "B.qp0", 5), "run",
    ),
}  # fmt: skip


class Sort(NamedTuple):
    """How a story is drawn."""

    width: int
    tall: int
    ascii_only: bool = False
    to_scale: bool = False

    @property
    def title(self) -> str:
        """`78 columns, 1 row a packet, to scale`."""
        extra = ", ASCII" * self.ascii_only + ", to scale" * self.to_scale
        return f"{self.width} columns, {fmt.count(self.tall, 'row')} a packet{extra}"


SORTS = (Sort(78, 1), Sort(70, 2), Sort(90, 3), Sort(50, 1, True), Sort(90, 2, to_scale=True))


def played(name: str) -> Lab:
    """The session of a story."""
    lab = Lab(dict.fromkeys("ABC" if name == "three-nodes" else "AB", "strict"))
    for line in STORIES[name]:
        well(lab, line)
    return lab


def rows_of(lab: Lab) -> list[LadderRow]:
    """All packets and timers, and what is planned."""
    world, names = lab.session.world, lab.session.names
    past = ladder.rows(world, names, last=None)
    seen = {row.number for row in past}
    return [*past, *(row for row in planned.planned_rows(world, names) if row.number not in seen)]


def ladder_of(lab: Lab, sort: Sort) -> TextLadder:
    """The drawing of a session."""
    world = lab.session.world
    now = (world.event, world.now_ns)
    room = Room(sort.width, sort.tall, list(world.nodes), now, sort.ascii_only)
    return TextLadder(rows_of(lab), room, to_scale=sort.to_scale)


def drawn(found: TextLadder) -> Iterator[str]:
    """The header and all rows, as text."""
    for pieces in [found.pen.header(), *map(found.line, range(found.height))]:
        yield "".join(piece.text for piece in pieces).rstrip()


def page(name: str) -> str:
    """A story in all sorts."""
    lab = played(name)
    blocks = [*STORIES[name], ""]
    for sort in SORTS:
        blocks += [f"# {sort.title}", *drawn(ladder_of(lab, sort)), ""]
    return "\n".join(blocks)


if __name__ == "__main__":
    for each in STORIES:
        (FOLDER / f"{each}.txt").write_text(page(each))
