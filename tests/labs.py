"""A lab to test with: lines carried out, what the world is, and the journal played again."""

from typing import Any

from rdmalab.command import Invocation, NotUnderstood, Refused
from rdmalab.hca.cq import CompletionQueue
from rdmalab.lab import Lab
from rdmalab.session.lines import Reply
from rdmalab.session.run_control import RunControl
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.records import Kind
from rdmalab.wire.packet import Packet
from rdmalab.world.world import World
from tests.digest import digest
from tests.pairs import image

SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]"
BUSY = (
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:2048]",
    "fault drop A->B nth=2",
    "fault drop B->A opcode=RDMA_READ_RESPONSE_LAST nth=1",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:2000] flags=SIGNALED",
    "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[2048:3000] remote=B.mr0[9] flags=SIGNALED",
    "post_send B.qp0 wr_id=3 opcode=RDMA_WRITE sg=B.mr0[0:700] remote=A.mr0 flags=SIGNALED",
)
"""A pair that loses two packets, one told by a NAK and one by a timer, and requests both ways."""


ECN_CAPABLE = (
    "modify_qp A.qp0 state=SQD",
    "modify_qp A.qp0 state=SQD is_global=1 dgid=10.0.0.2 sgid_index=1 hop_limit=64 port_num=1"
    " traffic_class=2",
    "modify_qp A.qp0 state=RTS",
)
"""What lets the packets of A.qp0 be marked on their way."""


def lab_of(*lines: str, pair: str = "use rc_pair") -> Lab:
    """A connected pair, and these lines carried out, all of them well."""
    lab = Lab()
    for line in (pair, *lines):
        well(lab, line)
    return lab


def well(lab: Lab, line: str) -> Reply:
    """The last reply to a line that goes well."""
    replies = lab.do(line)
    for reply in replies:
        assert not reply.failed, (line, reply.error or reply.refusal)
    return replies[-1]


def misread(lab: Lab, line: str) -> NotUnderstood:
    """The mistake in a line that means nothing."""
    error = lab.do(line)[-1].error
    assert error is not None, line
    return error


def refusal(lab: Lab, line: str) -> Refused:
    """The answer to a line that is refused."""
    refused = lab.do(line)[-1].refusal
    assert refused is not None, line
    return refused


def trip(lab: Lab, line: str) -> RunControl:
    """The journey of a line that moves time."""
    travel = well(lab, line).travel
    assert travel is not None
    return travel


def setting_out(lab: Lab, line: str) -> RunControl:
    """A journey that has not begun yet."""
    reply = next(lab.replies(line))
    assert reply.travel is not None
    return reply.travel


def fingerprint(lab: Lab) -> str:
    return digest(lab.session.world.trace)


def still(world: World) -> Any:
    """All state of a world but for the clock that each adapter was last shown."""
    shown = {node: hca.now_ns for node, hca in world.nodes.items()}
    for hca in world.nodes.values():
        hca.now_ns = 0
    found = image(world)
    for node, hca in world.nodes.items():
        hca.now_ns = shown[node]
    return found


def everything(lab: Lab) -> Any:
    """All state below the prompt as plain data; the trace by its fingerprint."""
    session = lab.session
    names = (session.names.thing_of, session.names.name_of, session.names.retired)
    asked = [(entry.event, entry.at_ns, entry.invocation) for entry in session.journal]
    place = (session.world.event, session.world.now_ns, session.default_node)
    return still(session.world), repr(names), asked, place, fingerprint(lab)


def played_again(lab: Lab, into: Lab | None = None) -> Lab:
    """The journal on a fresh session, virtual time advanced to each entry's place in between."""
    twin = into or Lab(dict.fromkeys(lab.session.world.nodes, STRICT))
    session, world = twin.session, twin.session.world
    for entry in lab.session.journal:
        world.run(entry.event - world.event - 1, entry.at_ns)
        world.advance(entry.at_ns)
        outcome = session.perform(Invocation(entry.invocation.name, entry.invocation.arguments))
        assert (outcome.event, world.now_ns) == (entry.event, entry.at_ns)
    world.run(lab.session.world.event - world.event)
    world.advance(lab.session.world.now_ns)
    return twin


# --------------------------------------------------------------------------- reading the trace
def kinds(lab: Lab, first: int = 0) -> list[Kind]:
    return [record[3] for record in lab.session.world.trace.records[first:]]


def seen(lab: Lab, kind: Kind, node: str = "") -> list[tuple[int, Any, Any]]:
    """(at_ns, a, b) of each record of a kind."""
    records = lab.session.world.trace.records
    return [(r[1], r[6], r[7]) for r in records if r[3] is kind and node in ("", r[4])]


def packets(lab: Lab, kind: Kind, node: str = "") -> list[tuple[int, Packet]]:
    """(at_ns, packet) of each packet record of a kind."""
    return [(at_ns, packet) for at_ns, packet, _ in seen(lab, kind, node)]


def status(lab: Lab, wr_id: int = 1, cq: str = "A.cq0") -> str:
    """The status of the completion with this wr_id; empty while there is none."""
    cqes = lab.session.world.find(_thing(lab, cq), CompletionQueue).cqes
    return next((cqe.status.name for cqe in cqes if cqe.wr_id == wr_id), "")


def _thing(lab: Lab, name: str) -> Any:
    thing = lab.session.names.find(name)
    assert thing is not None
    return thing
