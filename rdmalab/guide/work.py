"""Work requests and completions: opcodes, flags, rights."""

from collections.abc import Iterator

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, Sort, of_member
from rdmalab.guide.phrases import by_profile, named, right_words, type_names
from rdmalab.guide.sentences import note, wire
from rdmalab.spec.access import RIGHTS, Access
from rdmalab.spec.c_names import full_name
from rdmalab.spec.completions import READS, WcEx
from rdmalab.spec.opcodes import BY_LABEL, OPCODES, Op
from rdmalab.spec.work import FLAG_TYPES, WORK, SendFlags, WCFlags, WCOpcode, Work, WROpcode

_RECEIVE_SIDE = WCOpcode.RECV
_SHORT = {
    WROpcode.RDMA_WRITE: ("WRITE",),
    WROpcode.RDMA_READ: ("READ",),
    WROpcode.ATOMIC_CMP_AND_SWP: ("CAS", "CMP_AND_SWP"),
    WROpcode.ATOMIC_FETCH_AND_ADD: ("FAA", "FETCH_AND_ADD"),
}


def entries() -> Iterator[Entry]:
    """Opcodes of requests, flags, rights, opcodes and flags of completions."""
    for opcode in WORK:
        words = _SHORT.get(opcode, ())
        yield of_member("send opcode", opcode, opcode_article, *words, sort=Sort.OPCODE)
    for flag in SendFlags:
        yield of_member("send flag", flag, flag_article, sort=Sort.FLAG)
    for right in Access:
        yield of_member("right", right, right_article, sort=Sort.RIGHT)
    for code in WCOpcode:
        name = f"completion {code.name}"
        yield of_member("completion opcode", code, wc_opcode_article, name)
    for asked in WcEx:
        yield of_member("wc_flags flag", asked, wc_ex_article)
    for bit in WCFlags:
        yield of_member("completion flag", bit, wc_flag_article)


def opcode_article(opcode: WROpcode) -> Article:
    """One opcode of `post_send`."""
    row = WORK[opcode]
    rows: list[Row] = [
        ("", note(opcode)),
        ("types", type_names(row.types)),
        ("wire", " ".join(packets_of(row)) if row.message else "nothing is sent"),
        ("at the peer", "takes a receive" if row.consumes_receive else "takes no receive"),
        ("buffers", row.local.value),
        ("peer allows", f"{right_words(row.remote)}, on the key and on the QP" * bool(row.remote)),
        ("completes as", full_name(row.wc_opcode)),
        ("reads", " ".join(_reads(row))),
        ("flags", _flags(row)),
        ("depth", "counts against max_rd_atomic" if row.outstanding else ""),
    ]
    see = ["help post_send", "ibv_post_send(3)"]
    return article(full_name(opcode), f"send opcode {int(opcode)}", rows, see)


def packets_of(row: Work) -> list[str]:
    """The labels of the packets that a request with this row can become."""
    if row.message is None:
        return []
    found = []
    for label, codes in BY_LABEL.items():
        opcode = OPCODES[codes[0]]
        plain = not opcode.immediate and not opcode.invalidate
        fits = opcode.immediate == row.immediate and opcode.invalidate == row.invalidate
        if opcode.op is row.message and (fits if opcode.ends else plain):
            found.append(label)
    return found


def _reads(row: Work) -> Iterator[str]:
    if row.immediate:
        yield "imm_data"
    if row.invalidate:
        yield "invalidate_rkey"


def _flags(row: Work) -> str:
    inline = "INLINE is allowed" if row.inline else "no INLINE"
    solicited = "SOLICITED reaches the peer" if row.solicits else "SOLICITED has no effect"
    return f"{inline}; {solicited}"


def flag_article(flag: SendFlags) -> Article:
    """One send flag."""
    with_it = {
        SendFlags.INLINE: [o.name for o, row in WORK.items() if row.inline],
        SendFlags.SOLICITED: [o.name for o, row in WORK.items() if row.solicits],
    }
    rows: list[Row] = [
        ("", note(flag)),
        ("types", type_names(FLAG_TYPES[flag])),
        ("opcodes", " ".join(with_it.get(flag, []))),
    ]
    see = ["help post_send", "ibv_post_send(3)"]
    return article(full_name(flag), f"send flag {int(flag)}", rows, see)


def right_article(right: Access) -> Article:
    """One access right."""
    row = RIGHTS[right]
    users = [opcode.name for opcode, work in WORK.items() if work.remote & right]
    rows: list[Row] = [
        ("", row.sentence),
        ("needs", named(row.needs)),
        ("on a QP", "qp_access_flags know it" if row.on_qp else "not in qp_access_flags"),
        ("used by", " ".join(users)),
    ]
    see = ["help reg_mr", "explain qp_access_flags"]
    return article(full_name(right), f"right, bit {int(right).bit_length() - 1}", rows, see)


def wc_opcode_article(code: WCOpcode) -> Article:
    """One opcode of a completion."""
    side = "receive" if code >= _RECEIVE_SIDE else "send"
    makers = [opcode.name for opcode, row in WORK.items() if row.wc_opcode is code]
    rows: list[Row] = [
        ("", note(code)),
        ("side", f"{side} completions; 128 and more is the receive side"),
        ("wire", " ".join(_last_packets(code)) or "nothing is sent"),
        ("made by", " ".join(makers)),
        ("valid", "on SUCCESS only"),
    ]
    see = ["explain wc", "ibv_poll_cq(3)"]
    return article(full_name(code), f"completion opcode {int(code)}", rows, see)


def _last_packets(code: WCOpcode) -> list[str]:
    """The last packets of what was sent, or of what came, before such a completion."""
    taken = _TAKEN_FOR.get(code)
    if taken is None:
        rows = [row for row in WORK.values() if row.wc_opcode is code]
    else:
        rows = [row for row in WORK.values() if row.consumes_receive and row.message == taken]
    labels = dict.fromkeys(label for row in rows for label in packets_of(row))
    return [label for label in labels if OPCODES[BY_LABEL[label][0]].ends]


# The message that took a receive of this opcode.
_TAKEN_FOR = {WCOpcode.RECV: Op.SEND, WCOpcode.RECV_RDMA_WITH_IMM: Op.RDMA_WRITE}


def wc_flag_article(flag: WCFlags) -> Article:
    """One flag of a completion."""
    rows: list[Row] = [("", note(flag)), ("wire", wire("WCFlags", str(flag.name)))]
    see = ["explain wc", "ibv_poll_cq(3)"]
    return article(full_name(flag), f"completion flag {int(flag)}", rows, see)


def wc_ex_article(flag: WcEx) -> Article:
    """One field that an extended CQ can be asked for."""
    reads = [name for name, row in READS.items() if row.flag is flag]
    silent = [name for name in reads if not READS[name].source]
    rows: list[Row] = [
        (
            "",
            "With this flag of create_cq_ex a field is readable; without it the read crashes in C",
        ),
        ("reads", " ".join(f"ibv_wc_read_{name}" for name in reads) or "no field of this lab"),
        ("here", "always 0: RoCE does not report it" if silent else ""),
        ("devices", by_profile(lambda p: "yes" if p.extended_fields & flag else "EOPNOTSUPP")),
    ]
    see = ["explain wc_read", "ibv_create_cq_ex(3)"]
    return article(full_name(flag), f"wc_flags flag {int(flag)}", rows, see)
