"""A connected pair with regions that windows can be bound onto, and short words for them."""

from rdmalab.command import Thing
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.objects import MemoryWindow
from rdmalab.lab import Lab
from rdmalab.spec.profiles import STRICT, Profile
from tests.labs import well

RIGHTS = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC|MW_BIND"
BIND = "post_send B.qp0 wr_id=90 opcode=BIND_MW mw=B.mw0 flags=SIGNALED"
BOUND = f"{BIND} bind=B.mr1[64:128] bind_access=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC"


def lab_with(*lines: str, profile: Profile = STRICT, access: str = RIGHTS, kind: int = 2) -> Lab:
    """B has mr1, and the window mw0 in the same domain; each line is carried out to its end."""
    lab = Lab({"A": profile, "B": profile})
    made = (
        "use rc_pair",
        f"reg_mr B.mr1 pd=B.pd0 length=4096 access={access}",
        f"alloc_mw B.mw0 pd=B.pd0 type=TYPE_{kind}",
    )
    for line in (*made, *lines):
        well(lab, line)
        well(lab, "run")
    return lab


def does(lab: Lab, line: str, wr_id: int = 1, cq: str = "A.cq0") -> str:
    """How a work request ends: its status, or the rule that refused it."""
    if (refused := lab.do(line)[-1].refusal) is not None:
        return refused.rule
    well(lab, "run")
    return newest(lab, wr_id, cq)


def newest(lab: Lab, wr_id: int = 1, cq: str = "A.cq0") -> str:
    """The status of the newest completion with this wr_id; empty while there is none."""
    found = lab.session.world.find(thing(lab, cq), CompletionQueue).cqes
    return next((cqe.status.name for cqe in reversed(found) if cqe.wr_id == wr_id), "")


def window(lab: Lab) -> MemoryWindow:
    """B.mw0."""
    return lab.session.world.nodes["B"].mws.items[1]


def thing(lab: Lab, name: str) -> Thing:
    found = lab.session.names.find(name)
    assert found is not None
    return found


def reaches(lab: Lab, where: str, opcode: str = "RDMA_WRITE", sg: str = "A.mr0[0:8]") -> str:
    """How an access of the peer's ends."""
    return does(lab, f"post_send A.qp0 wr_id=1 opcode={opcode} sg={sg} {where} flags=SIGNALED")
