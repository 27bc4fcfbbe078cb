"""The words that the C library and the lab exchange: their fields, and the C header made of them.

A message is a head, fixed fields and a tail: `HEAD` (length of what follows, word, node, thread,
and the addresses to which the program's call and its caller return), the fields of the word, then
as many records as are left. The answer is `ANSWER` (length, errno, the number of the work request
that was refused), fields and tail. All integers are little-endian.

Both sides read this page: Python packs and unpacks by it, and `header()` writes the C structures,
and functions that copy the public structures of <infiniband/verbs.h> member by member. So no offset
of that header is known here, and the compiler checks each name and type.
"""

import struct
from collections.abc import Callable
from enum import IntEnum
from operator import attrgetter
from typing import Any

from rdmalab.hca.wr import Cqe
from rdmalab.spec.row import dataclass

HEAD = struct.Struct("<IHHQQQ")
CALLER = struct.Struct("<QQQ")
"""The last fields of a head: a thread, and where it has called."""
_HEAD_WITH_CALLER = struct.Struct(f"<IHH{CALLER.size}s")
ANSWER = struct.Struct("<IiI")
LONGEST = 1 << 24
"""Bytes of a message; a longer one closes the connection."""
Ask = dict[str, Any]
"""The values of fields by their names."""
_CODES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "gid": "16s", "text": "64s"}
_C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "i32": "int32_t",
            "u64": "uint64_t"}  # fmt: skip
_MASKS = {kind: (1 << int(kind[1:])) - 1 for kind in _CODES if kind.startswith("u")}
_ARRAYS = {"gid": 16, "text": 64}  # bytes


def head_of(message: bytes | bytearray | memoryview, at: int = 0) -> tuple[int, int, int, bytes]:
    """The length, word and node of a message, and the bytes of CALLER."""
    found: tuple[int, int, int, bytes] = _HEAD_WITH_CALLER.unpack_from(message, at)
    return found


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message. member: where a structure of verbs.h has it, `grh.dgid.raw`."""

    type: str
    name: str
    member: str


class Layout:
    """Fields in their order, packed without holes."""

    def __init__(self, text: str) -> None:
        self.fields: list[Field] = []
        self.parts: list[Field] = []  # as C declares them: a structure is one
        for part in filter(None, map(str.strip, text.split(","))):
            kind, _, words = part.partition(" ")
            for word in words.split():
                name, _, member = word.partition("=")
                self._add(kind, name, member or name)
        self._struct = struct.Struct("<" + "".join(_CODES[field.type] for field in self.fields))
        self._ways = [tuple(field.name.split(".")) for field in self.fields]
        self._names = [field.name for field in self.fields]
        kinds = {field.type for field in self.fields}
        self._is_flat = "gid" not in kinds and not any("." in name for name in self._names)
        self._masks = [_MASKS.get(field.type, -1) for field in self.fields]
        self._is_plain = self._is_flat and "text" not in kinds
        self.size = self._struct.size

    def _add(self, kind: str, name: str, member: str) -> None:
        self.parts.append(Field(kind, name, member))
        if kind in _CODES:
            self.fields.append(Field(kind, name, member))
            return
        for each in (STRUCTURES.get(kind) or PLAIN[kind]).fields:
            self.fields.append(Field(each.type, f"{name}.{each.name}", f"{member}.{each.member}"))

    def values(self, octets: bytes | memoryview, at: int = 0) -> tuple[int, ...]:
        """The values in the order of the fields."""
        return self._struct.unpack_from(octets, at)

    def unpack(self, octets: bytes | memoryview, at: int = 0) -> Ask:
        """The values by name; `cap.max_send_wr` is a value of the dict at `cap`."""
        values = self._struct.unpack_from(octets, at)
        if self._is_flat:
            return dict(zip(self._names, values, strict=True))
        found: Ask = {}
        for field, way, value in zip(self.fields, self._ways, values, strict=True):
            *outer, name = way
            into = found
            for each in outer:
                into = into.setdefault(each, {})
            into[name] = int.from_bytes(value, "big") if field.type == "gid" else value
        return found

    def packer(self, kind: type) -> Callable[[object], bytes]:
        """`pack` for objects of one class: three times as fast."""
        has = [hasattr(kind, name) for name in self._names]
        codes = [_CODES[field.type] for field in self.fields]
        gaps = [f"{struct.calcsize('<' + code)}x" for code in codes]
        parts = [code if there else gap for code, gap, there in zip(codes, gaps, has, strict=True)]
        packed = struct.Struct("<" + "".join(parts)).pack
        read = attrgetter(*(name for name, there in zip(self._names, has, strict=True) if there))

        def pack(values: object) -> bytes:
            try:
                return packed(*read(values))
            except struct.error:  # a value that is None or too large
                return self.pack(values)

        return pack

    def pack(self, values: object) -> bytes:
        """The bytes of items, or attributes, that are named as the fields; a missing one is 0."""
        if not self.size:
            return b""
        if self._is_plain:
            if isinstance(values, dict):
                found = [values.get(name) for name in self._names]
            else:
                found = [getattr(values, name, None) for name in self._names]
            both = zip(found, self._masks, strict=True)
            return self._struct.pack(*[int(value or 0) & mask for value, mask in both])
        given = zip(self.fields, self._ways, strict=True)
        return self._struct.pack(*[_packable(field, _value(values, way)) for field, way in given])


def _value(values: Any, way: tuple[str, ...]) -> Any:
    for name in way:
        values = values.get(name) if isinstance(values, dict) else getattr(values, name, None)
        if values is None:
            return 0
    return values


def _packable(field: Field, value: Any) -> int | bytes:
    mask = _MASKS.get(field.type)
    if mask is not None:
        return int(value) & mask
    if field.type == "gid":
        return int(value).to_bytes(16, "big")
    return str(value or "").encode() if field.type == "text" else int(value)


STRUCTURES: dict[str, Layout] = {}
"""Members of the public structures `ibv_…` that travel."""
PLAIN: dict[str, Layout] = {}
"""Records of this protocol alone. `address`: an IP address, of IPv4 as ::ffff:a.b.c.d, family 0 for
none. `promise`: what the two sides of an rdma_cm connection offer each other."""
for _name, _text in {
    "ah_attr": """gid dgid=grh.dgid.raw, u32 flow_label=grh.flow_label,
        u32 sgid_index=grh.sgid_index hop_limit=grh.hop_limit traffic_class=grh.traffic_class dlid
        sl src_path_bits static_rate is_global port_num""",
    "qp_cap": "u32 max_send_wr max_recv_wr max_send_sge max_recv_sge max_inline_data",
    "qp_attr": """u32 qp_state cur_qp_state path_mtu path_mig_state qkey rq_psn sq_psn dest_qp_num
        qp_access_flags, qp_cap cap, ah_attr ah_attr alt_ah_attr, u32 pkey_index alt_pkey_index
        en_sqd_async_notify sq_draining max_rd_atomic max_dest_rd_atomic min_rnr_timer port_num
        timeout retry_cnt rnr_retry alt_port_num alt_timeout rate_limit""",
    "device_attr": """text fw_ver, u64 node_guid sys_image_guid max_mr_size page_size_cap,
        u32 vendor_id vendor_part_id hw_ver max_qp max_qp_wr device_cap_flags max_sge max_sge_rd
        max_cq max_cqe max_mr max_pd max_qp_rd_atom max_ee_rd_atom max_res_rd_atom
        max_qp_init_rd_atom max_ee_init_rd_atom atomic_cap max_ee max_rdd max_mw max_raw_ipv6_qp
        max_raw_ethy_qp max_mcast_grp max_mcast_qp_attach max_total_mcast_qp_attach max_ah max_fmr
        max_map_per_fmr max_srq max_srq_wr max_srq_sge max_pkeys local_ca_ack_delay
        phys_port_cnt""",
    "port_attr": """u32 state max_mtu active_mtu gid_tbl_len port_cap_flags max_msg_sz
        bad_pkey_cntr qkey_viol_cntr pkey_tbl_len lid sm_lid lmc max_vl_num sm_sl subnet_timeout
        init_type_reply active_width active_speed phys_state link_layer flags""",
    "wc": """u64 wr_id, u32 status opcode vendor_err byte_len imm_data qp_num src_qp wc_flags
        pkey_index slid sl dlid_path_bits""",
    "sge": "u64 addr, u32 length lkey",
    "srq_attr": "u32 max_wr max_sge srq_limit",
}.items():
    STRUCTURES[_name] = Layout(_text)

for _name, _text in {
    "send": """u64 wr_id, u32 opcode send_flags num_sge imm_data rkey ah remote_qpn remote_qkey
        remote_srqn mss hdr_sz mw bind_rkey bind_mr bind_access setter,
        u64 remote_addr compare_add swap bind_addr bind_length hdr_addr""",
    "receive": "u64 wr_id, u32 num_sge",
    "poll_entry": "u32 handle num_entries taken",
    "receive_entry": "u32 handle num_sge, u64 wr_id addr, u32 length lkey",
    "send_entry": """u32 handle opcode send_flags imm_data rkey num_sge, u64 wr_id remote_addr addr,
        u32 length lkey""",
    "address": "u32 family port, gid ip",
    "promise": """u32 qp_num psn responder_resources initiator_depth flow_control retry_count
        rnr_retry_count srq ece_vendor_id ece_options ack_timeout traffic_class""",
}.items():
    PLAIN[_name] = Layout(_text)
SEND, RECEIVE = PLAIN["send"], PLAIN["receive"]
"""One `ibv_send_wr`, or what a builder makes; one `ibv_recv_wr`. After it num_sge times `sge`,
then the bytes of each of them if it is INLINE, then hdr_sz bytes of the header of a TSO. setter:
who gave the bytes, of `ibv_qp_ex`."""


NO_OPCODE = 0xFFFFFFFF
"""The opcode of a record that is another setter of the work request before it."""


class Setter(IntEnum):
    """The function that gave a built work request its bytes."""

    NONE, SGE, SGE_LIST, INLINE_DATA, INLINE_DATA_LIST = range(5)


SGE, WC = STRUCTURES["sge"], STRUCTURES["wc"]
pack_cqe = WC.packer(Cqe)
POLL_ENTRY, RECEIVE_ENTRY = PLAIN["poll_entry"], PLAIN["receive_entry"]
SEND_ENTRY = PLAIN["send_entry"]
"""Calls of a program through its page, each after a head with its word: a poll with the number of
completions that it has taken, and a receive or a send of at most one piece."""
ENTRY_SIZE = HEAD.size + max(POLL_ENTRY.size, RECEIVE_ENTRY.size, SEND_ENTRY.size)


@dataclass(frozen=True, slots=True)
class Word:
    """A word with the fields of its question and of its answer; its number is its place."""

    name: str
    number: int
    asks: Layout
    answers: Layout


_HANDLE = "u32 handle"
_PLACED = "u32 node, address source destination"
_WORDS: dict[str, tuple[str, str]] = {
    "hello": ("u32 pid node", "u32 first count"),
    "share_page": ("", ""),
    "query_device": ("", """device_attr attr, u64 completion_timestamp_mask hca_core_clock,
        u32 max_tso max_tso_qpts"""),
    "query_port": ("u32 port_num", "port_attr attr"),
    "query_gid": ("u32 port_num index", "gid gid"),
    "query_pkey": ("u32 port_num index", "u32 pkey"),
    "alloc_pd": ("", _HANDLE),
    "dealloc_pd": (_HANDLE, ""),
    "reg_mr": ("u32 pd access, u64 addr length iova", "u32 handle lkey rkey"),
    "rereg_mr": ("u32 handle flags pd access, u64 addr length", "u32 lkey rkey"),
    "dereg_mr": (_HANDLE, ""),
    "alloc_td": ("", _HANDLE),
    "dealloc_td": (_HANDLE, ""),
    "alloc_parent_domain": ("u32 pd td", _HANDLE),
    "alloc_mw": ("u32 pd type", "u32 handle rkey"),
    "dealloc_mw": (_HANDLE, ""),
    "bind_mw": ("u32 qp mw mr access flags, u64 wr_id addr length", "u32 rkey"),
    "create_comp_channel": ("u32 fd", _HANDLE),
    "destroy_comp_channel": (_HANDLE, ""),
    "create_cq": ("u32 cqe channel comp_vector is_extended, u64 wc_flags", "u32 handle cqe slot"),
    "resize_cq": ("u32 handle cqe", "u32 cqe"),
    "destroy_cq": (_HANDLE, ""),
    "poll_cq": ("u32 handle num_entries", ""),
    "start_poll": (_HANDLE, "wc wc, u64 completion_ts"),
    "next_poll": (_HANDLE, "wc wc, u64 completion_ts"),
    "end_poll": (_HANDLE, ""),
    "req_notify_cq": ("u32 handle solicited_only", ""),
    "get_cq_event": (_HANDLE, "u32 cq"),
    "ack_cq_events": ("u32 handle nevents", ""),
    "open_async": ("u32 fd", ""),
    "get_async_event": ("", "u32 event noun number"),
    "ack_async_event": ("u32 event noun number", ""),
    "create_qp": ("""u32 pd qp_type send_cq recv_cq srq xrcd sq_sig_all max_tso_header
        is_extended, qp_cap cap, u64 send_ops_flags""", "u32 handle slot, qp_cap cap"),
    "open_qp": ("u32 xrcd qp_num qp_type", _HANDLE),
    "modify_qp": ("u32 handle mask, qp_attr attr", ""),
    "query_qp": (_HANDLE, "qp_attr attr, u32 sq_sig_all"),
    "destroy_qp": (_HANDLE, ""),
    "post_send": ("u32 handle count", ""),
    "wr_complete": ("u32 handle count is_aborted", ""),
    "post_recv": ("u32 handle count", ""),
    "post_srq_recv": ("u32 handle count", ""),
    "create_srq": ("u32 pd srq_type xrcd cq, srq_attr attr", "u32 handle number, srq_attr attr"),
    "modify_srq": ("u32 handle mask max_wr srq_limit", ""),
    "query_srq": (_HANDLE, "srq_attr attr"),
    "destroy_srq": (_HANDLE, ""),
    "open_xrcd": ("i32 fd oflag", _HANDLE),
    "close_xrcd": (_HANDLE, ""),
    "create_flow": ("""u32 qp type priority port flags given ether_type protocol src_port dst_port,
        u64 dst_mac src_mac, gid src_ip dst_ip""", _HANDLE),
    "destroy_flow": (_HANDLE, ""),
    "create_ah": ("u32 pd, ah_attr attr", _HANDLE),
    "destroy_ah": (_HANDLE, ""),
    "attach_mcast": ("u32 qp, gid gid", ""),
    "detach_mcast": ("u32 qp, gid gid", ""),
    "cm_open_channel": ("u32 fd", _HANDLE),
    "cm_create_id": ("u32 channel port_space", _HANDLE),
    "cm_destroy_id": (_HANDLE, ""),
    "cm_bind_addr": ("u32 handle, address source", _PLACED),
    "cm_resolve_addr": ("u32 handle timeout_ms, address source destination", _PLACED),
    "cm_resolve_route": (_HANDLE, ""),
    "cm_listen": ("u32 handle backlog", ""),
    "cm_connect": ("u32 handle reason, promise promise", "u32 psn"),
    "cm_accept": ("u32 handle reason, promise promise", "u32 psn"),
    "cm_reject": ("u32 handle reason, promise promise", "u32 psn"),
    "cm_establish": (_HANDLE, ""),
    "cm_disconnect": (_HANDLE, ""),
    "cm_join": ("u32 handle, address group", ""),
    "cm_leave": ("u32 handle, address group", ""),
    "cm_migrate": ("u32 handle channel", ""),
    "cm_get_event": (_HANDLE, """u32 id listen_id event, i32 status, u32 node is_datagram qkey
        own_psn ack_timeout, gid gid, promise promise, address source destination"""),
    "sleep": ("u32 noun number", ""),
    "clock": ("u64 until_ns", "u64 ns"),
    "pass": ("u64 ns", "u64 until_ns"),
}  # fmt: skip
WORDS = {
    number: Word(name, number, Layout(asks), Layout(answers))
    for number, (name, (asks, answers)) in enumerate(_WORDS.items(), 1)
}
NUMBERS = {word.name: number for number, word in WORDS.items()}


def header() -> str:
    """The C header of all this."""
    lines = ["/* Made from rdmalab/compat/c/wire.py. */", "enum word {"]
    lines += [f"\tWORD_{word.name.upper()} = {word.number}," for word in WORDS.values()]
    lines += ["};", f"#define LONGEST {LONGEST}u"]
    lines += [f"#define NO_OPCODE {NO_OPCODE}u", "enum setter {"]
    lines += [f"\tSETTER_{setter.name} = {setter.value}," for setter in Setter] + ["};"]
    for name, layout in (STRUCTURES | PLAIN).items():
        lines += _structure(f"wire_{name}", layout)
    for name, layout in STRUCTURES.items():
        lines += _copy(name, layout, to_wire=True) + _copy(name, layout, to_wire=False)
    for word in WORDS.values():
        lines += _structure(f"ask_{word.name}", word.asks)
        lines += _structure(f"answer_{word.name}", word.answers)
    return "\n".join([*lines, ""])


def _structure(name: str, layout: Layout) -> list[str]:
    members = []
    for part in layout.parts:
        length = _ARRAYS.get(part.type)
        nested = f"struct wire_{part.type}" if part.type in STRUCTURES | PLAIN else "uint8_t"
        kind = _C_TYPES.get(part.type, nested)
        members.append(f"\t{kind} {part.name}{f'[{length}]' if length else ''};")
    return [f"struct {name} {{", *members, "} __attribute__((packed));"]


def _copy(name: str, layout: Layout, *, to_wire: bool) -> list[str]:
    """A function that copies every member, in one of the two directions."""
    wire, own = f"struct wire_{name} *w", f"struct ibv_{name} *v"
    way = "to_wire" if to_wire else "from_wire"
    arguments = f"{wire}, const {own}" if to_wire else f"{own}, const {wire}"
    lines = [f"static inline void {name}_{way}({arguments})", "{"]
    for part in layout.parts:
        both = [f"w->{part.name}", f"v->{part.member}"]
        left, right = both if to_wire else both[::-1]
        if part.type in STRUCTURES:
            lines.append(f"\t{part.type}_{way}(&{left}, &{right});")
        elif part.type in _ARRAYS:
            lines.append(f"\tmemcpy({left}, {right}, {_ARRAYS[part.type]});")
        else:
            lines.append(f"\t{left} = {right};")
    return [*lines, "}"]
