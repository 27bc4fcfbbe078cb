"""pyverbs.cq: completion queues and channels; work completions are in wc."""

from errno import EOPNOTSUPP

from rdmalab.command import Noun, Ref, Refused
from rdmalab.compat.process import IDLE_POLLS, here
from rdmalab.compat.pyverbs.base import LabObject, call, failed, wait_for
from rdmalab.compat.pyverbs.c_types import INT, U32, U64, converted
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from rdmalab.compat.pyverbs.struct import Number, ObjectField, Struct, expect, not_so, table
from rdmalab.compat.pyverbs.wc import *
from rdmalab.hca import objects
from rdmalab.hca.cq import CompletionQueue

_ENOENT = 2
_IDLE = (
    f"Failed to poll CQ: {IDLE_POLLS:,} polls in a row found nothing, and nothing is pending: no "
    "packet, timer or other thread can bring a completion"
)


class CompChannel(LabObject[objects.CompChannel]):
    """`ibv_comp_channel`."""

    DESTROY, FAILS, RANK = "destroy_comp_channel", "Failed to destroy a completion channel", 5

    def __init__(self, context: Context) -> None:
        text = "Failed to create a completion channel"
        self._made(text, "create_comp_channel", Noun.CHANNEL, context.node)
        self._join(context)

    def get_cq_event(self, expected_cq: "CQ", /) -> None:
        """`ibv_get_cq_event`: wait for the next event of the channel.

        PyverbsError if none is pending and none can come. PyverbsRDMAError: it is of another CQ.
        """
        expect("expected_cq", expected_cq, CQ)
        text = "Failed to get CQ event"
        wait_for(text, lambda: self.found.events, "get_cq_event", channel=self.ref)
        event = call(text, "get_cq_event", channel=self.ref)
        if event.cq.number != expected_cq.found.number:
            raise PyverbsRDMAError("Received event on an unexpected CQ", 0)
        expected_cq.unacknowledged += 1


class _Queue(LabObject[CompletionQueue]):
    """Common part of plain and extended CQs."""

    RANK = 6

    def _has_more(self, read: int = 0) -> bool:
        """Whether a poll finds more than the `read` completions it has; if not, time passes."""
        queue, process = self.found, here()
        if len(queue.cqes) > read:
            return True
        if process.is_polled_for_ever():
            raise PyverbsError(_IDLE)
        return process.poll_in_vain(self.ref) and len(queue.cqes) > read


class CQ(_Queue):
    """`ibv_cq`."""

    __slots__ = ("_channel", "unacknowledged")
    DESTROY, FAILS = "destroy_cq", "Failed to close CQ"

    def __init__(
        self, context: Context, cqe: int, cq_context: object = None,
        channel: CompChannel | None = None, comp_vector: int = 0,
    ) -> None:  # fmt: skip
        del cq_context
        expect("channel", channel, CompChannel)
        arguments = {} if channel is None else {"channel": channel.ref}
        self._made(
            "Failed to create a CQ", "create_cq", Noun.CQ, context.node,
            cqe=converted(cqe, INT), comp_vector=converted(comp_vector, INT), **arguments,
        )  # fmt: skip
        self._join(context, channel)
        self._channel, self.unacknowledged = channel, 0

    def _destroy(self, ref: Ref) -> None:
        if self.unacknowledged:
            self.ack_events(self.unacknowledged)
        super()._destroy(ref)

    def ack_events(self, num_events: int, /) -> None:
        """`ibv_ack_cq_events`: acknowledge events that get_cq_event returned."""
        call("Failed to acknowledge events", "ack_cq_events", cq=self.ref, nevents=num_events)
        self.unacknowledged -= num_events

    def resize(self, cqe: int, /) -> None:
        """`ibv_resize_cq`: change the capacity to at least cqe completions."""
        call("Failed to resize CQ", "resize_cq", cq=self.ref, cqe=converted(cqe, INT))

    def poll(self, num_entries: int = 1) -> "tuple[int, list[WC]]":
        """`ibv_poll_cq`: (number of completions, completions), at most num_entries.

        A poll of an empty CQ lets time pass (`Process.poll_in_vain`). PyverbsError for a loop of
        such polls that would never end.
        """
        if num_entries < 1 or not self._has_more():
            return 0, []
        cqes = call("Failed to poll CQ", "poll_cq", cq=self.ref, num_entries=num_entries)
        return len(cqes), [wc_of(cqe) for cqe in cqes]

    def req_notify(self, solicited_only: bool = False) -> None:
        """`ibv_req_notify_cq`: arm the CQ for its next (solicited) completion."""
        text = "Request notify CQ returned an error"
        call(text, "req_notify_cq", cq=self.ref, solicited_only=bool(solicited_only))

    @property
    def comp_channel(self) -> CompChannel | None:
        return self._channel

    @property
    def cqe(self) -> int:
        return self.found.capacity

    def __str__(self) -> str:
        return "CQ\n" + table((("Handle", self.found.number), ("CQEs", self.cqe)))


class PollCqAttr(Struct):
    """`ibv_poll_cq_attr`."""

    comp_mask = Number(U32)


class CqInitAttrEx(Struct):
    """`ibv_cq_init_attr_ex`."""

    __slots__ = ("_cq_context",)
    cqe = Number(U32, "Number of CQEs")
    comp_vector = Number(U32)
    wc_flags = Number(U64, "WC flags", create_wc_flags_to_str)
    comp_mask = Number(U32, "comp mask")
    flags = Number(U32, "flags")
    comp_channel = ObjectField(CompChannel)
    parent_domain = ObjectField(PD)

    def __init__(
        self, cqe: int = 100, channel: CompChannel | None = None, comp_vector: int = 0,
        wc_flags: int = 0, comp_mask: int = 0, flags: int = 0, parent_domain: PD | None = None,
    ) -> None:  # fmt: skip
        self._set(locals())
        expect("channel", channel, CompChannel)
        expect("parent_domain", parent_domain, PD)
        self.comp_channel, self.parent_domain = channel, parent_domain

    @property
    def cq_context(self) -> object:
        raise not_so(self, "cq_context", "readable")

    @cq_context.setter
    def cq_context(self, val: object) -> None:
        self._cq_context = val


class CQEX(_Queue):
    """`ibv_cq_ex`."""

    __slots__ = ("status", "wr_id")
    DESTROY, FAILS = "destroy_cq", "Failed to destroy CQEX"

    def __init__(self, context: Context, init_attr: CqInitAttrEx | None) -> None:
        attr = init_attr or CqInitAttrEx()
        text, channel = "Failed to create extended CQ", attr.comp_channel
        if attr.comp_mask and attr.flags:  # neither overruns nor threads are told to the device
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        arguments = {} if channel is None else {"channel": channel.ref}
        self._made(
            text, "create_cq_ex", Noun.CQ, context.node,
            cqe=attr.cqe, comp_vector=attr.comp_vector, wc_flags=attr.wc_flags, **arguments,
        )  # fmt: skip
        self._join(context, channel, attr.parent_domain)
        self.status = self.wr_id = 0

    def _read_field(self, word: str) -> int:
        try:
            wc = here().call(word, cq=self.ref)
        except Refused as refusal:
            if refusal.errno != _ENOENT:
                raise failed("Failed to poll CQ", refusal) from None
            return refusal.errno
        self.status, self.wr_id = int(wc.status), wc.wr_id
        return 0

    def start_poll(self, attr: PollCqAttr | None, /) -> int:
        """`ibv_start_poll`: 0, or ENOENT for an empty CQ. Time passes as in `CQ.poll`."""
        del attr
        return self._read_field("start_poll") if self._has_more() else _ENOENT

    def poll_next(self) -> int:
        """`ibv_next_poll`: 0, or ENOENT after the last completion."""
        return self._read_field("next_poll") if self._has_more(self.found.reading) else _ENOENT

    def end_poll(self) -> None:
        """`ibv_end_poll`: remove the completions that were read; nothing if no poll is open."""
        if self.found.reading:
            call("Failed to end poll", "end_poll", cq=self.ref)

    def _read(self, field: str) -> int:
        text = f"Failed to read {field}"
        return int(call(text, "wc_read", cq=self.ref, field=field).value)

    def read_opcode(self) -> int:
        """`ibv_wc_read_opcode` of the current completion: an ibv_wc_opcode."""
        return self._read("opcode")

    def read_vendor_err(self) -> int:
        """`ibv_wc_read_vendor_err` of the current completion."""
        return self._read("vendor_err")

    def read_byte_len(self) -> int:
        """`ibv_wc_read_byte_len` of the current completion: bytes."""
        return self._read("byte_len")

    def read_imm_data(self) -> int:
        """`ibv_wc_read_imm_data` of the current completion, in network byte order."""
        return self._read("imm_data")

    def read_qp_num(self) -> int:
        """`ibv_wc_read_qp_num`: the local QP of the current completion."""
        return self._read("qp_num")

    def read_src_qp(self) -> int:
        """`ibv_wc_read_src_qp`: the sending QP of the current completion."""
        return self._read("src_qp")

    def read_wc_flags(self) -> int:
        """`ibv_wc_read_wc_flags` of the current completion: bits of ibv_wc_flags."""
        return self._read("wc_flags")

    def read_slid(self) -> int:
        """`ibv_wc_read_slid`: the LID of the sender of the current completion."""
        return self._read("slid")

    def read_sl(self) -> int:
        """`ibv_wc_read_sl`: the service level of the current completion."""
        return self._read("sl")

    def read_dlid_path_bits(self) -> int:
        """`ibv_wc_read_dlid_path_bits` of the current completion."""
        return self._read("dlid_path_bits")

    def read_timestamp(self) -> int:
        """`ibv_wc_read_completion_ts` of the current completion: ticks of the device."""
        return self._read("completion_ts")

    def read_cvlan(self) -> int:
        """`ibv_wc_read_cvlan` of the current completion."""
        return self._read("cvlan")

    def read_flow_tag(self) -> int:
        """`ibv_wc_read_flow_tag` of the current completion."""
        return self._read("flow_tag")

    def read_tm_info(self) -> "WcTmInfo":
        """Refused with EOPNOTSUPP."""
        raise PyverbsRDMAError("Tag matching is not supported", EOPNOTSUPP)

    def read_completion_wallclock_ns(self) -> int:
        """`ibv_wc_read_completion_wallclock_ns` of the current completion."""
        return self._read("completion_wallclock_ns")

    def __str__(self) -> str:
        rows = (("Handle", self.found.number), ("CQEs", self.found.capacity))
        return "Extended CQ:\n" + table(rows)
