"""Fields of verbs: what each key of a work request, a size or a rule of a flow is for.

The sentence is written by hand; who takes the field, its type, width and default are read from the
signatures. Attributes of a queue pair have a table of their own.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from rdmalab.command import Command, EnumKind, IntegerKind, ListKind, Parameter, RecordKind
from rdmalab.grammar.enum_words import legal_words
from rdmalab.grammar.format import value_text
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry

# fmt: off
FIELDS: dict[str, str] = {
    # work requests
    "wr_id": "64 bits of the program's own, which come back in the completion unseen",
    "opcode": "what a send work request asks for: SEND, RDMA_WRITE, RDMA_READ …",
    "sg": "the pieces of local memory; their bytes in list order are the message; leave it out for "
    "a message of no bytes",
    "num_sge": "how many pieces sg_list has; left out, all that are written",
    "num_buf": "how many pieces buf_list has; left out, all that are written",
    "addr": "where a piece of memory begins, as the process sees it",
    "lkey": "the key of the MR that the bytes lie in; a wrong one ends in LOC_PROT_ERR",
    "length": "how many bytes; of an SGE in strict 0 means 2^31, in drivers 0",
    "imm_data": "32 bits for the peer's completion, stored as they travel: write htonl(0x1234)",
    "remote_addr": "where a WRITE, READ or atomic begins, as the peer's process sees it",
    "compare_add": "of CMP_AND_SWP what is compared, of FETCH_AND_ADD what is added",
    "swap": "of CMP_AND_SWP what is put there if the comparison holds",
    "compare": "what wr_atomic_cmp_swp compares with",
    "add": "what wr_atomic_fetch_add adds",
    "remote_qpn": "the queue pair a datagram is for; connected types have dest_qp_num instead",
    "remote_qkey": "what the receiver's qkey is said to be; with bit 31 set the own qkey is sent",
    "remote_srqn": "the number of the SRQ an XRC message is for: get_srq_num tells it",
    "hdr_addr": "where the headers lie that TSO copies before each piece",
    "hdr_sz": "how many bytes of headers TSO copies",
    "mss": "how many bytes each packet of a TSO carries behind its headers",
    "invalidate_rkey": "the key that LOCAL_INV makes void here, SEND_WITH_INV at the peer",
    "mw_rkey": "the rkey a type 2 window gets by this bind: only the low octet is taken, the index "
    "stays; left out, the next one",
    "bind_mr": "the region a window is bound onto; it needs MW_BIND",
    "bind_addr": "where in the region the window begins",
    "bind_length": "how long the window is; 0 unbinds one of type 1",
    "bind_access": "what a peer may do through the window",
    "flush_length": "how many bytes a FLUSH with level RANGE is about",
    "flush_type": "how far the data must have come: GLOBAL, PERSISTENT",
    "flush_level": "what a FLUSH is about: a RANGE, or all of the MR",
    "next": "the pointer to the next request: NULL ends the list, or garbage without memset",
    "rest": "what the fields hold that nobody set: zero, or what lay in memory before",
    "bad_wr": "where the verb puts the first request it refused; NULL crashes C when there is one",
    "wr_flags": "the flags the next builder reads: SIGNALED, FENCE, SOLICITED",
    "thread": "which thread of the program opens the region: another one has to wait",
    "buf": "bytes that are copied into the request at once; no key is asked",
    "atomic_wr": "the 8 bytes that ATOMIC_WRITE writes",
    "flags": "what the verb is to do besides; each verb has flags of its own",
    # memory
    "access": "what may be done with the memory: LOCAL_WRITE, REMOTE_READ …",
    "hca_va": "the address that peers use for the region's first byte",
    # completion queues
    "cqe": "how many completions the queue shall hold at least",
    "comp_vector": "which interrupt of the device a CQ uses, 0 to num_comp_vectors - 1",
    "channel": "the completion channel that a CQ tells of its events; none: it can only be polled",
    "cq_context": "a number of the program's own that comes back with each event of the CQ",
    "wc_flags": "which fields of a completion an extended CQ lets the program read",
    "num_entries": "how many completions poll_cq takes at most",
    "solicited_only": "1: only a solicited completion, or an error, wakes the channel; 0: any",
    "nevents": "how many events are acknowledged: destroy_cq waits for all of them",
    "field": "which field of the completion at hand to read",
    # queue pairs
    "qp_type": "the service: RC, UC, UD …; it can never be changed",
    "send_cq": "where sends complete",
    "recv_cq": "where receives complete",
    "max_send_wr": "how many sends the queue holds: posted, and not yet given back by a poll",
    "max_recv_wr": "how many receives the queue holds",
    "max_send_sge": "how many pieces a send may have",
    "max_recv_sge": "how many pieces a receive may have",
    "max_inline_data": "how many bytes a send may carry inside itself",
    "max_tso_header": "how many bytes of headers a TSO may have",
    "sq_sig_all": "1: every send gives a completion, SIGNALED or not",
    "attr_mask": "which attributes count; left out, those that are written",
    "send_ops_flags": "which wr_* builders the queue pair shall have",
    "comp_mask": "which fields of the struct are filled in",
    "qp_num": "the number of a shared queue pair that open_qp opens",
    # addresses
    "is_global": "1: packets have a GRH with GIDs, as always on RoCE; 0 is usual on InfiniBand",
    "sgid_index": "which entry of the own GID table the packets come from",
    "hop_limit": "how many routers may pass a packet on; with 0 it never leaves, but on rxe",
    "traffic_class": "the priority that routers see, and the two bits of congestion",
    "flow_label": "what tells routers which packets belong together",
    "dlid": "the LID of the peer's port, which an InfiniBand port needs; nothing on RoCE",
    "lid": "the LID of a group, or of a port in query_port: InfiniBand only",
    "src_path_bits": "which of the port's own LIDs packets come from: InfiniBand only, see lmc",
    "sl": "the service level, a class of priority of InfiniBand",
    "static_rate": "a slower rate for a slower peer: InfiniBand only",
    "index": "which entry of the table",
    # shared receive queues, XRC
    "max_wr": "how many receives an SRQ holds",
    "max_sge": "how many pieces a receive of the SRQ may have",
    "srq_limit": "fewer receives than that raise SRQ_LIMIT_REACHED, once; 0 is never",
    "srq_type": "BASIC, or XRC with a domain and a CQ",
    "srq_attr_mask": "which fields of the SRQ change",
    "fd": "the file that names an XRC domain to other processes; -1 is a private one",
    "oflag": "O_CREAT makes the domain, O_EXCL demands that it is new",
    # domains
    "parent": "the protection domain behind a parent domain",
    # flow rules
    "type": "which kind: of a window TYPE_1 or TYPE_2, of a flow rule NORMAL, SNIFFER …",
    "port": "the port a flow rule listens at",
    "priority": "a rule with a lower number is asked first",
    "dst_mac": "the rule wants frames to this MAC",
    "src_mac": "the rule wants frames from this MAC",
    "ether_type": "the rule wants this EtherType: 0x800 is IPv4",
    "src_ip": "the rule wants packets from this address",
    "dst_ip": "the rule wants packets to this address",
    "protocol": "the rule wants this IP protocol: 17 is UDP",
    "src_port": "the rule wants this port of the sender",
    "dst_port": "the rule wants this port of the target; RoCE v2 has 4791",
    # structs: their fields can be written on their own as well
    "init_attr": "the struct that a create_ verb reads",
    "attr": "the struct of attributes that the verb reads",
    "spec": "what a frame must look like for a NORMAL rule",
    "target": "where at the peer: remote_addr and rkey together",
    "operands": "the operands of the atomic",
    "info": "mw_bind_info: bind_mr, bind_addr, bind_length, bind_access together",
    "header": "hdr: the headers of a TSO, hdr_addr and hdr_sz together",
    "qpx": "ibv_qp_ex: wr_id and wr_flags together",
    "asked": "mw_bind: wr_id, flags and what is bound",
    # events
    "what": "which asynchronous event is acknowledged, or what is meant",
}

# Where a field is found in the packets: header and field of it.
WIRE: dict[str, str] = {
    "opcode": "the opcode of the BTH, with FIRST, MIDDLE, LAST or ONLY",
    "sg": "the payload",
    "length": "dma_length of a RETH",
    "imm_data": "the ImmDt",
    "remote_addr": "va of a RETH or AtomicETH",
    "rkey": "rkey of a RETH or AtomicETH",
    "dlid": "dlid of the LRH",
    "src_path_bits": "the low bits of the slid of the LRH",
    "sl": "sl of the LRH",
    "compare_add": "compare or swap_add of the AtomicETH",
    "compare": "compare of the AtomicETH",
    "add": "swap_add of the AtomicETH",
    "swap": "swap_add of the AtomicETH",
    "remote_qpn": "dest_qp of the BTH",
    "remote_qkey": "qkey of the DETH",
    "remote_srqn": "srqn of the XRCETH",
    "hdr_addr": "the headers of each frame",
    "hdr_sz": "the headers of each frame",
    "mss": "the payload of each frame",
    "invalidate_rkey": "the IETH",
    "flush_length": "dma_length of the RETH",
    "flush_type": "placement of the FETH",
    "flush_level": "selectivity of the FETH",
    "buf": "the payload",
    "atomic_wr": "the payload",
    "traffic_class": "traffic_class of the IP header",
    "flow_label": "flow_label of an IPv6 header",
    "hop_limit": "hop_limit, or ttl, of the IP header",
    "sgid_index": "src of the IP header",
    "qp_num": "dest_qp of what the peer sends",
}
# fmt: on
_MOST_NAMED = 6


class FieldUse(NamedTuple):
    """A command and the parameter, or field of a record, that it takes."""

    command: str
    parameter: Parameter


def entries(vocabulary: Mapping[str, Command]) -> Iterator[Entry]:
    """One article a field that some command of the vocabulary takes."""
    places = fields_of(vocabulary)
    for name in FIELDS:
        if name in places:
            write = partial(field_article, name, places[name])
            aliases = dict.fromkeys(a for place in places[name] for a in _other_names(place))
            yield Entry(f"field {name}", "field of a verb", (name, *aliases), write)


def _other_names(place: FieldUse) -> tuple[str, ...]:
    return *place.parameter.aliases, *place.parameter.dotted


def fields_of(vocabulary: Mapping[str, Command]) -> dict[str, list[FieldUse]]:
    """Each name that can be written before `=`, and where."""
    places: dict[str, list[FieldUse]] = {}
    for command in vocabulary.values():
        for parameter in command.parameters:
            _collect(places, command.name, parameter)
    return places


def _collect(places: dict[str, list[FieldUse]], command: str, parameter: Parameter) -> None:
    found = places.setdefault(parameter.name, [])
    if all(place.command != command for place in found):
        found.append(FieldUse(command, parameter))
    kind = parameter.kind
    while isinstance(kind, ListKind):
        kind = kind.item
    for field in kind.fields if isinstance(kind, RecordKind) else ():
        _collect(places, command, field)


def field_article(name: str, places: list[FieldUse]) -> Article:
    """One field, wherever it is taken."""
    commands = [place.command for place in places]
    more = f" and {len(commands) - _MOST_NAMED} more" if len(commands) > _MOST_NAMED else ""
    rows: list[Row] = [
        ("", FIELDS[name]),
        ("who", "the program, as it fills in the struct"),
        ("wire", WIRE.get(name, "nothing of it")),
        ("taken by", " ".join(commands[:_MOST_NAMED]) + more),
        ("type", _type(places)),
        ("default", _default(places)),
    ]
    see = [f"help {commands[0]}"]
    return article(name, "field of a verb", rows, see)


def _type(places: list[FieldUse]) -> str:
    said = (one_type(place.parameter) for place in places)
    return "; ".join(dict.fromkeys(words for words in said if words))


def one_type(parameter: Parameter) -> str:
    """What a field may be: members of an enum, a pointer, or how many bits."""
    kind = parameter.kind
    if isinstance(kind, EnumKind):
        return ("|" if kind.is_flags else " ").join(legal_words(kind))
    if kind.pointer and not isinstance(kind, ListKind):
        return "pointer"
    if isinstance(kind, IntegerKind) and kind.bits is not None:
        return f"{kind.bits.width} bits"
    return ""


def _default(places: list[FieldUse]) -> str:
    """One that all who take it have."""
    given = [place.parameter for place in places]
    if any(parameter.required or parameter.default in (None, "", []) for parameter in given):
        return ""
    said = {value_text(parameter.default, parameter.kind) for parameter in given}
    return said.pop() if len(said) == 1 else ""
