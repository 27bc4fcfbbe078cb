"""Words of the trade that no table holds: what they mean, in a few sentences."""

from typing import NamedTuple


class Concept(NamedTuple):
    """Other spellings, the sentences, and where to read on."""

    words: tuple[str, ...]
    lines: tuple[str, ...]
    see: tuple[str, ...] = ()


# fmt: off
CONCEPTS: dict[str, Concept] = {
    "psn": Concept(("packet sequence number",), (
        "A 24-bit number that counts request packets; it goes round from 0xffffff to 0.",
        "A sends from its sq_psn on, B expects from its rq_psn on: the two must be equal.",
        "A READ request takes as many PSNs as its answer has packets.",
        "Newer and older mean: by less than half the circle.",
    ), ("explain sq_psn", "explain epsn")),
    "epsn": Concept(("expected psn",), (
        "The PSN a responder expects next. Equal: execute. Older: a duplicate, answered and not "
        "executed again. Newer: something was lost, a NAK asks for it.",
    ), ("explain psn", "explain duplicate")),
    "msn": Concept(("message sequence number",), (
        "How many messages the responder has completed, in every AETH, 24 bits.",
        "SEND and WRITE count at their last packet, READ and atomics when they are executed.",
    ), ("explain AETH",)),
    "rnr": Concept(("receiver not ready",), (
        "Receiver not ready: a message came and no receive was posted.",
        "RC answers with an RNR NAK that says how long to wait; the sender tries again rnr_retry "
        "times, 7 means for ever. UC and UD lose the message and say nothing.",
    ), ("explain RNR_NAK", "explain rnr_retry", "explain min_rnr_timer")),
    "doorbell": Concept(("ring the doorbell",), (
        "How the program tells the HCA that there is new work: one write into the device.",
        "Until then a work request is only bytes in memory; post_send rings it once a call.",
    ), ("help post_send",)),
    "lkey": Concept(("l_key", "local key"), (
        "The key by which the own HCA may touch a memory region; each SGE carries one.",
        "It is checked when the request is executed, never at post time.",
    ), ("explain rkey", "explain LOC_PROT_ERR", "explain lkey_is_rkey")),
    "rkey": Concept(("r_key", "remote key"), (
        "The key by which a peer may touch a memory region; it travels in the RETH.",
        "The peer checks key, PD, rights and the whole range before it writes a byte, and the "
        "key again at every packet: a region deregistered in mid-message stops the next one. "
        "Devices differ: `explain` the two checks below.",
        "How the other side learns it is the program's business: usually a SEND.",
    ), ("explain checks_write_key_per_packet", "explain checks_write_range_first",
        "explain REM_ACCESS_ERR", "explain lkey")),
    "flush": Concept(("flushed",), (
        "What waits on a queue when its QP dies completes with WR_FLUSH_ERR, oldest first.",
        "A flush is never the cause: look for the one other error before it. What was in "
        "progress may have reached the peer.",
        "RESET flushes nothing: there the requests vanish without completions.",
    ), ("explain WR_FLUSH_ERR", "explain ERR")),
    "slots": Concept(("slot",), (
        "A queue has as many slots as WQEs it can hold. A send takes one at post time; it comes "
        "back when a completion of it, or of a later one, is polled, not when the ACK comes.",
        "Only unsignaled sends: nothing is ever polled, the queue fills for good, ENOMEM.",
    ), ("explain SIGNALED", "explain slots_freed", "explain queue-full")),
    "wr": Concept(("work request", "send request", "receive request", "sr", "rr"), (
        "What the program posts: an opcode, local bytes, perhaps a remote address, a wr_id.",
        "The wr_id comes back with the completion; the HCA never looks at it.",
    ), ("explain wqe", "help post_send")),
    "wqe": Concept(("work queue element",), (
        "A work request on a queue, with the HCA's progress. It keeps its slot until polled.",
    ), ("explain wr", "explain cqe", "explain slots")),
    "cqe": Concept(("completion queue entry",), (
        "What the HCA puts on a completion queue when a request is done: errors always, sends "
        "only if signaled, receives always.",
    ), ("explain wc", "explain SIGNALED")),
    "wc": Concept(("work completion",), (
        "What poll_cq hands out of a CQE. On an error only wr_id, status, qp_num and vendor_err "
        "mean anything; the rest is junk.",
    ), ("help poll_cq", "explain junk_on_error")),
    "vendor_err": Concept(("vendor error", "vendor syndrome"), (
        "The device's own code beside the status of a failed request; the status is what counts.",
        "strict gives 0x80 plus the status, rxe 0, mlx5 the codes that ConnectX was seen with. "
        "There is no public list; beside a status without a known code mlx5 gives 0.",
    ), ("explain wc", "explain vendor_errors")),
    "profile": Concept(("profiles", "device profile"), (
        "What one device does differently from another, as data: strict, rxe, mlx5.",
        "Each difference is a cell with a name that can be explained.",
    ), ("explain strict", "explain rxe", "explain mlx5")),
    "qp": Concept(("queue pair",), (
        "A send queue and a receive queue, with a state and, if connected, one peer.",
        "It is made in RESET and brought up through INIT and RTR to RTS.",
    ), ("explain modify_qp", "explain RC")),
    "sq": Concept(("send queue",), (
        "Where post_send puts work. Requests start in order and complete in order.",
    ), ("explain slots", "help post_send")),
    "rq": Concept(("receive queue",), (
        "Where post_recv puts buffers. Each message takes the oldest receive, whatever its size.",
    ), ("explain rnr", "help post_recv")),
    "srq": Concept(("shared receive queue",), (
        "Receives that many QPs share; whichever needs one takes the oldest.",
        "They belong to the SRQ: a QP in ERR flushes only those that it had taken. Their buffers "
        "must be in the SRQ's protection domain; Soft-RoCE checks that of the QP.",
    ), ("explain checks_srq_pd", "explain SRQ_LIMIT_REACHED",)),
    "cq": Concept(("completion queue",), (
        "A FIFO of completions, of any number of queues. It must have room for all of them: a "
        "CQE that finds it full is lost and the CQ is dead.",
    ), ("explain CQ_ERR", "help poll_cq")),
    "pd": Concept(("protection domain",), (
        "A fence: QPs and memory regions work together only inside one.",
    ), ("help alloc_pd",)),
    "mr": Concept(("memory region",), (
        "Memory the HCA may touch: pages that stay where they are, rights, an lkey, an rkey.",
    ), ("help reg_mr", "explain lkey", "explain rkey")),
    "mw": Concept(("memory window",), (
        "A part of a region with an rkey of its own, given and taken back by work requests.",
    ), ("explain BIND_MW", "explain LOCAL_INV")),
    "ah": Concept(("address handle",), (
        "An address for datagrams: GID, port, hop limit. A connected QP has it in ah_attr.",
    ), ("explain ah_attr", "explain gid")),
    "sge": Concept(("scatter gather", "scatter/gather", "sg"), (
        "One piece of local memory: address, length, lkey. A list of them is read (gather) or "
        "written (scatter).",
        "The bytes of the message are in list order. The order in which the device accesses the "
        "memory is not defined.",
        "For an empty message leave the list out.",
    ), ("explain zero_sge_bytes",)),
    "gid": Concept(("dgid", "sgid"), (
        "A port's address, 128 bits. On RoCE v2 it is its IPv6 address, or the IPv4 address "
        "mapped into one; sgid_index picks the own one.",
    ), ("explain ah_attr",)),
    "qpn": Concept(("qp number", "0xffffff", "16777215", "multicast qpn"), (
        "24 bits that name a QP on its node; every packet carries that of its target.",
        "0xFFFFFF is no queue pair: a datagram to it is for every QP that is attached to the "
        "multicast group of its address.",
        "A remote_qpn of more than 24 bits is not refused: packets carry its low 24 bits.",
    ), ("explain dest_qp_num", "explain remote_qpn", "explain wrong-qpn", "help attach_mcast")),
    "requester": Concept((), (
        "The engine that takes sends off the queue and makes request packets of them.",
    ), ("explain responder", "explain completer")),
    "responder": Concept((), (
        "The engine that checks arriving requests, executes them and answers.",
        "It checks in a fixed order; the first refusal decides.",
    ), ("explain requester", "explain rkey")),
    "completer": Concept((), (
        "The engine that turns answers and timeouts into completions and retries.",
    ), ("explain requester", "explain retry")),
    "retry": Concept(("go back n", "retransmission"), (
        "When an answer is missing, everything from the oldest PSN without one is sent again.",
        "Timeouts and sequence NAKs spend retry_cnt, RNR NAKs spend rnr_retry; progress refills "
        "both. The data is read anew: a buffer changed meanwhile sends other bytes.",
    ), ("explain timeout", "explain retry_cnt", "explain RETRY_EXC_ERR")),
    "implied nak": Concept((), (
        "An answer came to a request behind a READ or atomic whose own answer did not: that one "
        "was lost, and the requester goes back without being told.",
    ), ("explain retry",)),
    "duplicate": Concept(("duplicates",), (
        "A request seen before. SEND and WRITE are acknowledged again and not executed, a READ "
        "is read again as memory is now, an atomic gets its kept result.",
    ), ("explain epsn", "explain duplicate-gone")),
    "coalescing": Concept(("coalesced ack",), (
        "One ACK answers everything up to its PSN; a lost one is made good by a later one.",
    ), ("explain ACK",)),
    "credits": Concept(("end to end credits",), (
        "An ACK can say how many receives are posted. This lab, like Soft-RoCE, says nothing: 31.",
    ), ("explain ACK", "explain rnr")),
    "drain": Concept(("draining",), (
        "To let everything posted finish. SQD does it for sends that are begun. Or: go to ERR, "
        "post one more signaled request on each queue, and wait for its flush.",
    ), ("explain SQD", "explain SQ_DRAINED")),
    "bring up": Concept(("bringup", "connect a qp"), (
        "RESET → INIT → RTR → RTS on both sides, after they exchanged QP numbers, addresses and "
        "first PSNs. Receives may be posted from INIT on, and should be before the peer sends.",
    ), ("explain modify_qp", "help connect")),
    "overrun": Concept(("cq overrun",), (
        "A CQE too many. The completion is lost, CQ_ERR is raised, the CQ is dead.",
    ), ("explain CQ_ERR", "explain overrun_kills_cq")),
    "immediate": Concept(("imm_data", "imm", "immediate data", "htonl", "network order"), (
        "32 bits that travel with a SEND or WRITE into the peer's completion.",
        "They are stored as they are sent: write htonl(0x1234), or the peer sees them swapped.",
    ), ("explain WITH_IMM", "explain ImmDt")),
    "message": Concept(("segmentation",), (
        "What one work request moves: one packet (ONLY), or FIRST, MIDDLE… and LAST of path_mtu "
        "bytes each. Padding fills up to 4 bytes and is not counted.",
    ), ("explain path_mtu", "explain SEND_ONLY")),
    "inline data": Concept((), (
        "The CPU copies the data into the work request when it is posted. No lkey is checked, and "
        "the buffer may be reused at once.",
    ), ("explain IBV_SEND_INLINE", "explain max_inline_data")),
    "atomic": Concept(("atomics", "atomic operation"), (
        "An operation on 8 bytes at the peer that no other atomic of the same HCA interrupts: "
        "compare and swap, fetch and add. The old value comes back.",
    ), ("explain ATOMIC_CMP_AND_SWP", "explain ATOMIC_FETCH_AND_ADD", "explain IBV_ATOMIC_HCA")),
    "outstanding": Concept(("outstanding work request",), (
        "A work request that is posted and has no completion yet. The HCA may still use its "
        "buffers; do not write to them, and do not read those of a receive, a READ or an atomic.",
        "max_rd_atomic limits how many READs and atomics are outstanding at once.",
    ), ("explain wqe", "explain max_rd_atomic")),
    "segmentation fault": Concept(("segfault", "crash"), (
        "How a C program ends that passes a bad pointer to libibverbs. The lab refuses the call "
        "instead, with EFAULT or EINVAL, and says that C would crash.",
    ), ("explain EFAULT", "explain rule crash-sg")),
    "critical region": Concept((), (
        "From wr_start to wr_complete or wr_abort. It holds the lock of the send queue; another "
        "thread waits for it.",
    ), ("explain wr_start", "explain rule lock-held")),
    "builder": Concept(("builders",), (
        "A function that begins one work request between wr_start and wr_complete: wr_send, "
        "wr_rdma_write … send_ops_flags of create_qp_ex asks for it.",
    ), ("explain setter", "explain send_ops_flags")),
    "setter": Concept(("setters", "data setter", "qp setter"), (
        "A function that completes the newest work request of a batch: wr_set_sge and "
        "wr_set_inline_data say which bytes, wr_set_ud_addr and wr_set_xrc_srqn where they go.",
    ), ("explain builder", "explain wr_set_sge")),
    "one sided": Concept(("rdma",), (
        "WRITE, READ and atomics touch the peer's memory without its program: no receive is "
        "taken and no completion made there, unless the WRITE has an immediate.",
    ), ("explain RDMA_WRITE", "explain RDMA_WRITE_WITH_IMM")),
    "qp number exchange": Concept(("out of band",), (
        "Two programs tell each other QP number, GID, PSN and rkeys by other means, a socket or "
        "a file. Here the lab knows both: dest_qp_num=B.qp0, ah=B, remote=B.mr0[0].",
    ), ("help connect",)),
    "partition": Concept(("p_key",), (
        "A number both ends must share, from a table of the port. Two limited members (bit 15 "
        "clear) do not hear each other.",
    ), ("explain pkey_index", "explain drop pkey")),
    "q_key": Concept((), (
        "The word an incoming datagram must know, else it is dropped without a sound.",
    ), ("explain qkey",)),
    "rx_icrc_encapsulated": Concept((), (
        "A counter of mlx5: RoCE packets that arrived with a wrong ICRC and were dropped.",
    ), ("help show", "explain icrc")),
    "local_ack_timeout_err": Concept((), (
        "A counter of mlx5: times the ack timer of a queue pair ran out, retries included.",
    ), ("help show", "explain timeout")),
    "implied_nak_seq_err": Concept((), (
        "A counter of mlx5: answers whose PSN shows that an earlier READ or atomic response is "
        "lost. The requester sends the request again.",
    ), ("help show", "explain takes_implied_naks")),
    "packet_seq_err": Concept((), (
        "A counter of mlx5: NAKs for a PSN sequence error that the requester received.",
    ), ("help show", "explain psn")),
    "icrc": Concept(("invariant crc",), (
        "32 bits at the end of every packet, over all that routers may not change.",
        "A packet whose ICRC is wrong is dropped; the sender learns of it by its timer.",
    ), ("explain malformed", "help fault")),
    "roce": Concept(("rocev2", "roce v2"), (
        "RDMA over converged Ethernet: InfiniBand's transport in UDP packets to port 4791.",
    ), ("explain BTH", "explain gid")),
    "completion": Concept(("no completion",), (
        "No completion? Not signaled, not yet (step), another CQ, a QP not in RTS, a peer that "
        "does not answer, a receive nobody sends to. `why` walks the list.",
    ), ("why", "explain SIGNALED")),
    "arm": Concept(("req_notify_cq", "completion channel", "notify"), (
        "A CQ is armed for one event. Arm first, then poll until it is empty, then wait: what "
        "came before the arming wakes nobody.",
    ), ("explain SOLICITED",)),
    "async event": Concept(("asynchronous event", "event"), (
        "What no completion can tell: a dead CQ, a port gone, a queue that drained. It waits "
        "until asked for; nobody is told unasked.",
    ), ("explain QP_FATAL", "explain CQ_ERR")),
    "xrc": Concept(("extended reliable connection",), (
        "XRC: one connection for all processes of a node; each message names an SRQ there.",
    ), ("explain XRC_SEND", "explain XRCETH")),
    "apm": Concept(("path migration", "automatic path migration"), (
        "APM: a connection (RC, UC, XRC) of InfiniBand ports has a second path to the peer.",
        "The program loads it (alt_ah_attr, alt_pkey_index, alt_port_num, alt_timeout) and sets "
        "path_mig_state=REARM. A packet with MigReq=0 from the peer makes it ARMED.",
        "When retries are exhausted, an ARMED queue pair changes to the alternate path instead of "
        "RETRY_EXC_ERR. Its packets then have MigReq=1, and the peer changes too. PATH_MIG on "
        "both sides; PATH_MIG_ERR where the peer's request does not fit.",
        "On RoCE every alt_ attribute is refused.",
    ), ("explain alt-path", "explain path_mig_state", "help port")),
    "migreq": Concept(("mig_req", "migration request"), (
        "A bit of the BTH: 1 while path_mig_state of the sender is MIGRATED, 0 in REARM and ARMED.",
        "0 makes a peer in REARM ARMED; 1 on the alternate path makes an ARMED peer MIGRATED.",
    ), ("explain apm", "explain BTH")),
    "lmc": Concept(("lid mask control", "path bits"), (
        "An InfiniBand port has 2**lmc LIDs, from lid on; the low lmc bits choose the path.",
        "The ports of the lab have lmc=1: two LIDs, so two paths between two ports.",
        "src_path_bits of an address chooses the LID that packets come from.",
    ), ("help query_port", "explain dlid")),
    "vcrc": Concept(("variant crc",), (
        "16 bits at the end of an InfiniBand packet, over all its bytes; each link checks them.",
        "A packet whose VCRC is wrong is dropped by the port.",
    ), ("explain icrc", "explain LRH")),
    "infiniband port": Concept(("link_layer", "lid routing"), (
        "A link layer of its own: an LRH with the LIDs instead of Ethernet, IP and UDP; a GRH "
        "only if is_global=1; the VCRC after the ICRC.",
        "Choose it before queue pairs are made: port A link_layer=InfiniBand, port B the same.",
        "Soft-RoCE (profile rxe) has no such port.",
    ), ("explain LRH", "explain lmc", "help port")),
    "xrcd": Concept(("xrc domain",), (
        "A domain that processes of a node share: the SRQs and XRC_RECV queue pairs in it serve "
        "all of them.",
    ), ("help open_xrcd", "explain XRC_RECV")),
    "td": Concept(("thread domain",), (
        "A promise: what is made in it, only one thread uses at a time. Its queues have no lock.",
    ), ("help alloc_td", "help alloc_parent_domain")),
    "parent domain": Concept((), (
        "A protection domain made of another one and, perhaps, a thread domain. What is made in "
        "it belongs to the protection domain; with a thread domain its queues have no lock.",
    ), ("help alloc_parent_domain", "explain td")),
    "flow": Concept(("flow rule", "steering"), (
        "Which arriving Ethernet frames a RAW_PACKET queue pair gets.",
    ), ("help create_flow", "explain RAW_PACKET")),
    "hca": Concept(("rnic", "adapter", "host channel adapter", "device"), (
        "The RDMA device: it reads and writes the program's memory by itself.",
    ), ("explain requester", "explain responder")),
    "node": Concept(("host",), (
        "One computer of the lab: its memory, its program (you) and its HCA. A and B, one cable.",
    ), ("help link",)),
    "nak": Concept(("negative acknowledgement",), (
        "An ACKNOWLEDGE whose AETH refuses a request: NAK_SEQUENCE, NAK_INVALID_REQUEST, "
        "NAK_REMOTE_ACCESS, NAK_REMOTE_OPERATION, NAK_INVALID_RD_REQUEST.",
        "As the name of a packet or a syndrome, NAK matches all of these. RNR_NAK is another "
        "class and has its own name.",
    ), ("explain RNR_NAK", "explain NAK_SEQUENCE")),
    "never": Concept((), (
        "A verdict of why: what was asked for cannot happen, unless something is changed.",
    ), ("help why", "explain pending")),
    "lost": Concept((), (
        "A verdict of why: RESET or destroy_qp has removed the work, or its completion.",
    ), ("help why", "explain never")),
    "pending": Concept((), (
        "A verdict of why: the work is not finished; the answer says what happens next.",
    ), ("help why", "explain never")),
    "well": Concept((), (
        "A verdict of why: no check of the doctor has found a failure.",
    ), ("help why", "explain pending")),
    "deaf": Concept((), (
        "A field of a queue pair, A.qp0.deaf: its receive queue is empty in RTR or later.",
        "The next SEND gets an RNR NAK on RC, and is dropped on UC and UD.",
    ), ("help expr", "explain rnr")),
    "not understood": Concept((), (
        "The line meant nothing: nothing happened and no event was counted. An error with an "
        "errno is the other thing: the verb ran and refused.",
    ), ("help",)),
}
# fmt: on
