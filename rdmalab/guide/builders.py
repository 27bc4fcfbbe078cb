"""The extended post API: the builder of each flag of create_qp_ex, and what it needs."""

from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, full_name
from rdmalab.guide.phrases import by_profile, type_names
from rdmalab.spec.builders import DATA_SETTERS, INLINE_SETTERS, moves_data, qp_setter
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.states import QPType
from rdmalab.spec.work import BUILDERS, WORK, SendOps, WROpcode


def entries() -> Iterator[Entry]:
    """Flags of `send_ops_flags`."""
    for opcode in BUILDERS:
        flag = SendOps[opcode.name]
        words = (f"builder {opcode.name}", f"EX_WITH_{opcode.name}")
        yield Entry(full_name(flag), "builder flag", words, partial(flag_article, opcode))


def flag_article(opcode: WROpcode) -> Article:
    """One builder that create_qp_ex can be asked for."""
    flag = SendOps[opcode.name]
    types = WORK[opcode].types
    lacking = [
        f"{p.name}: {name.partition(':')[0]}"
        for p in PROFILES.values()
        for name in sorted(p.lacks_builders)
        if name.partition(":")[2] == flag.name
    ]
    addressed = [f"{t.name} {qp_setter(t, opcode)}" for t in QPType if t in types]
    rows: list[Row] = [
        ("", f"The queue pair can build {opcode.name} with {BUILDERS[opcode]}"),
        ("types", type_names(types)),
        ("not on", "; ".join(lacking)),
        ("data", " or ".join(_data_setters(opcode)) or "takes no setter for data"),
        ("inline", _inline(opcode)),
        ("address", "; ".join(said for said in addressed if not said.endswith(" "))),
        ("without it", "in C the function is a NULL pointer; here wr_complete returns EINVAL"),
    ]
    see = [f"explain {opcode.name}", "help create_qp_ex", "ibv_wr_post(3)"]
    return article(full_name(flag), f"builder flag {int(flag)}", rows, see)


def _data_setters(opcode: WROpcode) -> list[str]:
    """The setters of the bytes of the request; those of inline data for some opcodes."""
    if not moves_data(opcode):
        return []
    row = WORK[opcode]
    return [name for name in DATA_SETTERS if row.inline or name not in INLINE_SETTERS]


def _inline(opcode: WROpcode) -> str:
    """What wr_complete returns for an inline setter that the opcode cannot have."""
    if not moves_data(opcode) or WORK[opcode].inline:
        return ""
    return by_profile(
        lambda p: (
            "wr_complete refuses it: explain inline-opcode"
            if p.refuses_inline_read
            else "not refused"
        )
    )
