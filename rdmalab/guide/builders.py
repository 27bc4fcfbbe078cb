"""The extended post API: what each flag of create_qp_ex gives, and what its builder needs."""

from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, full_name
from rdmalab.guide.phrases import by_profile, type_names
from rdmalab.guide.sentences import note
from rdmalab.spec.builders import (
    BUILDERS,
    DATA_SETTERS,
    INLINE_SETTERS,
    InitMask,
    SendOps,
    moves_data,
    qp_setter,
)
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.states import QPType
from rdmalab.spec.work import WORK, WROpcode


def entries() -> Iterator[Entry]:
    """Flags of `send_ops_flags`, bits of `comp_mask`."""
    for opcode in BUILDERS:
        flag = SendOps[opcode.name]
        words = (f"builder {opcode.name}", f"EX_WITH_{opcode.name}")
        yield Entry(full_name(flag), "builder flag", words, partial(flag_article, opcode))
    for bit in InitMask:
        words = (str(bit.name), f"comp_mask {bit.name}")
        yield Entry(full_name(bit), "creation mask", words, partial(mask_article, bit))


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
        ("without it", "the function is a NULL pointer in C; wr_complete answers EINVAL here"),
    ]
    see = [f"explain {opcode.name}", "help create_qp_ex", "ibv_wr_post(3)"]
    return article(full_name(flag), f"builder flag {int(flag)}", rows, see)


def _data_setters(opcode: WROpcode) -> list[str]:
    """The setters that say where the bytes of the request are; those of inline data for some."""
    if not moves_data(opcode):
        return []
    row = WORK[opcode]
    return [name for name in DATA_SETTERS if row.inline or name not in INLINE_SETTERS]


def _inline(opcode: WROpcode) -> str:
    """What wr_complete answers to an inline setter that the opcode cannot have."""
    if not moves_data(opcode) or WORK[opcode].inline:
        return ""
    return by_profile(
        lambda p: (
            "wr_complete refuses it: explain inline-opcode"
            if p.refuses_inline_read
            else "not refused"
        )
    )


def mask_article(bit: InitMask) -> Article:
    """One bit of the `comp_mask` of create_qp_ex."""
    rows: list[Row] = [("", note(bit))]
    see = ["help create_qp_ex", "ibv_create_qp_ex(3)"]
    return article(full_name(bit), f"creation mask {int(bit)}", rows, see)
