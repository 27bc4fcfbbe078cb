"""A hand-written sentence or two on members of enums and tables that say nothing of themselves."""

from errno import (
    EAGAIN,
    EBUSY,
    EDEADLK,
    EFAULT,
    EINVAL,
    EIO,
    ENODATA,
    ENOENT,
    ENOMEM,
    ENOSPC,
    ENXIO,
    EOPNOTSUPP,
    EPERM,
    ETIMEDOUT,
)  # fmt: skip

from rdmalab.spec.limits import AtomicCap, PortState
from rdmalab.spec.opcodes import Op
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import MigState, QPType
from rdmalab.spec.work import SendFlags, WCFlags, WCOpcode, WROpcode

QP_TYPES: dict[QPType, str] = {
    QPType.RC: "Reliable connection: one peer, every message acknowledged, retried, in order, once",
    QPType.UC: "Unreliable connection: one peer, no ACK and no retry; a lost message is just gone",
    QPType.UD: "Unreliable datagram: any peer, one packet a message, the peer named in each WR",
    QPType.RAW_PACKET: "Raw Ethernet frames: no transport at all",
    QPType.XRC_SEND: "The sending end of XRC: as RC, and each message names the SRQ that takes it",
    QPType.XRC_RECV: "The receiving end of XRC: it answers; its receives come from shared queues",
}

_PSN = (
    "a wrong one shows as NAKs of sequence errors, or as duplicates, never as an errno; of a "
    "larger value the kernel keeps the low 24 bits"
)
ATTRIBUTES: dict[str, str] = {
    "path_mtu": "typed in bytes; where the ends differ, only what fits the smaller gets through",
    "rq_psn": _PSN,
    "sq_psn": _PSN,
    "dest_qp_num": "nobody checks it here; a wrong one ends in RETRY_EXC_ERR",
    "qp_access_flags": "the QP and the memory key must both allow it",
    "ah_attr": "`ah=B` stands for all of it; port_num in it must equal the port of INIT; left "
    "out, it is 1 here, but 0 in C after memset, which the kernel refuses",
    "max_rd_atomic": "not more than the peer's max_dest_rd_atomic",
    "max_dest_rd_atomic": "not less than the peer's max_rd_atomic",
    "min_rnr_timer": "the receiver says it, the sender obeys it",
    "timeout": "the whole patience is (retry_cnt + 1) times that long",
    "retry_cnt": "spent by timeouts and sequence NAKs, full again with every progress",
    "rnr_retry": "spent by RNR NAKs, full again with every progress",
    "qkey": "where it does not match, the datagram is dropped and the sender succeeds",
    "cur_qp_state": "a claim to be checked, for programs whose view of the state may be old",
}

MIG_STATES: dict[MigState, str] = {
    MigState.MIGRATED: "The state at first and after a migration: no alternate path is ready. "
    "Packets have MigReq=1",
    MigState.REARM: "The program has loaded an alternate path; a packet of the peer with "
    "MigReq=0 makes it ARMED",
    MigState.ARMED: "Both ends have an alternate path. The QP changes to it when retries are "
    "exhausted, when the program sets MIGRATED, or when the peer has changed (MigReq=1). Only the "
    "device sets ARMED",
}

WORK: dict[WROpcode, str] = {
    WROpcode.RDMA_WRITE: "Put bytes into the peer's memory; its program notices nothing",
    WROpcode.RDMA_WRITE_WITH_IMM: "Put bytes into the peer's memory and complete one of its "
    "receives, which carries 32 bits; the receive's buffers stay untouched",
    WROpcode.SEND: "Put a message into the buffers of the peer's next receive",
    WROpcode.SEND_WITH_IMM: "A SEND whose completion at the peer carries 32 bits",
    WROpcode.RDMA_READ: "Fetch bytes of the peer's memory; the local buffers need LOCAL_WRITE",
    WROpcode.ATOMIC_CMP_AND_SWP: "If 8 bytes at the peer equal compare_add, put swap there; what "
    "was there comes back, and SUCCESS does not mean that it was swapped",
    WROpcode.ATOMIC_FETCH_AND_ADD: "Add compare_add to 8 bytes at the peer, modulo 2^64; what was "
    "there comes back",
    WROpcode.LOCAL_INV: "Take the validity from a memory window's rkey; nothing is sent",
    WROpcode.BIND_MW: "Bind a memory window to a range of a region; nothing is sent",
    WROpcode.SEND_WITH_INV: "A SEND that also invalidates a memory window's rkey at the peer",
    WROpcode.TSO: "Cut a large segment into packets with a copied header; UD and raw only",
    WROpcode.DRIVER1: "Whatever a vendor's driver takes it for",
    WROpcode.FLUSH: "Make earlier WRITEs visible, or persistent, at the peer",
    WROpcode.ATOMIC_WRITE: "Write 8 bytes at the peer so that nobody sees half of them",
}

SEND_FLAGS: dict[SendFlags, tuple[str, ...]] = {
    SendFlags.FENCE: (
        "This WR does not start before all earlier READs and atomics of its queue are complete.",
        "It does not wait for SENDs and WRITEs; they are in order anyway.",
        "Use it when the bytes a READ brings are sent on by the next WR.",
    ),
    SendFlags.SIGNALED: (
        "Success makes a CQE; without the flag only an error does (sq_sig_all=1: always).",
        "Signal at least one WR in max_send_wr and poll it, or the queue fills for good.",
    ),
    SendFlags.SOLICITED: (
        "The last packet carries the SE bit; the peer's CQ wakes if armed with solicited_only=1.",
        "A CQ that is armed for every completion wakes without it.",
    ),
    SendFlags.INLINE: (
        "The CPU copies the data at post time: no lkey is asked, the buffer is free at once.",
        "At most max_inline_data bytes; the peer cannot tell.",
    ),
    SendFlags.IP_CSUM: ("The device fills in IP and TCP checksums of raw packets.",),
}

WC_OPCODES: dict[WCOpcode, str] = {
    WCOpcode.SEND: "A SEND of any kind is done: on RC the peer's HCA has acknowledged it",
    WCOpcode.RDMA_WRITE: "A WRITE of any kind is done; the peer's program need not know",
    WCOpcode.RDMA_READ: "The bytes of a READ are in the local buffers; byte_len says how many",
    WCOpcode.COMP_SWAP: "The old value is in the local buffer; compare it to know if it swapped",
    WCOpcode.FETCH_ADD: "The old value is in the local buffer",
    WCOpcode.BIND_MW: "A memory window is bound",
    WCOpcode.LOCAL_INV: "A memory window's rkey is void",
    WCOpcode.TSO: "A large segment has left",
    WCOpcode.FLUSH: "The peer has flushed",
    WCOpcode.ATOMIC_WRITE: "8 bytes are written at the peer",
    WCOpcode.RECV: "A SEND of any kind filled a receive; byte_len says how far",
    WCOpcode.RECV_RDMA_WITH_IMM: "A WRITE with immediate took a receive; its buffers are untouched",
    WCOpcode.TM_ADD: "Tag matching only, which is not emulated: a tag was added",
    WCOpcode.TM_DEL: "Tag matching only, which is not emulated: a tag was removed",
    WCOpcode.TM_SYNC: "Tag matching only, which is not emulated: counters agree again",
    WCOpcode.TM_RECV: "Tag matching only, which is not emulated: a tagged message came",
    WCOpcode.TM_NO_TAG: "Tag matching only, which is not emulated: a message without a tag came",
    WCOpcode.DRIVER1: "Whatever a vendor's driver takes it for",
    WCOpcode.DRIVER2: "Whatever a vendor's driver takes it for",
    WCOpcode.DRIVER3: "Whatever a vendor's driver takes it for",
}

WC_FLAGS: dict[WCFlags, str] = {
    WCFlags.GRH: "The first 40 bytes of a UD receive hold the sender's network header",
    WCFlags.WITH_IMM: "imm_data holds 32 bits from the sender, in network order",
    WCFlags.IP_CSUM_OK: "The device has checked the checksums of a raw packet",
    WCFlags.WITH_INV: "invalidated_rkey names the window that the sender made void",
}

SYNDROMES: dict[Syndrome, str] = {
    Syndrome.ACK: "Everything up to this PSN is done; the low bits are credits, 31 means none",
    Syndrome.RNR_NAK: "No receive was there: wait as long as the low bits say, then send again",
    Syndrome.NAK_SEQUENCE: "Packets are missing: send again from this PSN, at once",
    Syndrome.NAK_INVALID_REQUEST: "The request is wrong in itself, or not enabled at the peer",
    Syndrome.NAK_REMOTE_ACCESS: "The peer's memory key does not allow it",
    Syndrome.NAK_REMOTE_OPERATION: "The peer tried and could not finish",
    Syndrome.NAK_INVALID_RD_REQUEST: "Reliable datagram only, which no device offers",
}

OPS: dict[Op, str] = {
    Op.SEND: "A piece of a message for the peer's next receive",
    Op.RDMA_WRITE: "A piece of a write to the peer's memory",
    Op.RDMA_READ_REQUEST: "Asks for a range of the peer's memory; takes one PSN an answer packet",
    Op.RDMA_READ_RESPONSE: "A piece of the data that a READ asked for",
    Op.ACKNOWLEDGE: "Yes or no to a request; the AETH syndrome says which",
    Op.ATOMIC_ACKNOWLEDGE: "The answer to an atomic, with the value from before",
    Op.COMPARE_SWAP: "Asks for a compare and swap of 8 bytes",
    Op.FETCH_ADD: "Asks for an addition to 8 bytes",
    Op.FLUSH: "Asks to make earlier writes visible or persistent",
    Op.ATOMIC_WRITE: "Writes 8 bytes as one",
    Op.CNP: "Congestion notice: slow down; not a request and never answered",
}

PORT_STATES: dict[PortState, str] = {
    PortState.NOP: "No change; never a state that a port is in",
    PortState.DOWN: "No cable, or nobody at the other end; packets vanish",
    PortState.INIT: "InfiniBand only: the cable is there, the subnet manager has not come by",
    PortState.ARMED: "InfiniBand only: configured, waiting for the word to go",
    PortState.ACTIVE: "Packets move",
    PortState.ACTIVE_DEFER: "InfiniBand only: active, for the moment in trouble",
}

# Limits that no verb tells.
LIMITS: dict[str, str] = {
    "max_sq_bytes": "memory of one send queue: ENOMEM beyond it, within max_qp_wr as well",
    "memlock_limit": "bytes, in whole pages, that the regions of the process may lock: ulimit -l",
    "cap_net_raw": "whether the process may make RAW_PACKET queue pairs and flow rules",
}

ATOMIC_CAPS: dict[AtomicCap, str] = {
    AtomicCap.NONE: "The device has no atomics",
    AtomicCap.HCA: "Atomic against what the same HCA does, not against the CPU",
    AtomicCap.GLOB: "Atomic against everybody, the CPU included",
}

SRQ_TYPES: dict[SrqType, str] = {
    SrqType.BASIC: "An SRQ to which queue pairs are tied when they are made",
    SrqType.XRC: "An SRQ of an XRC domain: each message names it, and it has a CQ of its own",
    SrqType.TM: "An SRQ that matches tags; no device of the lab makes one",
}

SRQ_ATTRIBUTES: dict[SrqAttrMask, str] = {
    SrqAttrMask.MAX_WR: "modify_srq resizes the SRQ; the device needs SRQ_RESIZE",
    SrqAttrMask.LIMIT: "modify_srq arms the limit of the SRQ; 0 disarms it",
}

# What `strerror` says, and what it means here.
ERRNOS: dict[int, tuple[str, str]] = {
    EINVAL: (
        "Invalid argument",
        "A value is wrong: no change, but earlier requests of a list stay posted",
    ),
    ENOMEM: ("Cannot allocate memory", "No room: a queue without a free slot, or a full table"),
    EDEADLK: ("Resource deadlock avoided", "One thread would wait for itself; C programs hang"),
    ENOSPC: ("No space left on device", "Soft-RoCE's word for a batch that does not fit"),
    EBUSY: ("Device or resource busy", "Somebody still uses it: destroy the users first"),
    EFAULT: ("Bad address", "An address or object that does not exist; C programs crash instead"),
    EOPNOTSUPP: ("Operation not supported", "The device does not do this at all"),
    ETIMEDOUT: ("Connection timed out", "Nobody answered in time: no host has this address"),
    EIO: ("Input/output error", "The device is dead; DEVICE_FATAL has told so"),
    EAGAIN: ("Resource temporarily unavailable", "In C the call would block; here it says so"),
    ENOENT: ("No such file or directory", "Nothing is there: an empty queue"),
    EPERM: (
        "Operation not permitted",
        "A right is lacking, or the protection domains differ",
    ),
    ENXIO: ("No such device or address", "The device has not even the unit that would do this"),
    ENODATA: ("No data available", "A table entry that was named is empty"),
}

PROFILES: dict[str, str] = {
    "strict": "What the documents and the specification say; the default",
    "rxe": "Soft-RoCE of kernel 6.1, bug for bug, as recorded",
    "mlx5": "The errno and slot rules of the ConnectX driver, and what was measured of the device",
}

CELLS: dict[str, str] = {
    "qp_types": "The types of queue pair that the device makes",
    "link_layers": "The link layers that the ports of the device can have",
    "raises_speed_event": "A link of another speed raises DEVICE_SPEED_CHANGE",
    "lkey_is_rkey": "An MR's lkey and rkey are the same number",
    "lacks_builders": "Builders of ibv_wr_* that make sense for a type and are not there",
    "refuses_null_pointers": "bad_wr=NULL or wr=NULL is refused before anything else is looked at",
    "batch_unchecked": "Rules that wr_complete does not ask for; the device finds out, or nobody",
    "setter_makes_inline": "An inline setter suffices; otherwise wr_flags must say INLINE as well",
    "list_setters_add": "A list of pieces is as long as all of them; else n times the first, "
    "and an inline list is empty",
    "rkey_needs_remote_right": "An MR without REMOTE_* rights has the rkey 0, which opens nothing",
    "honours_zero_based": "An MR registered with ZERO_BASED is addressed from 0; else as it lies",
    "rereg_changes": "What rereg_mr can change: 1 the translation, 2 the PD, 4 the access",
    "windows_take_local_write": "LOCAL_WRITE among the rights of a window means nothing; "
    "else the bind fails",
    "early_posts_stay": "A send refused before RTS stays in the ring and runs with the next post",
    "refuses_unknown_opcode": "Posting an opcode that nobody knows, or that this device "
    "does not do, is refused at once",
    "refuses_foreign_opcode": "Posting an opcode of another QP type is refused at once",
    "lacks": "Opcodes of a QP type that this device does not do",
    "refuses_bind_data": "BIND_MW with SGEs or immediate data is refused at once",
    "refuses_unknown_flags": "Posting with unknown send flags is refused at once",
    "refuses_foreign_flags": "FENCE and IP_CSUM are refused on QP types that cannot honour them",
    "refuses_inline_read": "INLINE with a READ or atomic is refused at once",
    "refuses_odd_atomics": "post_send refuses an atomic of fewer than 8 local bytes, or whose "
    "remote_addr is no multiple of 8; otherwise the device and the responder find the mistake",
    "odd_atomic_status": "Status of an atomic whose local list is not 8 bytes long: no packet "
    "leaves; SUCCESS: the atomic is sent all the same",
    "flushes_recvs_posted_in_err": "A receive posted in ERR is flushed; otherwise it never ends",
    "zero_sge_bytes": "How many bytes an SGE of length 0 stands for",
    "length_bits": "How many bits of the sum of its SGEs' lengths a request keeps",
    "refuses_long_message": "A send longer than max_msg_sz is refused at once; a receive may be "
    "longer on every device",
    "long_message_status": "What a send longer than max_msg_sz completes with, if its post was not "
    "refused: no packet leaves; SUCCESS: it is sent all the same",
    "rounding": "How many slots a send or receive queue gets for the number asked",
    "cq_srq_rounding": "How many completions a CQ, or receives an SRQ, holds for the number asked",
    "create_qp_returns_asked": "create_qp reports the sizes asked, query_qp the real ones",
    "slots_freed": "When a slot of a queue comes back",
    "inline_bytes_per_sge": "Inline room that each SGE of a queue brings with it",
    "reset_purges_cqes": "RESET takes the QP's CQEs off its CQs",
    "overrun_kills_cq": "A CQE too many kills the CQ and takes its QPs to ERR",
    "checks_table_without_state": "modify_qp without a state is judged by the table too",
    "believes_cur_state": "cur_qp_state is believed instead of checked",
    "modify_judges_address": "Fields of ah_attr whose range modify_qp checks",
    "create_ah_judges": "Fields of an address whose range create_ah checks",
    "attr_mask_bits": "How many bits of attr_mask the driver knows; with a higher one: EOPNOTSUPP",
    "resolves_addresses": "modify_qp and create_ah look for the MAC of an address: ETIMEDOUT if "
    "nobody has it",
    "address_sets_port": "An ah_attr that is given outside the move to RTR sets port_num too",
    "rounds_read_depths": "Depths of READs are rounded up to a power of two, kept in 8 bits",
    "retry_cnt_7_is_infinite": "retry_cnt 7 never gives up",
    "ack_timeout_factor": "How many times the timeout the device really waits. At timeout 14, "
    "retry_cnt 7 one mlx5 adapter took 3.56 s and 15 packets, the lab takes 2.147 s and 8",
    "timer_tick_ns": "Timers are rounded up to ticks of this many ns; 0 keeps them exact",
    "send_error_gives_sqe": "A failed send takes a UC or UD QP to SQE, not to ERR",
    "unknown_lkey_status": "What a send with an unknown lkey completes with",
    "ah_read_at_post": "An address handle is read when the WR is posted, not when it is executed",
    "long_datagram_status": "What a datagram longer than the port MTU completes with",
    "guards_privileged_qkey": "A remote_qkey with bit 31 set sends the QP's own Q_Key instead",
    "bad_invalidate_status": "What a LOCAL_INV completes with whose key is no bound window's",
    "sends_hop_limit_0": "A packet whose address says hop_limit 0 leaves, with TTL 0, and "
    "arrives; elsewhere it never leaves",
    "sends_mig_req": "MigReq (migrated) of the BTH is 1 in packets of a QP whose path_mig_state is "
    "MIGRATED; otherwise always 0",
    "takes_implied_naks": "An answer behind a gap in READ data makes it ask for the rest at once; "
    "otherwise the ack timer finds the gap",
    "resumes_after_sqd": "Leaving SQD starts what waits; otherwise the next post does",
    "drained_event_unasked": "SQ_DRAINED comes without en_sqd_async_notify",
    "rnr_wait_drains": "In SQD a send that waits out an RNR NAK counts as not begun: the queue has "
    "drained without it",
    "stalls_above_port_mtu": "A packet longer than the port MTU is tried again for ever: the send "
    "queue stands still; otherwise it travels all the same",
    "checks_packet_size": "Packets that do not fit the path MTU are refused",
    "short_receive_breaks_ud": "A datagram longer than its receive completes it with "
    "IBV_WC_LOC_LEN_ERR and takes the QP to ERR; otherwise the datagram is dropped and the receive "
    "waits for the next",
    "alignment_before_key": "The address of an atomic is checked before its R_Key; otherwise after "
    "it",
    "nak_after_rnr": "Packets behind an RNR NAK get a NAK of their own",
    "unheard_ack_psn": "The PSN of an ACK for a duplicate before anything new was received; None: "
    "the one before rq_psn",
    "joins_acks": "An ACK that has not left yet speaks for later requests too; otherwise each that "
    "asks for one gets its own",
    "enforces_read_depth": "READs and atomics beyond max_dest_rd_atomic are refused",
    "raises_responder_events": "Refusals raise QP_ACCESS_ERR and QP_REQ_ERR",
    "raises_last_wqe_reached": "A QP on an SRQ that dies raises QP_LAST_WQE_REACHED",
    "least_srq_sge": "The least max_sge that an SRQ gets, whatever was asked",
    "refuses_unknown_srq_mask": "modify_srq with bits that mean nothing is refused",
    "limit_counts_at_once": "Arming a limit that is undercut already raises the event at once",
    "reads_failed_srq": "query_srq answers for an SRQ in its error state",
    "checks_srq_pd": "The buffers of an SRQ must be in the protection domain of the SRQ; otherwise "
    "in that of the QP that takes the receive",
    "checks_window_bounds": "Access outside a window, inside its region, is refused",
    "checks_window_qp": "LOCAL_INV and SEND_WITH_INV invalidate only windows that were bound "
    "through the same QP; otherwise those of any QP",
    "checks_write_key_per_packet": "Every packet of an RDMA WRITE checks the R_Key; otherwise only "
    "the first does, and the rest is written even if the region was deregistered",
    "checks_write_range_first": "The first packet of an RDMA WRITE checks the whole range; "
    "otherwise each packet checks its own bytes, and packets inside the region are written",
    "clears_unused_grh": "The 20 bytes before an IPv4 header in a datagram's receive are zeroed",
    "grh_flag_on_rc": "RC receives carry IBV_WC_GRH",
    "with_inv_flag": "The flag on the receive of a SEND_WITH_INV",
    "send_byte_len": "byte_len of a send or write completion says the length",
    "imm_flag_on_sender": "The sender's own completion carries IBV_WC_WITH_IMM",
    "junk_on_error": "What the undefined fields of an error completion hold",
    "vendor_errors": "What vendor_err of a failed request holds",
    "send_error_wakes_solicited": "A failed send wakes a CQ armed for solicited ones only",
    "recv_error_wakes_solicited": "So does a failed receive, whether the message was solicited or "
    "not; a flushed one always does",
    "arm_sees_unpolled": "Arming a CQ on which completions wait raises the event at once",
    "extended_fields": "What wc_flags of create_cq_ex may ask for",
}
