"""The words for enum values: with the prefixes of libibverbs or without, in either case."""

import enum

from rdmalab.command import EnumKind
from rdmalab.grammar.hints import quoted
from rdmalab.spec.c_names import ANY_PREFIX

# Of enums that the lab has not, too; the longest first: IBV_QP_EX_WITH_ before IBV_QP_.
_OTHERS = ("IB_MTU_", "IBV_CREATE_CQ_ATTR_", "IBV_TM_", "IBV_WQS_", "IBV_WQT_", "IBV_")
_KNOWN = dict.fromkeys((*filter(None, ANY_PREFIX.values()), *_OTHERS))
PREFIXES = tuple(sorted(_KNOWN, key=len, reverse=True))
NOUNS = {
    "Access": "access flag", "Arm": "request for a completion event", "AsyncEvent": "async event",
    "Attr": "attribute of modify_qp", "Errno": "errno", "Fate": "fate of a packet",
    "FlowFlags": "flag of a flow", "FlowType": "flow type", "InitMask": "bit of comp_mask",
    "LinkLayer": "link layer", "MTU": "path MTU", "MWType": "memory window type",
    "MigState": "path_mig_state", "OpenFlag": "flag of open_xrcd", "Origin": "origin of a packet",
    "PhysState": "physical port state", "Placement": "placement type of a FLUSH",
    "PortState": "port state", "ProgramState": "state of a program",
    "Progress": "state of a work request", "QPState": "QP state", "QPType": "QP type",
    "Rereg": "flag of rereg_mr", "Selectivity": "selectivity level of a FLUSH",
    "SendFlags": "send flag", "SendOps": "operation of send_ops_flags",
    "SrqAttrMask": "attribute of modify_srq", "SrqType": "SRQ type", "Syndrome": "syndrome",
    "WCFlags": "completion flag", "WCOpcode": "completion opcode", "WCStatus": "completion status",
    "WROpcode": "opcode of a work request", "WcEx": "field of wc_flags",
    "WindowState": "state of a memory window",
}  # fmt: skip
"""Nouns for the values of an enum in errors."""

AnyEnum = type[enum.IntEnum] | type[enum.IntFlag]


def readings(word: str) -> list[str]:
    """The word in capitals, then without each prefix it carries."""
    capital = word.upper()
    return [capital, *(capital.removeprefix(p) for p in PREFIXES if capital.startswith(p))]


def without_prefix(word: str) -> str:
    """The word without the prefix of libibverbs, if it has one; case is kept."""
    return next((word[len(p) :] for p in PREFIXES if word.upper().startswith(p)), word)


def no_member(word: str, of: AnyEnum) -> str:
    """`"RTSS" is no QP state`."""
    return f"{quoted(word)} is no {NOUNS[of.__name__]}"


def member_value(word: str, of: AnyEnum) -> int | None:
    """The number of the member that a word names; None where it names none."""
    members = {name.upper(): int(member) for name, member in of.__members__.items()}
    return next((members[r] for r in readings(word) if r in members), None)


def value_of(word: str, kind: EnumKind) -> int | None:
    """The number a word stands for, a further spelling (`1024` for IBV_MTU_1024) first."""
    spelled = {text.upper(): value for text, value in kind.spelled}
    for reading in readings(word):
        if reading in spelled:
            return spelled[reading]
    return member_value(word, kind.enum)


def legal_words(kind: EnumKind) -> list[str]:
    """The legal words: further spellings, else the names of the members."""
    return [text for text, _ in kind.spelled] or list(kind.enum.__members__)


def word_for(value: int, kind: EnumKind) -> str:
    """The canonical text of a value: a spelling, names, or the number where there is no name."""
    for text, number in kind.spelled:
        if number == value:
            return text
    if kind.is_flags and value > 0:
        return _flag_words(value, kind.enum)
    names = {int(member): name for name, member in kind.enum.__members__.items()}
    return names.get(value) or _plain(value, kind)


def _flag_words(value: int, of: AnyEnum) -> str:
    names = []
    for name, member in of.__members__.items():
        if member.value.bit_count() == 1 and value & member.value:
            names.append(name)
            value &= ~member.value
    return "|".join([*names, hex(value)] if value else names)


def _plain(value: int, kind: EnumKind) -> str:
    """A number, written so that it is not taken for a spelling."""
    return hex(value) if value_of(str(value), kind) is not None else str(value)
