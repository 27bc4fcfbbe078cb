"""Differences between devices: one cell for each, read by one engine.

`strict` follows the documents and the specification; `rxe` is Soft-RoCE of kernel 6.1, bug for bug,
as recorded; `mlx5` has the errno and slot rules of its user-space driver, and of the device what
others measured.
No engine ever asks for a profile's name. Source: the profile table of the reference.
"""

from dataclasses import field, fields
from enum import Enum
from errno import EINVAL, ENOMEM, ENOSPC
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from rdmalab.spec.access import Rereg
from rdmalab.spec.addresses import EVERY_FIELD
from rdmalab.spec.completions import STANDARD_FIELDS, WcEx
from rdmalab.spec.limits import MLX5_CAPS, RXE_CAPS, DeviceCaps, LinkLayer, PhysState
from rdmalab.spec.refusals import REFUSALS, Refusal, Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ATTRIBUTES, Attribute, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.vendor_errors import CONNECTX_CODES, NO_CODES, STATUS_CODES, VendorErrors
from rdmalab.spec.work import WCFlags, WROpcode

if TYPE_CHECKING:
    from collections.abc import Mapping


class Rounding(Enum):
    """Number of WQEs that a queue holds for the number asked."""

    EXACT = "as asked"
    POWER_LESS_ONE = "2^n-1"
    POWER = "2^n"

    def granted(self, asked: int) -> int:
        """Slots granted for `asked`."""
        if self is Rounding.EXACT or asked == 0:
            return asked
        if self is Rounding.POWER:
            return int(1 << (asked - 1).bit_length())
        return int((1 << asked.bit_length()) - 1)


class SlotsFreed(Enum):
    """The moment at which a send or receive slot comes back."""

    POLLED = "when a CQE at or after it is polled"
    EXECUTED = "when the device is done with it"


_T = TypeVar("_T")
_U8, _U16, _U32 = 0xFF, 0xFFFF, 0xFFFF_FFFF


def _up_to(name: str, high: int) -> Attribute:
    return ATTRIBUTES[name]._replace(low=0, high=high, limit="")


# Soft-RoCE asks nothing of these: whatever the field can hold is stored.
_RXE_ATTRIBUTES = {
    **ATTRIBUTES,
    "retry_cnt": _up_to("retry_cnt", _U8),
    "rnr_retry": _up_to("rnr_retry", _U8),
    "min_rnr_timer": _up_to("min_rnr_timer", _U8),
    "max_dest_rd_atomic": _up_to("max_dest_rd_atomic", _U8),
    "pkey_index": _up_to("pkey_index", _U16),
    "dest_qp_num": _up_to("dest_qp_num", _U32),
    "qp_access_flags": _up_to("qp_access_flags", _U32),
    "path_mtu": ATTRIBUTES["path_mtu"]._replace(low=0, limit="max_port_mtu"),
}


LAB_CAPS = DeviceCaps()

_TIMED = STANDARD_FIELDS | WcEx.COMPLETION_TIMESTAMP | WcEx.COMPLETION_TIMESTAMP_WALLCLOCK


def cell(default: _T, sentence: str, rules: str = "") -> _T:
    """A cell of the table with the value of `strict`. sentence: what it means, for `explain`.

    rules: names of `rules.py`, apart by a blank, that refuse nothing where the cell is False.
    """
    made: _T = field(default=default, metadata={"sentence": sentence, "rules": rules.split()})
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One column of the table. A cell is declared with `cell(value of strict, what it means)`.

    `about` says in a sentence what the profile stands for. `errnos` overrides the errno of a rule
    of `rules.py`, `batch_errnos` that of `wr_complete` once more, `attributes` the ranges of
    `states.py`. `lacks_counters` names those of `show counters` that its hw_counters does not have.
    """

    name: str
    about: str
    caps: DeviceCaps = LAB_CAPS
    errnos: "Mapping[str, int]" = field(default_factory=lambda: MappingProxyType({}))
    batch_errnos: "Mapping[str, int]" = field(default_factory=lambda: MappingProxyType({}))
    refusals: "Mapping[str, Refusal]" = field(default_factory=lambda: MappingProxyType(REFUSALS))
    attributes: "Mapping[str, Attribute]" = field(
        default_factory=lambda: MappingProxyType(ATTRIBUTES)
    )
    lacks_counters: frozenset[str] = frozenset()
    # fmt: off
    # objects
    qp_types: frozenset[QPType] = cell(frozenset(QPType), "The QP types that the device supports.")
    lkey_is_rkey: bool = cell(False, "The lkey and the rkey of an MR are the same number.")
    lacks_builders: frozenset[str] = cell(frozenset(), "Builders of ibv_wr_* that a QP type could have and that are missing.")
    rkey_needs_remote_right: bool = cell(False, "An MR without REMOTE_* access has the rkey 0, which allows nothing.")
    honours_zero_based: bool = cell(True, "An MR registered with ZERO_BASED is addressed from 0. Otherwise by its own addresses.")
    rereg_changes: int = cell(sum(Rereg), "What rereg_mr can change: 1 the translation, 2 the PD, 4 the access.")
    windows_take_local_write: bool = cell(False, "LOCAL_WRITE in the access flags of a window is ignored. Otherwise the bind fails.")
    # posting
    refuses_null_pointers: bool = cell(False, "bad_wr=NULL or wr=NULL is refused before any other check.", "null-pointer")
    batch_unchecked: frozenset[str] = cell(frozenset(), "Rules that wr_complete does not check. The device finds the mistake, or it stays unnoticed.")
    setter_makes_inline: bool = cell(True, "An inline setter is sufficient. Otherwise wr_flags must contain INLINE as well.")
    list_setters_add: bool = cell(True, "A list of elements is as long as all of them. Otherwise it is n times the first, and an inline list is empty.")
    early_posts_stay: bool = cell(False, "A send refused before RTS stays in the ring and is executed with the next post.")
    refuses_unknown_opcode: bool = cell(True, "An opcode that is unknown, or that this device does not support, is refused at post time.", "opcode-unknown opcode-support")
    refuses_foreign_opcode: bool = cell(True, "An opcode of another QP type is refused at post time.", "opcode-type")
    refuses_unknown_flags: bool = cell(True, "Unknown send flags are refused at post time.", "send-flags")
    lacks: frozenset[tuple[QPType, WROpcode]] = cell(frozenset(), "Opcodes of a QP type that this device does not support.")
    refuses_bind_data: bool = cell(True, "BIND_MW with SGEs or immediate data is refused at post time.", "bind-data")
    refuses_foreign_flags: bool = cell(True, "FENCE and IP_CSUM are refused on QP types that do not support them.", "send-flags-type")
    refuses_inline_read: bool = cell(True, "INLINE with a READ or atomic is refused at post time.", "inline-opcode")
    refuses_odd_atomics: bool = cell(False, "post_send refuses an atomic of fewer than 8 local bytes, or whose remote_addr is not a multiple of 8. Otherwise the device and the responder find the mistake.", "atomic-length atomic-address")
    odd_atomic_status: WCStatus = cell(WCStatus.LOC_LEN_ERR, "Status of an atomic whose local list is not 8 bytes long: no packet leaves. SUCCESS: the atomic is sent nevertheless.")
    unexpected_read_response_status: WCStatus = cell(WCStatus.BAD_RESP_ERR, "Status of a request that is no READ and is answered by the first packet of a READ response.")
    posts_after_fatal: bool = cell(False, "After a fatal error of the device its queues still take work requests, which never complete. Otherwise a post is refused.")
    flushes_recvs_posted_in_err: bool = cell(True, "A receive posted in ERR is flushed. Otherwise it never completes.")
    zero_sge_bytes: int = cell(2**31, "The number of bytes that an SGE of length 0 means.")
    length_bits: int = cell(64, "How many bits of the sum of its SGE lengths a request keeps.")
    refuses_long_message: bool = cell(True, "A send longer than max_msg_sz is refused at post time. A receive may be longer on every device.", "message-length")
    long_message_status: WCStatus = cell(WCStatus.LOC_LEN_ERR, "Status of a send longer than max_msg_sz whose post was not refused: no packet leaves. SUCCESS: it is sent nevertheless.")
    # queues
    rounding: Rounding = cell(Rounding.EXACT, "How many slots a send or receive queue gets for the requested number.")
    cq_srq_rounding: Rounding = cell(Rounding.EXACT, "How many completions a CQ, or receives an SRQ, holds for the requested number.")
    recv_wqe_powers: bool = cell(False, "The bytes of a receive WQE are a power of two, and a receive queue takes at least 64: elements and requests fill them.")
    create_qp_returns_asked: bool = cell(False, "create_qp reports the requested sizes, query_qp the real sizes.")
    slots_freed: SlotsFreed = cell(SlotsFreed.POLLED, "When a slot of a queue is freed.")
    inline_bytes_per_sge: int = cell(0, "How many bytes of inline data each SGE of a queue adds.")
    send_wqe_headers: "Mapping[QPType, int]" = field(
        default_factory=lambda: MappingProxyType({}),
        metadata={
            "sentence": "How many bytes of a send WQE precede its SGEs or inline bytes, by QP type. The WQE is rounded up to blocks of 64 bytes, and its inline bytes are all that is left of it. Otherwise the inline bytes are as requested."
        },
    )
    reset_purges_cqes: bool = cell(False, "RESET removes the QP's CQEs from its CQs.")
    overrun_kills_cq: bool = cell(True, "A CQE on a full CQ puts the CQ into error and its QPs into ERR.")
    # shared receive queues
    least_srq_sge: int = cell(0, "The least max_sge that an SRQ gets, for every requested number.")
    arms_created_srq: bool = cell(False, "create_srq arms the srq_limit that it is given. Otherwise only modify_srq does.")
    refuses_unknown_srq_mask: bool = cell(True, "modify_srq with unknown mask bits is refused.", "srq-mask")
    limit_counts_at_once: bool = cell(True, "Arming a limit that is already undercut raises the event at once.")
    reads_failed_srq: bool = cell(True, "query_srq succeeds for an SRQ in its error state.")
    checks_srq_pd: bool = cell(True, "The buffers of an SRQ must be in the protection domain of the SRQ. Otherwise in that of the QP that takes the receive.")
    # attributes
    checks_table_without_state: bool = cell(True, "modify_qp without a state is checked against the transition table too.")
    believes_cur_state: bool = cell(False, "cur_qp_state is used without a check.")
    returns_cur_state: bool = cell(True, "query_qp returns the state in cur_qp_state too. Otherwise always RESET.")
    modify_judges_address: frozenset[str] = cell(EVERY_FIELD, "Fields of ah_attr whose range modify_qp checks.")
    create_ah_judges: frozenset[str] = cell(EVERY_FIELD, "Fields of an address whose range create_ah checks.")
    attr_mask_bits: int = cell(32, "How many bits of attr_mask the driver supports. A higher bit is EOPNOTSUPP.")
    resolves_addresses: bool = cell(False, "modify_qp and create_ah resolve the MAC of an address: ETIMEDOUT if no host has it.")
    address_sets_port: bool = cell(False, "An ah_attr that is given outside the transition to RTR sets port_num too.")
    rounds_read_depths: bool = cell(False, "READ depths are rounded up to a power of two, kept in 8 bits.")
    least_read_depth: int = cell(0, "The depth that a max_rd_atomic of 0 means.")
    lacks_moves: frozenset[tuple[QPState, QPState]] = cell(frozenset(), "Transitions of the table that modify_qp does not have.")
    attribute_bits: "Mapping[str, int]" = field(
        default_factory=lambda: MappingProxyType({}),
        metadata={"sentence": "How many bits are kept of an attribute; the rest is lost. Otherwise the value is stored as it is."},
    )
    # requester
    hashes_source_port: bool = cell(False, "The UDP source port of a datagram is the hash of its QP number, whatever the flow label of the address. Otherwise the flow label decides if it is not 0.")
    retry_cnt_7_is_infinite: bool = cell(False, "retry_cnt 7 retries without limit.")
    times_unasked_packets: bool = cell(False, "The ack timer starts with the first packet of a message. Otherwise with a packet that requests an ACK.")
    ack_timeout_factor: int = cell(1, "The device waits this many times the timeout. At timeout 14, retry_cnt 7 one mlx5 adapter took 3.56 s and 15 packets; the lab takes 2.147 s and 8.")
    timer_tick_ns: int = cell(0, "Timers are rounded up to ticks of this many ns. 0 keeps them exact.")
    send_error_gives_sqe: bool = cell(True, "A failed send moves a UC or UD QP to SQE, not to ERR.")
    unknown_lkey_status: WCStatus = cell(WCStatus.LOC_PROT_ERR, "Status of a send with an unknown lkey.")
    bad_invalidate_status: WCStatus = cell(WCStatus.MW_BIND_ERR, "Status of a LOCAL_INV whose key is not the key of a bound window.")
    ah_read_at_post: bool = cell(False, "An address handle is read when the WR is posted, not when it is executed.")
    long_datagram_status: WCStatus = cell(WCStatus.SUCCESS, "Status of a datagram longer than the port MTU.")
    guards_privileged_qkey: bool = cell(True, "A remote_qkey with bit 31 set sends the QP's own Q_Key instead.")
    takes_implied_naks: bool = cell(True, "A response after a gap in the data of one READ makes the requester ask for the rest at once. Otherwise only the answer to a later request does, else the ack timer finds the gap.")
    naks_after_retry: bool = cell(True, "A sequence NAK or an implied NAK causes a retry also if no request was acknowledged since the last retry. Otherwise only the ack timer does.")
    routed_hop_limits: frozenset[str] = cell(frozenset(), "RoCE addresses whose hop_limit is replaced by that of the route, 64: of a connected QP (qp), of an address handle (ah). Otherwise packets leave with the given value.")
    sends_mig_req: bool = cell(True, "MigReq (migrated) of the BTH is 1 in packets of a QP whose path_mig_state is MIGRATED. Otherwise it is always 0.")
    resumes_after_sqd: bool = cell(True, "Leaving SQD starts the waiting sends. Otherwise the next post does.")
    drained_event_unasked: bool = cell(False, "SQ_DRAINED is raised without en_sqd_async_notify.")
    rnr_wait_drains: bool = cell(False, "In SQD a send that waits after an RNR NAK counts as not started: the queue drains without it.")
    stalls_above_port_mtu: bool = cell(False, "A packet longer than the port MTU is retried without limit: the send queue stalls. Otherwise it is sent.")
    # responder
    checks_packet_size: bool = cell(True, "Packets whose size does not match the path MTU are refused.")
    alignment_before_key: bool = cell(False, "The address of an atomic is checked before its R_Key. Otherwise after its R_Key.")
    short_receive_breaks_ud: bool = cell(True, "A datagram longer than its receive completes the receive with IBV_WC_LOC_LEN_ERR and moves the QP to ERR. Otherwise the datagram is dropped and the receive waits for the next.")
    nak_after_rnr: bool = cell(False, "Packets after an RNR NAK get a NAK of their own.")
    joins_acks: bool = cell(True, "An ACK that has not left yet also acknowledges later requests. Otherwise each request that asks for an ACK gets its own.")
    unheard_ack_psn: int | None = cell(None, "The PSN of an ACK for a duplicate before any new request was received. None: the PSN before rq_psn.")
    enforces_read_depth: bool = cell(True, "READs and atomics beyond max_dest_rd_atomic are refused.")
    raises_responder_events: bool = cell(True, "Refusals raise QP_ACCESS_ERR and QP_REQ_ERR.")
    raises_last_wqe_reached: bool = cell(True, "A QP on an SRQ that enters ERR raises QP_LAST_WQE_REACHED.")
    checks_window_bounds: bool = cell(True, "Access outside a window, inside its region, is refused.")
    checks_window_qp: bool = cell(True, "LOCAL_INV and SEND_WITH_INV invalidate only windows that were bound through the same QP. Otherwise those of any QP.")
    checks_bind_domains: bool = cell(True, "A bind requires window, region and QP in one protection domain. Otherwise only the window of type 2 and the QP.")
    checks_write_key_per_packet: bool = cell(True, "Every packet of an RDMA WRITE checks the R_Key. Otherwise only the first does, and the rest is written even if the region was deregistered.")
    checks_write_range_first: bool = cell(True, "The first packet of an RDMA WRITE checks the whole range. Otherwise each packet checks its own bytes, and packets inside the region are written.")
    clears_unused_grh: bool = cell(False, "The 20 bytes before an IPv4 header in a datagram's receive are set to zero.")
    # ports
    raises_speed_event: bool = cell(True, "A link at another speed raises DEVICE_SPEED_CHANGE.")
    link_layers: frozenset[LinkLayer] = cell(frozenset({LinkLayer.INFINIBAND, LinkLayer.ETHERNET}), "The link layers that the ports of the device can have.")
    down_phys_state: PhysState = cell(PhysState.DISABLED, "The phys_state of a port that is DOWN for want of a carrier.")
    fixed_pkeys: bool = cell(False, "The P_Key table cannot be changed: its entry is 0xffff.")
    # completions
    grh_flag_on_rc: bool = cell(False, "RC receives have IBV_WC_GRH.")
    with_inv_flag: WCFlags = cell(WCFlags.WITH_INV, "The flag on the receive of a SEND_WITH_INV.")
    send_byte_len: bool = cell(False, "byte_len of a send or write completion is the length.")
    imm_flag_on_sender: bool = cell(False, "The sender's own completion has IBV_WC_WITH_IMM.")
    junk_on_error: int = cell(0x6B6B6B6B, "The value of the undefined fields of an error completion.")
    vendor_errors: VendorErrors = cell(STATUS_CODES, "The vendor_err of a failed request.")
    send_error_wakes_solicited: bool = cell(True, "A failed send notifies a CQ armed for solicited completions only.")
    recv_error_wakes_solicited: bool = cell(True, "A failed receive notifies a CQ armed for solicited completions only, also if the message was not solicited. A flushed receive always does.")
    arm_sees_unpolled: bool = cell(False, "Arming a CQ that holds completions raises the event at once.")
    extended_fields: WcEx = cell(_TIMED, "Which fields wc_flags of create_cq_ex may request.")
    # fmt: on


STRICT = Profile(name="strict", about="What the documents and the specification say. The default.")

PARTS = (
    "name", "about", "caps", "errnos", "batch_errnos", "refusals", "attributes", "lacks_counters",
)  # fmt: skip
"""Fields of a profile that are no cells."""
CELLS: dict[str, str] = {
    each.name: each.metadata.get("sentence", "")
    for each in fields(Profile)
    if each.name not in PARTS
}
"""Each cell and what it means."""

# What librxe never asks of a batch; the device may find it later.
_RXE_BATCH_UNCHECKED = frozenset(
    {"atomic-length", "atomic-address", "setter-missing", "setter-place", "crash-ah"}
)

_RXE_REFUSALS = {
    **REFUSALS,
    "receive-short": REFUSALS["receive-short"]._replace(
        syndrome=Syndrome.NAK_REMOTE_OPERATION, status=WCStatus.LOC_QP_OP_ERR
    ),
    "receive-denied": REFUSALS["receive-denied"]._replace(status=WCStatus.LOC_QP_OP_ERR),
    "cq-overrun": REFUSALS["cq-overrun"]._replace(syndrome=None),
    # rxe_resp.c: check_resource takes the receive before check_rkey
    "rkey": REFUSALS["rkey"]._replace(status=WCStatus.REM_ACCESS_ERR, takes_receive=True),
}

# rxe_hw_counters.c and mlx5/counters.c of Linux; duplicate_request is in both.
_RXE_COUNTERS = frozenset({
    "out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err", "completer_retry_err",
    "retry_exceeded_err", "retry_rnr_exceeded_err", "rdma_sends", "rdma_recvs",
})  # fmt: skip
_MLX5_COUNTERS = frozenset({
    "rx_write_requests", "rx_read_requests", "rx_atomic_requests", "out_of_buffer",
    "out_of_sequence", "rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err",
    "local_ack_timeout_err", "resp_local_length_error", "resp_remote_access_errors",
    "resp_cqe_error", "resp_cqe_flush_error", "req_cqe_error", "req_cqe_flush_error",
    "req_remote_invalid_request", "req_remote_access_errors", "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded", "rx_icrc_encapsulated", "np_ecn_marked_roce_packets",
})  # fmt: skip

_PERSISTENCE = frozenset({(QPType.RC, WROpcode.FLUSH), (QPType.RC, WROpcode.ATOMIC_WRITE)})

RXE = Profile(
    name="rxe",
    about="Soft-RoCE of kernel 6.1, its bugs included, as recorded.",
    caps=RXE_CAPS,
    errnos=MappingProxyType({"mr-window-bound": EINVAL, "mr-on-demand": EINVAL}),
    batch_errnos=MappingProxyType(
        {"queue-full": ENOSPC, "send-sges": ENOSPC, "inline-length": ENOSPC}
    ),
    refusals=MappingProxyType(_RXE_REFUSALS),
    modify_judges_address=frozenset(),
    create_ah_judges=frozenset(),
    qp_types=frozenset({QPType.RC, QPType.UC, QPType.UD}),
    attributes=MappingProxyType(_RXE_ATTRIBUTES),
    lacks_counters=_MLX5_COUNTERS,
    lkey_is_rkey=True,
    lacks_builders=frozenset({"RC:FLUSH", "UC:LOCAL_INV", "UD:TSO"}),
    refuses_null_pointers=True,
    batch_unchecked=_RXE_BATCH_UNCHECKED,
    setter_makes_inline=False,
    list_setters_add=False,
    rkey_needs_remote_right=True,
    honours_zero_based=False,
    rereg_changes=0,
    windows_take_local_write=True,
    lacks=_PERSISTENCE | {(QPType.UC, WROpcode.LOCAL_INV)},
    early_posts_stay=True,
    refuses_unknown_opcode=False,
    refuses_foreign_opcode=False,
    refuses_unknown_flags=False,
    refuses_foreign_flags=False,
    refuses_inline_read=False,
    refuses_odd_atomics=True,
    odd_atomic_status=WCStatus.SUCCESS,
    flushes_recvs_posted_in_err=False,
    zero_sge_bytes=0,
    length_bits=32,  # librxe dma.length
    refuses_long_message=False,
    long_message_status=WCStatus.SUCCESS,
    rounding=Rounding.POWER_LESS_ONE,
    cq_srq_rounding=Rounding.POWER_LESS_ONE,
    create_qp_returns_asked=True,
    slots_freed=SlotsFreed.EXECUTED,
    inline_bytes_per_sge=16,
    overrun_kills_cq=False,
    least_srq_sge=1,
    arms_created_srq=True,  # rxe_srq_from_init
    refuses_unknown_srq_mask=False,
    limit_counts_at_once=False,
    reads_failed_srq=False,
    checks_srq_pd=False,
    believes_cur_state=True,
    returns_cur_state=False,  # rxe_qp_to_attr
    attr_mask_bits=21,
    resolves_addresses=True,
    address_sets_port=True,
    rounds_read_depths=True,
    retry_cnt_7_is_infinite=True,
    hashes_source_port=True,  # rxe_qp_init_req; rxe_modify_qp replaces it for connected QPs
    times_unasked_packets=True,  # rxe_req.c update_state
    timer_tick_ns=4_000_000,
    send_error_gives_sqe=False,
    unknown_lkey_status=WCStatus.LOC_QP_OP_ERR,
    bad_invalidate_status=WCStatus.LOC_QP_OP_ERR,
    unexpected_read_response_status=WCStatus.FATAL_ERR,  # rxe_comp.c check_ack
    guards_privileged_qkey=False,
    takes_implied_naks=False,
    naks_after_retry=False,  # rxe_comp.c, started_retry
    # Linux ib_resolve_unicast_gid_dmac, for callers in user space; AHs since the kernel has them
    routed_hop_limits=frozenset({"qp", "ah"}),
    fixed_pkeys=True,  # rxe_query_pkey, init_req_packet
    down_phys_state=PhysState.POLLING,  # rxe_query_port, while the network interface is up
    sends_mig_req=False,
    resumes_after_sqd=False,
    drained_event_unasked=True,
    rnr_wait_drains=True,
    stalls_above_port_mtu=True,
    checks_packet_size=False,
    nak_after_rnr=True,
    joins_acks=False,
    unheard_ack_psn=0xFFFFFF,
    enforces_read_depth=False,
    raises_responder_events=False,
    raises_last_wqe_reached=False,
    checks_window_bounds=False,
    checks_window_qp=False,
    checks_bind_domains=False,  # rxe_check_bind_mw asks C10-72 of type 2
    checks_write_key_per_packet=False,
    raises_speed_event=False,
    link_layers=frozenset({LinkLayer.ETHERNET}),
    clears_unused_grh=True,
    grh_flag_on_rc=True,
    with_inv_flag=WCFlags.IP_CSUM_OK,
    send_byte_len=True,
    imm_flag_on_sender=True,
    junk_on_error=0,
    vendor_errors=NO_CODES,
    send_error_wakes_solicited=False,
    recv_error_wakes_solicited=False,
    extended_fields=STANDARD_FIELDS,
)

# google/rdma-unit-test expects of ConnectX that a SEND_WITH_INV of a bad key gets no answer (class J)
# and that a WRITE with immediate by a bad key completes its receive with an error of access or
# protection; rdmamojo, ibv_poll_cq: LOC_ACCESS_ERR is for that, on RC.
_MLX5_REFUSALS: "Mapping[str, Refusal]" = {
    **REFUSALS,
    "invalidate": REFUSALS["invalidate"]._replace(syndrome=None),
    "rkey": REFUSALS["rkey"]._replace(status=WCStatus.LOC_ACCESS_ERR, takes_receive=True),
}

# libmlx5 sq_overhead: a control segment of 16 bytes, and what the largest request needs: the bind of
# a window takes 176, the address of a datagram 48, an Ethernet header 16.
_MLX5_WQE_HEADERS = {
    QPType.RC: 192, QPType.UC: 192, QPType.XRC_SEND: 192, QPType.UD: 64, QPType.RAW_PACKET: 32,
}  # fmt: skip

# mlx5_ifc_qpc_bits, mlx5_ifc_ads_bits: MLX5_SET cuts a value to its field, and the driver asks no range.
_MLX5_BITS = {
    "timeout": 5, "alt_timeout": 5, "retry_cnt": 3, "rnr_retry": 3, "min_rnr_timer": 5,
    "dest_qp_num": 24,
}  # fmt: skip

MLX5 = Profile(
    name="mlx5",
    about="The errno and slot rules of the ConnectX driver, and what was measured on the device.",
    caps=MLX5_CAPS,
    errnos=MappingProxyType(
        {"send-state": ENOMEM, "send-sges": ENOMEM, "inline-length": ENOMEM, "recv-shared": ENOMEM}
    ),
    batch_errnos=MappingProxyType({"send-state": EINVAL}),
    refusals=MappingProxyType(_MLX5_REFUSALS),
    attributes=MappingProxyType(
        ATTRIBUTES
        | {name: _up_to(name, _U32 if bits > 8 else _U8) for name, bits in _MLX5_BITS.items()}
    ),
    attribute_bits=MappingProxyType(_MLX5_BITS),
    # __mlx5_ib_modify_qp: its optab has no command for these
    lacks_moves=frozenset({(QPState.RTS, QPState.SQD), (QPState.SQD, QPState.SQD)}),
    rounds_read_depths=True,  # log_sra_max, log_rra_max
    least_read_depth=1,
    lacks_counters=_RXE_COUNTERS,
    lkey_is_rkey=True,
    lacks_builders=frozenset({"RC:FLUSH", "RC:ATOMIC_WRITE"}),
    lacks=_PERSISTENCE,
    windows_take_local_write=True,
    refuses_bind_data=False,
    refuses_foreign_opcode=False,
    refuses_foreign_flags=False,
    zero_sge_bytes=0,
    posts_after_fatal=True,  # MLX5_CTX_FLAGS_FATAL_STATE is asked by dr_send.c only
    # libmlx5 asks for no length; pytorch/gloo#474: 2^30 + 4 bytes ended in a local length error.
    refuses_long_message=False,
    rounding=Rounding.POWER,
    # libmlx5 create_cq, resize_cq, create_srq: align_queue_size(n + 1) - 1, one slot stays free.
    cq_srq_rounding=Rounding.POWER_LESS_ONE,
    # One adapter measured 3.56 s and 15 packets at timeout 14, retry_cnt 7 (unionxic-09); the lab
    # takes 2.147 s and 8 packets. One figure does not say whether the waits or the tries differ.
    ack_timeout_factor=4,
    # as google/rdma-unit-test expects of it; gpudirect/libgdsync#43 reports an endless wait
    short_receive_breaks_ud=False,
    alignment_before_key=True,  # as google/rdma-unit-test expects of it
    checks_write_range_first=False,
    modify_judges_address=frozenset({"static_rate"}),  # kernel mlx5 qp.c; libmlx5 cuts the rest
    create_ah_judges=frozenset(),
    believes_cur_state=True,
    resolves_addresses=True,
    # Linux ib_resolve_unicast_gid_dmac; mlx5_create_ah of libmlx5 keeps the value of an AH
    routed_hop_limits=frozenset({"qp"}),
    send_wqe_headers=MappingProxyType(_MLX5_WQE_HEADERS),
    recv_wqe_powers=True,  # mlx5_calc_rq_size, mlx5_alloc_srq_buf
    reset_purges_cqes=True,
    ah_read_at_post=True,
    long_datagram_status=WCStatus.LOC_LEN_ERR,
    imm_flag_on_sender=True,
    arm_sees_unpolled=True,
    vendor_errors=CONNECTX_CODES,
)

# The cell that switches a rule on: where it is False, the post is accepted.
CELL_OF_RULE: "Mapping[str, str]" = MappingProxyType(
    {rule: each.name for each in fields(Profile) for rule in each.metadata.get("rules", ())}
)

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (STRICT, RXE, MLX5)}
