"""Queue pairs, plain and extended."""

from collections.abc import Sequence
from errno import EOPNOTSUPP
from typing import Any

from rdmalab.command import Noun, Refused
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs import wq
from rdmalab.compat.pyverbs.addr import AH, GID, AHAttr, GlobalRoute, text_of, told
from rdmalab.compat.pyverbs.base import (
    LabObject,
    PyverbsCM,
    PyverbsObject,
    call,
    failed,
    octets_at,
)
from rdmalab.compat.pyverbs.c_types import INT, SIZE, U8, U16, U32, U64, UINT32, converted, enum
from rdmalab.compat.pyverbs.cq import CQ, CQEX
from rdmalab.compat.pyverbs.mr import MR, MW, MWBind, MWBindInfo, lend
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.srq import SRQ, post
from rdmalab.compat.pyverbs.struct import WIDE, Number, Part, Struct, expect, table
from rdmalab.compat.pyverbs.utils import (
    access_flags_to_str,
    mig_state_to_str,
    mtu_to_str,
    qp_state_to_str,
    qp_type_to_str,
)
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, SendWR
from rdmalab.compat.pyverbs.xrcd import XRCD
from rdmalab.spec.builders import InitMask
from rdmalab.spec.states import ATTRIBUTES, MOVES, MTU, Attr, QPState, QPType
from rdmalab.spec.work import Placement, Selectivity

_CAPS = ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data")
_NARROW = "{:20}: {:<20}\n"
_INDENTED = "    {:20}: {:<20}\n"
_INNER = "  {:22}: {:<20}\n"
_DEEP = "    {:22}: {:<20}\n"
_UD = int(QPType.UD)
_POINTER = (1 << 64) - 1


class _Sized(Struct):
    """A struct with the sizes of the queues in it."""

    __slots__ = ()

    def sizes(self) -> dict[str, int]:
        return {name: self.c.get(name, 0) for name in _CAPS}


class _Capped(_Sized):
    """The same, each of them an attribute."""

    __slots__ = ()
    max_send_wr = Number(U32)
    max_recv_wr = Number(U32)
    max_send_sge = Number(U32)
    max_recv_sge = Number(U32)
    max_inline_data = Number(U32)


class QPCap(_Capped):
    """`ibv_qp_cap`."""

    __slots__ = ()

    def __init__(
        self, max_send_wr: int = 1, max_recv_wr: int = 10, max_send_sge: int = 1,
        max_recv_sge: int = 1, max_inline_data: int = 0,
    ) -> None:  # fmt: skip
        self._set(
            max_send_wr=max_send_wr, max_recv_wr=max_recv_wr, max_send_sge=max_send_sge,
            max_recv_sge=max_recv_sge, max_inline_data=max_inline_data,
        )  # fmt: skip

    def __str__(self) -> str:
        labels = ("send wrs", "recv wrs", "send sges", "recv sges", "inline data")
        rows = zip(labels, self.sizes().values(), strict=True)
        return table(((f"max {label}", value) for label, value in rows), _NARROW)


class _Cap:
    """The sizes as one attribute: read as a copy, written all at once."""

    def __get__(self, struct: "_Sized | None", owner: type | None = None) -> Any:
        return self if struct is None else QPCap(**struct.sizes())

    def __set__(self, struct: "_Sized", cap: QPCap | None) -> None:
        expect("src", cap, QPCap)
        if cap is not None:
            struct.c.update(cap.sizes())


class _InitAttr(_Capped):
    """What both kinds of creation take."""

    __slots__ = ()
    qp_type = Number(enum("ibv_qp_type"))
    sq_sig_all = Number(INT)
    cap = _Cap()
    send_cq = Part(object)
    recv_cq = Part(object)
    srq = Part(SRQ)

    def _take(self, scq: Any, rcq: Any, srq: Any, cap: QPCap | None) -> None:
        for name, queue in (("scq", scq), ("rcq", rcq)):
            expect(name, queue, PyverbsObject)
            if queue is not None and not isinstance(queue, CQ | CQEX):
                raise PyverbsUserError(f"Expected CQ/CQEX, got {type(queue)}")
        expect("srq", srq, SRQ)
        expect("cap", cap, QPCap)
        self.parts |= {"send_cq": scq, "recv_cq": rcq, "srq": srq}
        self.cap = cap

    def told(self) -> dict[str, Any]:
        """As the lab's words take it."""
        parts = {name: self.parts.get(name) for name in ("send_cq", "recv_cq", "srq", "pd", "xrcd")}
        found = {name: part.ref for name, part in parts.items() if part is not None}
        return found | {
            "qp_type": self.qp_type, "sq_sig_all": self.sq_sig_all, "cap": self.sizes(),
        }  # fmt: skip

    def cap_rows(self) -> list[tuple[str, int]]:
        labels = ("send WR", "recv WR", "send SGE", "recv SGE", "inline data")
        return [
            (f"max {label}", size)
            for label, size in zip(labels, self.sizes().values(), strict=True)
        ]


class QPInitAttr(_InitAttr):
    """`ibv_qp_init_attr`."""

    __slots__ = ()

    def __init__(
        self, qp_type: int = _UD, qp_context: Any = None, scq: Any = None, rcq: Any = None,
        srq: SRQ | None = None, cap: QPCap | None = None, sq_sig_all: int = 1,
    ) -> None:  # fmt: skip
        del qp_context
        self._set(qp_type=qp_type, sq_sig_all=sq_sig_all)
        self._take(scq, rcq, srq, cap)

    def __str__(self) -> str:
        head = (("QP type", qp_type_to_str(self.qp_type)), ("SQ sig. all", self.sq_sig_all))
        return table(head, _NARROW) + "QP caps:\n" + table(self.cap_rows(), _INDENTED)


_MASKS = {
    1: "PD", 2: "XRCD", 4: "Create Flags", 8: "Max TSO header", 16: "Indirection Table",
    32: "RX hash",
}  # fmt: skip
_CREATE_FLAGS = {
    1: "Block self mcast loopback", 2: "Scatter FCS", 4: "CVLAN stripping", 8: "Source QPN",
    16: "PCI write end padding",
}  # fmt: skip


class QPInitAttrEx(_InitAttr):
    """`ibv_qp_init_attr_ex`."""

    __slots__ = ("_send_ops_flags",)
    comp_mask = Number(U32)
    create_flags = Number(U32)
    max_tso_header = Number(U16)
    source_qpn = Number(U32)
    pd = Part(PD)
    xrcd = Part(XRCD)
    ind_table = Part(wq.RwqIndTable)

    def __init__(
        self, qp_type: int = _UD, qp_context: Any = None, scq: Any = None, rcq: Any = None,
        srq: SRQ | None = None, cap: QPCap | None = None, sq_sig_all: int = 0, comp_mask: int = 0,
        pd: PD | None = None, xrcd: Any = None, create_flags: int = 0, max_tso_header: int = 0,
        source_qpn: int = 0, hash_conf: Any = None, ind_table: Any = None, send_ops_flags: int = 0,
    ) -> None:  # fmt: skip
        del qp_context
        expect("hash_conf", hash_conf, wq.RxHashConf)
        self._set(
            qp_type=qp_type, sq_sig_all=sq_sig_all, comp_mask=comp_mask,
            create_flags=create_flags, max_tso_header=max_tso_header, source_qpn=source_qpn,
        )  # fmt: skip
        self._take(scq, rcq, srq, cap)
        given = {"pd": (pd, PD), "xrcd": (xrcd, XRCD), "ind_table": (ind_table, wq.RwqIndTable)}
        for name, (part, kind) in given.items():
            expect(name, part, kind)
            self.parts[name] = part
        self._send_ops_flags = converted(send_ops_flags, U64)

    def told(self) -> dict[str, Any]:
        """What the mask does not name is not there."""
        found, mask = super().told(), self.comp_mask
        for name, bit in (("pd", InitMask.PD), ("xrcd", InitMask.XRCD)):
            if not mask & bit:
                found.pop(name, None)
        found["comp_mask"] = mask
        if mask & InitMask.SEND_OPS_FLAGS:
            found["send_ops_flags"] = self._send_ops_flags
        if mask & InitMask.MAX_TSO_HEADER:
            found["max_tso_header"] = self.max_tso_header
        return found

    def mask_to_str(self, mask: int, /) -> str:
        return "".join(f"{text} " for bit, text in _MASKS.items() if mask & bit)

    def flags_to_str(self, flags: int, /) -> str:
        return "".join(f"{text} " for bit, text in _CREATE_FLAGS.items() if flags & bit)

    def __str__(self) -> str:
        head = (("QP type", qp_type_to_str(self.qp_type)), ("SQ sig. all", self.sq_sig_all))
        rows = [(f"  {label}", size) for label, size in self.cap_rows()]
        tail = (
            ("comp mask", self.mask_to_str(self.comp_mask)),
            ("create flags", self.flags_to_str(self.create_flags)),
            ("max TSO header", self.max_tso_header),
            ("Source QPN", self.source_qpn),
        )
        return table(head, _NARROW) + "QP caps:\n" + table((*rows, *tail), _NARROW)


class _Path:
    """An address as one attribute of QPAttr: copied both ways."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, struct: "QPAttr | None", owner: type | None = None) -> Any:
        if struct is None:
            return self
        path = _copied(struct.paths[self.name])
        path.c["port_num"] = struct.paths["ah_attr"].port_num  # of the alternate path, too
        return path

    def __set__(self, struct: "QPAttr", val: AHAttr | None) -> None:
        struct.take_path(self.name, val)


def _copied(attr: AHAttr) -> AHAttr:
    made = AHAttr()
    made.c = dict(attr.c)
    return made


def _nowhere() -> AHAttr:
    return AHAttr(port_num=0)


class QPAttr(_Sized):
    """`ibv_qp_attr`."""

    __slots__ = ("paths",)
    qp_state = Number(enum("ibv_qp_state"))
    cur_qp_state = Number(enum("ibv_qp_state"))
    path_mtu = Number(enum("ibv_mtu"))
    path_mig_state = Number(enum("ibv_mig_state"))
    qkey = Number(U32)
    rq_psn = Number(U32)
    sq_psn = Number(U32)
    dest_qp_num = Number(U32)
    qp_access_flags = Number(U32)
    cap = _Cap()
    ah_attr = _Path()
    alt_ah_attr = _Path()
    pkey_index = Number(U16)
    alt_pkey_index = Number(U16)
    en_sqd_async_notify = Number(U8)
    sq_draining = Number(U8)
    max_rd_atomic = Number(U8)
    max_dest_rd_atomic = Number(U8)
    min_rnr_timer = Number(U8)
    port_num = Number(U8)
    timeout = Number(U8)
    retry_cnt = Number(U8)
    rnr_retry = Number(U8)
    alt_port_num = Number(U8)
    alt_timeout = Number(U8)
    rate_limit = Number(U32)

    def __init__(
        self, qp_state: int = QPState.INIT, cur_qp_state: int = QPState.RESET, port_num: int = 1,
        path_mtu: int = MTU.B1024,
    ) -> None:  # fmt: skip
        self._set(
            qp_state=qp_state, cur_qp_state=cur_qp_state, port_num=port_num, path_mtu=path_mtu
        )
        self.paths = {"ah_attr": _nowhere(), "alt_ah_attr": _nowhere()}

    def take_path(self, name: str, ah_attr: AHAttr | None) -> None:
        """A copy of an address; None leaves what is there."""
        expect("ah_attr", ah_attr, AHAttr)
        if ah_attr is not None:
            self.paths[name] = _copied(ah_attr)

    def _copy_ah(self, ah_attr: AHAttr | None, is_alt: bool = False) -> None:
        self.take_path("alt_ah_attr" if is_alt else "ah_attr", ah_attr)

    def told(self, mask: int) -> dict[str, Any]:
        """What the mask names, as the lab's words take it."""
        found: dict[str, Any] = {}
        for name, row in ATTRIBUTES.items():
            if not mask & row.mask:
                continue
            if name in self.paths:
                found[name] = told(self.paths[name])
            else:
                found[name] = self.sizes() if name == "cap" else self.c.get(name, 0)
        return found

    def __str__(self) -> str:
        caps = ("send WR", "recv WR", "send SGE", "recv SGE", "inline data")
        sizes = zip(caps, self.sizes().values(), strict=True)
        return "".join((
            table((
                ("QP state", qp_state_to_str(self.qp_state)),
                ("QP current state", qp_state_to_str(self.cur_qp_state)),
                ("Path MTU", mtu_to_str(self.path_mtu)),
                ("Path mig. state", mig_state_to_str(self.path_mig_state)),
                ("QKey", self.qkey),
                ("RQ PSN", self.rq_psn),
                ("SQ PSN", self.sq_psn),
                ("Dest QP number", self.dest_qp_num),
                ("QP access flags", access_flags_to_str(self.qp_access_flags)),
            )),
            "QP caps:\n",
            table(((f"max {label}", size) for label, size in sizes), _INNER),
            "AH Attr:\n",
            _path_text(self.paths["ah_attr"]),
            "Alt. AH Attr:\n",
            _path_text(self.paths["alt_ah_attr"]),
            table((
                ("PKey index", self.pkey_index),
                ("Alt. PKey index", self.alt_pkey_index),
                ("En. SQD async notify", self.en_sqd_async_notify),
                ("SQ draining", self.sq_draining),
                ("Max RD atomic", self.max_rd_atomic),
                ("Max dest. RD atomic", self.max_dest_rd_atomic),
                ("Min RNR timer", self.min_rnr_timer),
                ("Port number", self.port_num),
                ("Timeout", self.timeout),
                ("Retry counter", self.retry_cnt),
                ("RNR retry", self.rnr_retry),
                ("Alt. port number", self.alt_port_num),
                ("Alt. timeout", self.alt_timeout),
                ("Rate limit", self.rate_limit),
            )),
        ))  # fmt: skip


def _path_text(attr: AHAttr) -> str:
    return table(attr.rows(with_port=True), _INNER) + table(attr.route_rows(), _DEEP)


class ECE(Struct, PyverbsCM):
    """`ibv_ece`."""

    __slots__ = ()
    vendor_id = Number(UINT32)
    options = Number(UINT32)
    comp_mask = Number(UINT32)

    def __init__(self, vendor_id: int = 0, options: int = 0, comp_mask: int = 0) -> None:
        self._set(vendor_id=vendor_id, options=options, comp_mask=comp_mask)

    def __str__(self) -> str:
        rows = (
            ("Vendor ID", self.vendor_id),
            ("Options", self.options),
            ("Comp Mask", self.comp_mask),
        )
        return "ECE:\n" + table(rows, "{:22}: 0x{:<20x}\n")


class QPRateLimitAttr(Struct):
    """`ibv_qp_rate_limit_attr`; rate_limit in kbit/s, 0: unlimited."""

    __slots__ = ()
    rate_limit = Number(UINT32)
    max_burst_sz = Number(UINT32)
    typical_pkt_sz = Number(U16)
    comp_mask = Number(UINT32)

    def __init__(
        self, rate_limit: int = 0, max_burst_sz: int = 0, typical_pkt_sz: int = 0,
        comp_mask: int = 0,
    ) -> None:  # fmt: skip
        self._set(
            rate_limit=rate_limit, max_burst_sz=max_burst_sz, typical_pkt_sz=typical_pkt_sz,
            comp_mask=comp_mask,
        )  # fmt: skip

    def __str__(self) -> str:
        return table(
            (
                ("Rate limit (kbps)", self.rate_limit),
                ("Max burst size", self.max_burst_sz),
                ("Typical packet size", self.typical_pkt_sz),
                ("Comp mask", self.comp_mask),
            )
        )


# What is moved at creation, if attributes come with it: as far as nobody else is needed.
_BEGINS = {QPType.UD: "to_rts", QPType.RAW_PACKET: "to_rts"}


class QP(LabObject):
    """`ibv_qp`, of a PD or, with QPInitAttrEx, of a context."""

    __slots__ = ("_pd",)
    DESTROY, FAILS, RANK = "destroy_qp", "Failed to destroy QP", 1

    def __init__(self, creator: Any, init_attr: Any, qp_attr: QPAttr | None = None) -> None:
        expect("qp_attr", qp_attr, QPAttr)
        if isinstance(creator, PD):
            self._create_qp(creator, init_attr)
            pd, xrcd = creator, None
        else:
            self._create_qp_ex(creator, init_attr)
            pd, xrcd = init_attr.pd, init_attr.xrcd
        queues = init_attr.send_cq, init_attr.recv_cq, init_attr.srq
        self._join(creator, pd, *queues, xrcd)
        self._pd = pd
        cap = self.found.told_cap
        init_attr.fill({name: getattr(cap, name) for name in _CAPS})
        if qp_attr is not None:
            getattr(self, _BEGINS.get(QPType(self.qp_type), "to_init"))(qp_attr)

    def _create_qp(self, pd: PD, attr: QPInitAttr) -> None:
        self._made(
            "Failed to create QP", "create_qp", Noun.QP, pd.node, pd=pd.ref, init_attr=attr.told()
        )

    def _create_qp_ex(self, ctx: LabObject, attr: QPInitAttrEx) -> None:
        text = "Failed to create QP"
        if attr.create_flags or attr.ind_table is not None:
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        self._made(text, "create_qp_ex", Noun.QP, ctx.node, init_attr=attr.told())

    # ------------------------------------------------------------------ states
    def _get_comp_mask(self, dst: str) -> int:
        """What a move up needs."""
        to = QPState[dst]
        move = MOVES[QPType(self.qp_type), QPState(to - 1), to]
        return int(move.required | Attr.STATE)

    def _move(self, to: QPState, said: str, qp_attr: QPAttr) -> None:
        mask = self._get_comp_mask(to.name)
        qp_attr.qp_state = to
        self._modify(f"Failed to modify QP state to {said}", qp_attr, mask)

    def to_init(self, qp_attr: QPAttr, /) -> None:
        self._move(QPState.INIT, "init", qp_attr)

    def to_rtr(self, qp_attr: QPAttr, /) -> None:
        if self.qp_state != QPState.INIT:
            self.to_init(qp_attr)
        self._move(QPState.RTR, "RTR", qp_attr)

    def to_rts(self, qp_attr: QPAttr, /) -> None:
        if self.qp_state != QPState.RTR:
            self.to_rtr(qp_attr)
        self._move(QPState.RTS, "RTS", qp_attr)

    def modify(self, qp_attr: QPAttr, comp_mask: int) -> None:
        expect("qp_attr", qp_attr, QPAttr, null=False)
        self._modify("Failed to modify QP", qp_attr, converted(comp_mask, INT))

    def _modify(self, text: str, qp_attr: QPAttr, mask: int) -> None:
        call(text, "modify_qp", qp=self.ref, attr=qp_attr.told(mask), attr_mask=mask)

    def query(self, attr_mask: int, /) -> tuple[QPAttr, QPInitAttr]:
        """The device answers all there is, whatever the mask says."""
        del attr_mask
        answer = call("Failed to query QP", "query_qp", qp=self.ref)
        attr, init = QPAttr(), QPInitAttr()
        names = [name for name in ATTRIBUTES if getattr(answer, name, None) is not None]
        attr.fill({
            name: getattr(answer, name)
            for name in names
            if name not in attr.paths and name != "cap"
        })  # fmt: skip
        attr.c.update((name, int(getattr(answer.cap, name))) for name in _CAPS)
        attr.c["sq_draining"] = answer.sq_draining
        for name in attr.paths:
            attr.paths[name] = _address(getattr(answer, name))
        made = answer.init_attr
        init.fill({"qp_type": made.qp_type, "sq_sig_all": made.sq_sig_all})
        init.fill({name: getattr(made.cap, name) for name in _CAPS})
        return attr, init

    # ------------------------------------------------------------------ work
    def post_recv(self, wr: RecvWR, bad_wr: RecvWR | None = None) -> None:
        expect("wr", wr, RecvWR, null=False)
        post("Failed to post recv", "post_recv", "qp", self, wr, bad_wr)

    def post_send(self, wr: SendWR, bad_wr: SendWR | None = None) -> None:
        expect("wr", wr, SendWR, null=False)
        for sge in (sge for each in wr.chain() for sge in each.sg):
            lend(self._pd, sge["addr"], sge["length"])
        post("Failed to post send", "post_send", "qp", self, wr, bad_wr)

    def bind_mw(self, mw: MW, mw_bind: MWBind) -> None:
        text = "Failed to Bind MW"
        call(text, "bind_mw", qp=self.ref, mw=mw.ref, asked=mw_bind.told())

    # ------------------------------------------------------------------ and what else there is
    def set_ece(self, ece: ECE, /) -> None:
        if ece.vendor_id:
            raise PyverbsRDMAError("Failed to set ECE", EOPNOTSUPP)

    def query_ece(self) -> ECE:
        raise PyverbsRDMAError("Failed to query ECE", EOPNOTSUPP)

    def modify_rate_limit(self, attr: QPRateLimitAttr) -> None:
        expect("attr", attr, QPRateLimitAttr, null=False)
        raise PyverbsRDMAError("Failed to modify QP rate limit", EOPNOTSUPP)

    def query_data_in_order(self, op: int, flags: int = 0) -> int:
        """No device of the lab promises it."""
        del op, flags
        return 0

    @property
    def qp_type(self) -> int:
        return int(self.found.qp_type)

    @property
    def qp_state(self) -> int:
        return int(self.found.known_state)

    @property
    def qp_num(self) -> int:
        return int(self.found.number)

    def __str__(self) -> str:
        return table(
            (
                ("QP type", qp_type_to_str(self.qp_type)),
                ("  number", self.qp_num),
                ("  state", qp_state_to_str(self.qp_state)),
            ),
            WIDE,
        )


def _address(found: Any) -> AHAttr:
    """An address of the lab as an AHAttr."""
    if found is None:
        return _nowhere()
    route = None
    if found.is_global:
        route = GlobalRoute(
            GID(text_of(found.dgid)), found.flow_label, found.sgid_index, found.hop_limit,
            found.traffic_class,
        )  # fmt: skip
    return AHAttr(
        found.dlid, found.sl, found.src_path_bits, found.static_rate, found.is_global,
        found.port_num, route,
    )  # fmt: skip


class DataBuffer(PyverbsCM):
    """`ibv_data_buf`."""

    __slots__ = ("_octets",)

    def __init__(self, addr: int, length: int) -> None:
        self._octets = addr & _POINTER, converted(length, SIZE)

    def read(self) -> bytes:
        return octets_at(*self._octets)


def _swapped(data: int) -> int:
    """htobe32."""
    return int.from_bytes(converted(data, U32).to_bytes(4, "little"), "big")


class QPEx(QP):
    """`ibv_qp_ex`: wr_id and wr_flags go with the next builder."""

    __slots__ = ("_scratch", "ind_table", "wr_flags", "wr_id")

    def __init__(self, creator: Any, init_attr: Any, qp_attr: QPAttr | None = None) -> None:
        super().__init__(creator, init_attr, qp_attr)
        self.ind_table, self.wr_id, self.wr_flags = init_attr.ind_table, 0, 0
        self._scratch: MR | None = None

    @property
    def comp_mask(self) -> int:
        return 0

    def _say(self, word: str, **operands: Any) -> None:
        """Builders and setters return nothing: wr_complete returns their error."""
        try:
            here().call(word, qp=self.ref, **operands)
        except Refused as refusal:
            if refusal.rule.startswith("crash-"):
                raise failed("", refusal) from None

    def _build(self, word: str, **operands: Any) -> None:
        qpx = {"wr_id": self.wr_id, "wr_flags": self.wr_flags}
        self._say(word, **operands, qpx=qpx)

    def _target(self, rkey: int, remote_addr: int) -> dict[str, int]:
        addr = here().buffers.to_lab(converted(remote_addr, U64))
        return {"rkey": converted(rkey, U32), "remote_addr": addr}

    def _buffer(self, addr: int, length: int) -> dict[str, int]:
        """Bytes that no key is asked for: of a buffer the lab knows, or a copy in one it does."""
        buffers = here().buffers
        if length and buffers.covering(self.node, addr, length) is None:
            return self._borrow(octets_at(addr, length))
        return {"addr": buffers.to_lab(addr), "length": length}

    def _borrow(self, octets: bytes) -> dict[str, int]:
        room = self._scratch
        if room is None or room.length < len(octets):
            room = self._scratch = MR(self._pd, max(len(octets), 64), 0)
        room.write(octets, len(octets))
        return {"addr": here().buffers.to_lab(room.buf), "length": len(octets)}

    def wr_start(self) -> None:
        self._say("wr_start")

    def wr_complete(self) -> None:
        call("ibv_wr_complete failed.", "wr_complete", qp=self.ref)

    def wr_abort(self) -> None:
        self._say("wr_abort")

    def wr_send(self) -> None:
        self._build("wr_send")

    def wr_send_imm(self, data: int, /) -> None:
        self._build("wr_send_imm", imm_data=_swapped(data))

    def wr_send_inv(self, invalidate_rkey: int, /) -> None:
        self._build("wr_send_inv", invalidate_rkey=converted(invalidate_rkey, U32))

    def wr_send_tso(self, hdr: int, hdr_sz: int, mss: int) -> None:
        place = self._buffer(hdr, hdr_sz)
        header = {"hdr_addr": place["addr"], "hdr_sz": hdr_sz, "mss": converted(mss, U16)}
        self._build("wr_send_tso", header=header)

    def wr_rdma_read(self, rkey: int, remote_addr: int) -> None:
        self._build("wr_rdma_read", target=self._target(rkey, remote_addr))

    def wr_rdma_write(self, rkey: int, remote_addr: int) -> None:
        self._build("wr_rdma_write", target=self._target(rkey, remote_addr))

    def wr_rdma_write_imm(self, rkey: int, remote_addr: int, data: int) -> None:
        target = self._target(rkey, remote_addr)
        self._build("wr_rdma_write_imm", target=target, imm_data=_swapped(data))

    def wr_atomic_cmp_swp(self, rkey: int, remote_addr: int, compare: int, swap: int) -> None:
        numbers = {"compare": converted(compare, U64), "swap": converted(swap, U64)}
        operands = {**self._target(rkey, remote_addr), **numbers}
        self._build("wr_atomic_cmp_swp", operands=operands)

    def wr_atomic_fetch_add(self, rkey: int, remote_addr: int, add: int) -> None:
        operands = {**self._target(rkey, remote_addr), "add": converted(add, U64)}
        self._build("wr_atomic_fetch_add", operands=operands)

    def wr_atomic_write(self, rkey: int, remote_addr: int, atomic_wr: bytes) -> None:
        place = self._borrow(bytes(atomic_wr[:8]))
        target = {**self._target(rkey, remote_addr), "atomic_wr": place}
        self._build("wr_atomic_write", target=target)

    def wr_flush(self, rkey: int, remote_addr: int, length: int, ptype: int, level: int) -> None:
        """ptype: how far the bytes must have come; level: `length` bytes, or the whole MR.

        PyverbsUserError for a ptype or level that libibverbs has no name for.
        """
        if not 0 < ptype <= sum(Placement) or level not in tuple(Selectivity):
            known = (
                "ptype=IBV_FLUSH_GLOBAL|IBV_FLUSH_PERSISTENT, level=IBV_FLUSH_RANGE or IBV_FLUSH_MR"
            )
            raise PyverbsUserError(f"wr_flush: ptype={ptype}, level={level}; write {known}")
        flushed = {
            "flush_length": converted(length, U32),
            "flush_type": Placement(ptype),
            "flush_level": Selectivity(level),
        }
        self._build("wr_flush", target={**self._target(rkey, remote_addr), **flushed})

    def wr_bind_mw(self, mw: MW, rkey: int, bind_info: MWBindInfo) -> None:
        told = {**bind_info.told(), "mw": mw.found.number, "mw_rkey": converted(rkey, U32)}
        self._build("wr_bind_mw", info=told)
        self.children.add(mw)

    def wr_local_inv(self, invalidate_rkey: int, /) -> None:
        self._build("wr_local_inv", invalidate_rkey=converted(invalidate_rkey, U32))

    def wr_set_ud_addr(self, ah: AH, remote_qpn: int, remote_rkey: int) -> None:
        self._say(
            "wr_set_ud_addr", ah=ah.found.number, remote_qpn=converted(remote_qpn, U32),
            remote_qkey=converted(remote_rkey, U32),
        )  # fmt: skip

    def wr_set_xrc_srqn(self, remote_srqn: int, /) -> None:
        self._say("wr_set_xrc_srqn", remote_srqn=converted(remote_srqn, U32))

    def wr_set_inline_data(self, addr: int, length: int) -> None:
        self._say("wr_set_inline_data", buf=self._buffer(addr, length))

    def wr_set_inline_data_list(self, num_buf: int, buf_list: Sequence[DataBuffer]) -> None:
        octets = b"".join(each.read() for each in buf_list[:num_buf])
        self._say("wr_set_inline_data_list", buf=[self._borrow(octets)])

    def wr_set_sge(self, sge: SGE, /) -> None:
        expect("sge", sge, SGE, null=False)
        self._say("wr_set_sge", sg=sge.told())

    def wr_set_sge_list(self, num_sge: int, sg_list: Sequence[SGE]) -> None:
        self._say("wr_set_sge_list", sg=[sge.told() for sge in sg_list[:num_sge]])
