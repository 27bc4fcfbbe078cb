"""`ibv_bind_mw`: the checks of the library, then a BIND_MW on the send queue."""

from typing import Annotated

from rdmalab.command import Alias, InC, Refused
from rdmalab.hca import posting, send_checks
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.objects import MemoryWindow
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import NO_FLAGS, NO_RIGHTS, U64, Address, MrNumber, SendWR
from rdmalab.spec.access import Access, MWType
from rdmalab.spec.row import dataclass
from rdmalab.spec.work import SendFlags, WROpcode

# All that is asked of a posted bind, but for the type of its window.
_LINES = {
    int(WROpcode.BIND_MW): tuple(
        check
        for check in send_checks.LINES[WROpcode.BIND_MW]
        if check is not send_checks.check_window_type
    )
}


@dataclass(slots=True)
class MwBind:
    """`ibv_mw_bind`: the fields of a bind of a type 1 window."""

    C_NAME = "ibv_mw_bind"

    wr_id: U64 = 0
    flags: Annotated[SendFlags, Alias("send_flags")] = NO_FLAGS
    bind_mr: Annotated[MrNumber, InC("bind_info.mr")] = None
    bind_addr: Annotated[Address, InC("bind_info.addr")] = 0
    bind_length: Annotated[U64, InC("bind_info.length")] = 0
    bind_access: Annotated[Access, Alias("mw_access_flags"), InC("bind_info.mw_access_flags")] = (
        NO_RIGHTS
    )


def bind_mw(hca: Adapter, qp: QueuePair, mw: MemoryWindow, asked: MwBind) -> None:
    """Post the bind; the new R_Key is returned at once and is valid after the bind is executed."""
    if (refusal := _judge(hca, mw, asked)) is not None:
        raise refusal
    wr = SendWR(
        WROpcode.BIND_MW, asked.wr_id, flags=asked.flags, mw=mw.number, bind_mr=asked.bind_mr,
        bind_addr=asked.bind_addr, bind_length=asked.bind_length, bind_access=asked.bind_access,
    )  # fmt: skip
    try:
        posting.post_send(hca, qp, [wr], _LINES)
    except Refused as late:
        late.bad_wr = None  # the program has posted no list
        raise


def _judge(hca: Adapter, mw: MemoryWindow, asked: MwBind) -> Refused | None:
    profile = hca.profile
    if mw.type is not MWType.TYPE_1:
        legal = "post_send opcode=BIND_MW binds windows of TYPE_2"
        return refused(profile, "bind-type", "bind_mw", "TYPE_1", argument="mw", legal=legal)
    mr = hca.mrs.items.get(asked.bind_mr or 0)
    if mr is None and (asked.bind_addr or asked.bind_length):
        legal = "bind=A.mr0[0:64], or no range at all to unbind"
        return refused(profile, "bind-region", argument="bind", legal=legal)
    if mr is not None and mr.pd != mw.pd:
        return refused(profile, "bind-pd", argument="bind", legal="an MR of the window's pd")
    return None
