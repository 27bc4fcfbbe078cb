"""Labs in which several queue pairs take receives from one shared receive queue."""

from typing import Any

from rdmalab.lab import Lab
from rdmalab.spec.profiles import STRICT, Profile
from rdmalab.spec.records import Kind
from tests.labs import seen, well

SEND = "post_send {qp} wr_id={wr_id} opcode=SEND sg=A.mr0[0:{length}] flags=SIGNALED"


def shared(
    *lines: str, qps: int = 2, profile: Profile = STRICT, max_wr: int = 8, **options: str
) -> Lab:
    """`B.srq0`, and `A.qp1`..`A.qpN` connected to `B.qp1`..`B.qpN`, which are tied to it."""
    lab = Lab({"A": profile, "B": profile})
    well(lab, "use rc_pair")
    well(lab, f"create_srq B.srq0 pd=B.pd0 max_wr={max_wr} max_sge=2")
    kind = options.get("qp_type", "RC")
    for number in range(1, qps + 1):
        make = f"qp_type={kind} send_cq={{0}}.cq0 recv_cq={{0}}.cq0 pd={{0}}.pd0"
        well(lab, f"create_qp A.qp{number} {make.format('A')}")
        well(lab, f"create_qp B.qp{number} {make.format('B')} srq=B.srq0")
        well(lab, f"connect A.qp{number} B.qp{number} {options.get('connect', '')}")
    for line in lines:
        well(lab, line)
    return lab


def xrc(*lines: str) -> Lab:
    """`A.qp1` (XRC_SEND) connected to `B.qp1` (XRC_RECV), and in its domain the XRC `B.srq0`."""
    lab = Lab()
    for line in (
        "use rc_pair",
        "open_xrcd B.xrcd0 oflag=O_CREAT",
        "create_cq B.cq1 cqe=16",
        "create_srq_ex B.srq0 pd=B.pd0 srq_type=XRC xrcd=B.xrcd0 cq=B.cq1 max_wr=8",
        "create_qp A.qp1 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0",
        "create_qp B.qp1 qp_type=XRC_RECV xrcd=B.xrcd0",
        "connect A.qp1 B.qp1",
        *lines,
    ):
        well(lab, line)
    return lab


def stock(lab: Lab, *wr_ids: int, length: int = 64, srq: str = "B.srq0") -> None:
    """Receives of `length` bytes, one behind the other."""
    for wr_id in wr_ids:
        well(lab, f"post_srq_recv {srq} wr_id={wr_id} sg=B.mr0[0:{length}]")


def send(lab: Lab, qp: str, wr_id: int = 1, length: int = 32, more: str = "") -> None:
    """A SEND, and all that comes of it."""
    well(lab, f"{SEND.format(qp=qp, wr_id=wr_id, length=length)} {more}")
    well(lab, "run")


def takers(lab: Lab) -> list[tuple[str, int]]:
    """Who took which receive, in order."""
    records = lab.session.world.trace.records
    return [(f"{r[4]}.{r[5]:#x}", r[6].wr.wr_id) for r in records if r[3] is Kind.RECV_TAKEN]


def raised(lab: Lab) -> list[str]:
    """The asynchronous events, by name."""
    return [a.name for _, a, _ in seen(lab, Kind.ASYNC_RAISED)]


def ask(lab: Lab, path: str) -> Any:
    """One field, as `expect` asks it."""
    return lab.look(path)
