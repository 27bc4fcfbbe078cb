"""A small vocabulary with every kind of argument: shaped like the real one, doing nothing."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from rdmalab.command import (
    PROSE,
    SCRIPTABLE,
    SPOKEN,
    Alias,
    BitRate,
    Bytes,
    Direction,
    Expression,
    FieldGroup,
    Nanoseconds,
    New,
    Noun,
    Ref,
    RefShorthand,
    Spelled,
    Thing,
    Unit,
    command,
)
from rdmalab.spec.access import Access
from rdmalab.spec.states import MTU, Attr, QPState, QPType
from rdmalab.spec.work import SendFlags, WROpcode

NO_FLAGS = SendFlags(0)
NO_ACCESS = Access(0)


def _convert(*_: Any) -> Any:
    raise AssertionError("the grammar never converts")


@dataclass
class SGE:
    addr: int
    length: int = 0
    lkey: int = 0


@dataclass
class SendWR:
    opcode: WROpcode
    wr_id: int = 0
    sg: Annotated[
        list[Annotated[SGE, RefShorthand(Noun.MR, _convert)]] | None, Alias("sg_list")
    ] = field(default_factory=list)
    num_sge: int | None = None
    flags: Annotated[SendFlags, Alias("send_flags")] = NO_FLAGS
    imm_data: int = 0
    remote_addr: int = 0
    rkey: Annotated[int, RefShorthand(Noun.MR, _convert)] = 0
    compare_add: int = 0
    swap: int = 0
    ah: Annotated[Thing, Noun.NODE] | None = None


@dataclass
class RecvWR:
    wr_id: int = 0
    sg: Annotated[list[SGE], RefShorthand(Noun.MR, _convert)] = field(default_factory=list)


@dataclass
class Grh:
    dgid: Annotated[int, Unit.GID] = 0
    hop_limit: int = 64


@dataclass
class AhAttr:
    grh: Grh | None = None
    is_global: int = 1
    port_num: int = 1


@dataclass
class QpAttr:
    qp_state: Annotated[QPState | None, Alias("state")] = None
    path_mtu: Annotated[MTU | None, Spelled({str(m.octets): int(m) for m in MTU})] = None
    qp_access_flags: Access | None = None
    rq_psn: Annotated[int, Unit.PSN] | None = None
    dest_qp_num: Annotated[int, RefShorthand(Noun.QP, _convert)] | None = None
    port_num: int | None = None
    pkey_index: int | None = None
    timeout: int | None = None
    ah_attr: AhAttr | None = None
    alt_ah_attr: AhAttr | None = None


End = Annotated[str, RefShorthand(Noun.NODE, _convert)]
Mr = Annotated[Ref, Noun.MR]
Qp = Annotated[Thing, Noun.QP]
Cq = Annotated[Thing, Noun.CQ]
Pd = Annotated[Thing, Noun.PD]
REMOTE = FieldGroup("remote", Noun.MR, _convert, ("remote_addr", "rkey"))
ADDRESS = FieldGroup("ah", Noun.NODE, _convert, ("ah_attr",))


@command(SCRIPTABLE)
def alloc_pd(world: Any, pd: Annotated[New, Noun.PD]) -> None:
    """Make a PD."""


@command(SCRIPTABLE)
def reg_mr(
    world: Any, mr: Annotated[New, Noun.MR], *, pd: Pd, length: Bytes, access: Access = NO_ACCESS
) -> None:
    """Register memory."""


@command(SCRIPTABLE)
def create_qp(
    world: Any,
    qp: Annotated[New, Noun.QP],
    *,
    pd: Pd,
    qp_type: QPType = QPType.RC,
    send_cq: Cq,
    recv_cq: Cq,
    max_send_wr: int = 8,
    sq_sig_all: bool = False,
) -> None:
    """Make a QP."""


@command(SCRIPTABLE)
def modify_qp(
    world: Any, qp: Qp, attr: Annotated[QpAttr, ADDRESS], *, attr_mask: Attr | None = None
) -> None:
    """Change attributes."""


@command(SCRIPTABLE)
def post_send(
    world: Any, qp: Qp, wr: Annotated[list[SendWR], REMOTE], *, bad_wr: bool | None = True
) -> None:
    """Post sends."""


@command(SCRIPTABLE)
def post_recv(world: Any, qp: Qp, wr: list[RecvWR]) -> None:
    """Post receives."""


@command(SCRIPTABLE)
def poll_cq(world: Any, cq: Cq, *, num_entries: int = 1) -> None:
    """Poll."""


@command(SCRIPTABLE)
def write(world: Any, where: Mr, text: str) -> None:
    """Write memory."""


@command(SCRIPTABLE)
def step(session: Any, count: int = 1, kind: Literal["event", "packet", "cqe"] = "event") -> None:
    """Go on."""


@command(SCRIPTABLE)
def run(
    session: Any,
    duration: Nanoseconds | None = None,
    goal: Literal["until", "backwards"] | None = None,
    condition: Expression | None = None,
    *,
    within: Annotated[Nanoseconds | None, SPOKEN] = None,
) -> None:
    """Let time pass."""


@command(SCRIPTABLE)
def until(
    session: Any,
    condition: Expression,
    *,
    within: Annotated[Nanoseconds | None, SPOKEN] = None,
    limit: int = 0,
) -> None:
    """Run until something holds."""


@command(SCRIPTABLE)
def break_(session: Any, condition: Expression) -> None:
    """Stop where something holds."""


@command(SCRIPTABLE)
def goto(
    session: Any, event: int | None = None, at: Nanoseconds | None = None, mark: str | None = None
) -> None:
    """Go to a place in time."""


@command(SCRIPTABLE)
def mark(
    session: Any,
    name: str = "",
    condition: Expression | None = None,
    label: str = "",
    *,
    within: Annotated[Nanoseconds | None, SPOKEN] = None,
) -> None:
    """Give this place a name."""


@command(SCRIPTABLE)
def fault(
    world: Any,
    what: Literal["drop", "corrupt", "delay", "list", "clear"],
    direction: Direction | None = None,
    by: Nanoseconds | None = None,
    *,
    opcode: str = "",
    nth: int = 1,
    byte: int | None = None,
) -> None:
    """Disturb the cable."""


@command(SCRIPTABLE)
def link(
    world: Any, state: Literal["up", "down"], *, rate: BitRate | None = None, end: End = ""
) -> None:
    """The cable."""


@command(SCRIPTABLE)
def use(world: Any, what: str, *, nodes: list[Annotated[Thing, Noun.NODE]] | None = None) -> None:
    """A short form."""


@command(SCRIPTABLE)
def explain(session: Any, word: str, more: str = "") -> None:
    """Say what a word means."""


@command(SCRIPTABLE)
def tell(session: Any, text: Annotated[str, PROSE]) -> None:
    """Take a line as it stands."""


@command(SCRIPTABLE)
def show(session: Any, what: str = "", thing: Ref | None = None, *, last: int = 0) -> None:
    """Look."""


@command(SCRIPTABLE)
def connect(
    world: Any, one: Qp, other: Qp, *, mtu: Annotated[MTU, Spelled({"1024": 3})] = MTU.B1024
) -> None:
    """A short form."""


COMMANDS = (
    *(alloc_pd, reg_mr, create_qp, modify_qp, post_send, post_recv, poll_cq, write),
    *(step, run, until, break_, goto, mark, fault, link, use, explain, tell, show, connect),
)
VOCABULARY = {c.name: c for c in COMMANDS}
ALIASES = {
    "s": "step",
    "b": "break",
    "n": "step packet",
    "rc": "run backwards",
    "c": "run",
    "z": "until idle or now > 2s",
}
