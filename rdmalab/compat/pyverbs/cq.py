"""Completion queues and channels."""

from errno import EOPNOTSUPP
from operator import attrgetter
from typing import Any

from rdmalab.command import Noun, Ref, Refused
from rdmalab.compat.process import IDLE_POLLS, here
from rdmalab.compat.pyverbs.base import LabObject, call, failed
from rdmalab.compat.pyverbs.c_types import INT, U32, U64, converted, enum
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from rdmalab.compat.pyverbs.struct import Number, Part, Struct, expect, not_so, table
from rdmalab.spec.completions import WcEx
from rdmalab.spec.statuses import WCStatus

_ENOENT = 2
_IDLE = (
    f"Failed to poll CQ: {IDLE_POLLS:,} polls in a row found nothing, and nothing is pending: no "
    "packet, timer or other thread can bring a completion"
)
_FOR_EVER = "no packet, timer or program is pending: this call would never return"


class CompChannel(LabObject):
    """`ibv_comp_channel`."""

    __slots__ = ()
    DESTROY, FAILS, RANK = "destroy_comp_channel", "Failed to destroy a completion channel", 5

    def __init__(self, context: LabObject) -> None:
        text = "Failed to create a completion channel"
        self._made(text, "create_comp_channel", Noun.CHANNEL, context.node)
        self._join(context)

    def get_cq_event(self, expected_cq: "CQ", /) -> None:
        """Wait for the next event. PyverbsError where C would block without end."""
        expect("expected_cq", expected_cq, CQ)
        process, text = here(), "Failed to get CQ event"
        while not self.found.events:
            if process.is_idle():
                raise PyverbsError(f"{text}: {_FOR_EVER}")
            process.glance()
        event = call(text, "get_cq_event", channel=self.ref)
        if event.cq.number != expected_cq.found.number:
            raise PyverbsRDMAError("Received event on an unexpected CQ", 0)
        expected_cq.unacknowledged += 1


class _Queue(LabObject):
    """What plain and extended CQs have in common."""

    __slots__ = ()
    RANK = 6

    def _has_more(self, read: int = 0) -> bool:
        """Whether a poll finds more than the `read` completions it has; if not, time passes."""
        queue, process = self.found, here()
        if len(queue.cqes) > read:
            return True
        if process.is_polled_for_ever():
            raise PyverbsError(_IDLE)
        return process.poll_in_vain() and len(queue.cqes) > read


class CQ(_Queue):
    """`ibv_cq`."""

    __slots__ = ("_channel", "unacknowledged")
    DESTROY, FAILS = "destroy_cq", "Failed to close CQ"

    def __init__(
        self, context: LabObject, cqe: int, cq_context: object = None,
        channel: CompChannel | None = None, comp_vector: int = 0,
    ) -> None:  # fmt: skip
        del cq_context
        expect("channel", channel, CompChannel)
        told = {} if channel is None else {"channel": channel.ref}
        self._made(
            "Failed to create a CQ", "create_cq", Noun.CQ, context.node,
            cqe=converted(cqe, INT), comp_vector=converted(comp_vector, INT), **told,
        )  # fmt: skip
        self._join(context, channel)
        self._channel, self.unacknowledged = channel, 0

    def _destroy(self, ref: Ref) -> None:
        if self.unacknowledged:
            self.ack_events(self.unacknowledged)
        super()._destroy(ref)

    def ack_events(self, num_events: int, /) -> None:
        call("Failed to acknowledge events", "ack_cq_events", cq=self.ref, nevents=num_events)
        self.unacknowledged -= num_events

    def resize(self, cqe: int, /) -> None:
        call("Failed to resize CQ", "resize_cq", cq=self.ref, cqe=converted(cqe, INT))

    def poll(self, num_entries: int = 1) -> "tuple[int, list[WC]]":
        """(how many, completions). Polls that find nothing let time pass: `Process.poll_in_vain`.

        PyverbsError for a loop of them that would never end.
        """
        if num_entries < 1 or not self._has_more():
            return 0, []
        cqes = call("Failed to poll CQ", "poll_cq", cq=self.ref, num_entries=num_entries)
        return len(cqes), [_wc(cqe) for cqe in cqes]

    def req_notify(self, solicited_only: bool = False) -> None:
        text = "Request notify CQ returned an error"
        call(text, "req_notify_cq", cq=self.ref, solicited_only=bool(solicited_only))

    @property
    def comp_channel(self) -> CompChannel | None:
        return self._channel

    @property
    def cqe(self) -> int:
        return int(self.found.capacity)

    def __str__(self) -> str:
        return "CQ\n" + table((("Handle", self.found.number), ("CQEs", self.cqe)))


class PollCqAttr(Struct):
    """`ibv_poll_cq_attr`."""

    __slots__ = ()
    comp_mask = Number(U32)


class CqInitAttrEx(Struct):
    """`ibv_cq_init_attr_ex`."""

    __slots__ = ("_cq_context",)
    cqe = Number(U32)
    comp_vector = Number(U32)
    wc_flags = Number(U64)
    comp_mask = Number(U32)
    flags = Number(U32)
    comp_channel = Part(CompChannel)
    parent_domain = Part(PD)

    def __init__(
        self, cqe: int = 100, channel: CompChannel | None = None, comp_vector: int = 0,
        wc_flags: int = 0, comp_mask: int = 0, flags: int = 0, parent_domain: object = None,
    ) -> None:  # fmt: skip
        self._set(
            cqe=cqe, comp_vector=comp_vector, wc_flags=wc_flags, comp_mask=comp_mask, flags=flags
        )
        expect("channel", channel, CompChannel)
        expect("parent_domain", parent_domain, PD)
        self.comp_channel, self.parent_domain = channel, parent_domain

    @property
    def cq_context(self) -> object:
        raise not_so(self, "cq_context", "readable")

    @cq_context.setter
    def cq_context(self, val: object) -> None:
        self._cq_context = val

    def __str__(self) -> str:
        return table(
            (
                ("Number of CQEs", self.cqe),
                ("WC flags", create_wc_flags_to_str(self.wc_flags)),
                ("comp mask", self.comp_mask),
                ("flags", self.flags),
            )
        )


class CQEX(_Queue):
    """`ibv_cq_ex`."""

    __slots__ = ("status", "wr_id")
    DESTROY, FAILS = "destroy_cq", "Failed to destroy CQEX"

    def __init__(self, context: LabObject, init_attr: CqInitAttrEx | None) -> None:
        attr = init_attr or CqInitAttrEx()
        text, channel = "Failed to create extended CQ", attr.comp_channel
        if attr.comp_mask and attr.flags:  # neither overruns nor threads are told to the device
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        told = {} if channel is None else {"channel": channel.ref}
        self._made(
            text, "create_cq_ex", Noun.CQ, context.node,
            cqe=attr.cqe, comp_vector=attr.comp_vector, wc_flags=attr.wc_flags, **told,
        )  # fmt: skip
        self._join(context, channel, attr.parent_domain)
        self.status = self.wr_id = 0

    def _look(self, word: str) -> int:
        try:
            wc = here().call(word, cq=self.ref)
        except Refused as refusal:
            if refusal.errno != _ENOENT:
                raise failed("Failed to poll CQ", refusal) from None
            return refusal.errno
        self.status, self.wr_id = int(wc.status), wc.wr_id
        return 0

    def start_poll(self, attr: PollCqAttr | None, /) -> int:
        """0, or ENOENT: nothing is there. Time passes as in `CQ.poll`."""
        del attr
        return self._look("start_poll") if self._has_more() else _ENOENT

    def poll_next(self) -> int:
        """0, or ENOENT: that was the last one."""
        return self._look("next_poll") if self._has_more(self.found.reading) else _ENOENT

    def end_poll(self) -> None:
        if self.found.reading:
            call("Failed to end poll", "end_poll", cq=self.ref)

    def _read(self, field: str) -> int:
        text = f"Failed to read {field}"
        return int(call(text, "wc_read", cq=self.ref, field=field).value)

    def read_opcode(self) -> int:
        return self._read("opcode")

    def read_vendor_err(self) -> int:
        return self._read("vendor_err")

    def read_byte_len(self) -> int:
        return self._read("byte_len")

    def read_imm_data(self) -> int:
        return self._read("imm_data")

    def read_qp_num(self) -> int:
        return self._read("qp_num")

    def read_src_qp(self) -> int:
        return self._read("src_qp")

    def read_wc_flags(self) -> int:
        return self._read("wc_flags")

    def read_slid(self) -> int:
        return self._read("slid")

    def read_sl(self) -> int:
        return self._read("sl")

    def read_dlid_path_bits(self) -> int:
        return self._read("dlid_path_bits")

    def read_timestamp(self) -> int:
        return self._read("completion_ts")

    def read_cvlan(self) -> int:
        return self._read("cvlan")

    def read_flow_tag(self) -> int:
        return self._read("flow_tag")

    def read_tm_info(self) -> "WcTmInfo":
        raise PyverbsRDMAError("Tag matching is not supported", EOPNOTSUPP)

    def read_completion_wallclock_ns(self) -> int:
        return self._read("completion_wallclock_ns")

    def __str__(self) -> str:
        rows = (("Handle", self.found.number), ("CQEs", self.found.capacity))
        return "Extended CQ:\n" + table(rows)


class WcTmInfo(Struct):
    """`ibv_wc_tm_info`."""

    __slots__ = ()
    tag = Number(U64)
    priv = Number(U32)


class WC(Struct):
    """`ibv_wc`."""

    __slots__ = ()
    wr_id = Number(U64)
    status = Number(enum("ibv_wc_status"))
    opcode = Number(enum("ibv_wc_opcode"))
    vendor_err = Number(U32)
    byte_len = Number(U32)
    qp_num = Number(U32)
    src_qp = Number(U32)
    imm_data = Number(U32)
    wc_flags = Number(INT)
    pkey_index = Number(U32, kept=16)
    slid = Number(U32, kept=16)
    sl = Number(U32, kept=8)
    dlid_path_bits = Number(U32, kept=8)

    def __init__(
        self, wr_id: int = 0, status: int = 0, opcode: int = 0, vendor_err: int = 0,
        byte_len: int = 0, qp_num: int = 0, src_qp: int = 0, imm_data: int = 0, wc_flags: int = 0,
        pkey_index: int = 0, slid: int = 0, sl: int = 0, dlid_path_bits: int = 0,
    ) -> None:  # fmt: skip
        self._set(
            wr_id=wr_id, status=status, opcode=opcode, vendor_err=vendor_err, byte_len=byte_len,
            qp_num=qp_num, src_qp=src_qp, imm_data=imm_data, wc_flags=wc_flags,
            pkey_index=pkey_index, slid=slid, sl=sl, dlid_path_bits=dlid_path_bits,
        )  # fmt: skip

    def __str__(self) -> str:
        return table(
            (
                ("WR ID", self.wr_id),
                ("status", cqe_status_to_str(self.status)),
                ("opcode", cqe_opcode_to_str(self.opcode)),
                ("vendor error", self.vendor_err),
                ("byte length", self.byte_len),
                ("QP num", self.qp_num),
                ("source QP", self.src_qp),
                ("WC flags", cqe_flags_to_str(self.wc_flags)),
                ("pkey index", self.pkey_index),
                ("slid", self.slid),
                ("sl", self.sl),
                ("imm_data", self.imm_data),
                ("dlid path bits", self.dlid_path_bits),
            )
        )


_COPIED = (
    "wr_id", "status", "opcode", "vendor_err", "byte_len", "qp_num", "src_qp", "imm_data",
    "wc_flags", "slid", "sl", "dlid_path_bits",
)  # fmt: skip


_copied_from = attrgetter(*_COPIED)


def _wc(cqe: Any) -> WC:
    """A completion of the lab. Its numbers came from a device: each fits the field it is for."""
    wc = WC.__new__(WC)
    wc.c = dict(zip(_COPIED, map(int, _copied_from(cqe)), strict=True))
    return wc


# --------------------------------------------------------------------------- as text
_STATUS = {
    WCStatus.SUCCESS: "success",
    WCStatus.LOC_LEN_ERR: "local length error",
    WCStatus.LOC_QP_OP_ERR: "local QP op error",
    WCStatus.LOC_EEC_OP_ERR: "local EEC op error",
    WCStatus.LOC_PROT_ERR: "local protection error",
    WCStatus.WR_FLUSH_ERR: "WR flush error",
    WCStatus.MW_BIND_ERR: "memory window bind error",
    WCStatus.BAD_RESP_ERR: "bad response error",
    WCStatus.LOC_ACCESS_ERR: "local access error",
    WCStatus.REM_INV_REQ_ERR: "remote invalidate request error",
    WCStatus.REM_ACCESS_ERR: "remote access error",
    WCStatus.REM_OP_ERR: "remote op error",
    WCStatus.RETRY_EXC_ERR: "retry exceeded error",
    WCStatus.RNR_RETRY_EXC_ERR: "RNR retry exceeded",
    WCStatus.LOC_RDD_VIOL_ERR: "local RDD violation error",
    WCStatus.REM_INV_RD_REQ_ERR: "remote invalidate RD request error",
    WCStatus.REM_ABORT_ERR: "remote abort error",
    WCStatus.INV_EECN_ERR: "invalidate EECN error",
    WCStatus.INV_EEC_STATE_ERR: "invalidate EEC state error",
    WCStatus.FATAL_ERR: "WC fatal error",
    WCStatus.RESP_TIMEOUT_ERR: "response timeout error",
    WCStatus.GENERAL_ERR: "general error",
}
_OPCODES = {
    0x00: "Send", 0x01: "RDMA write", 0x02: "RDMA read", 0x03: "Compare and swap",
    0x04: "Fetch and add", 0x05: "Bind Memory window", 0x06: "Local invalidate", 0x07: "TSO",
    0x80: "Receive", 0x81: "Receive RDMA with immediate", 0x82: "Tag matching - add",
    0x83: "Tag matching - delete", 0x84: "Tag matching - sync", 0x85: "Tag matching - receive",
    0x86: "Tag matching - no tag", 0x87: "Driver WR",
}  # fmt: skip
_FLAGS = {
    1: "GRH", 2: "With immediate", 4: "IP csum OK", 8: "With invalidate", 16: "TM sync request",
    32: "TM match", 64: "TM data valid",
}  # fmt: skip


def cqe_status_to_str(status: int, /) -> str:
    return {int(each): text for each, text in _STATUS.items()}.get(status, "Unknown CQE status")


def cqe_opcode_to_str(opcode: int, /) -> str:
    return _OPCODES.get(opcode, f"Unknown CQE opcode {opcode}")


def flags_to_str(flags: int, dictionary: dict[int, str]) -> str:
    return "".join(f"{text} " for flag, text in dictionary.items() if flags & flag)


def cqe_flags_to_str(flags: int, /) -> str:
    return flags_to_str(flags, _FLAGS)


def create_wc_flags_to_str(flags: int, /) -> str:
    shown = [each for each in WcEx if each is not WcEx.TM_INFO]
    return flags_to_str(flags, {int(each): f"IBV_WC_EX_WITH_{each.name}" for each in shown})
