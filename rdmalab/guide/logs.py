"""Lines of logs: the word that a line is about, and what else the line contains."""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rdmalab.guide.connections import number_words
from rdmalab.guide.firmware import read_refused
from rdmalab.guide.sentences import concepts, errnos
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.connections import EVENTS as CM_EVENTS
from rdmalab.spec.connections import CmEvent, Number
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import STATUS, WCStatus
from rdmalab.spec.vendor_errors import SEEN_WITH
from rdmalab.spec.work import WROpcode

_S, _O = WCStatus, WROpcode

SYNDROMES: dict[int, WCStatus] = {
    0x01: _S.LOC_LEN_ERR,
    0x02: _S.LOC_QP_OP_ERR,
    0x04: _S.LOC_PROT_ERR,
    0x05: _S.WR_FLUSH_ERR,
    0x06: _S.MW_BIND_ERR,
    0x10: _S.BAD_RESP_ERR,
    0x11: _S.LOC_ACCESS_ERR,
    0x12: _S.REM_INV_REQ_ERR,
    0x13: _S.REM_ACCESS_ERR,
    0x14: _S.REM_OP_ERR,
    0x15: _S.RETRY_EXC_ERR,
    0x16: _S.RNR_RETRY_EXC_ERR,
    0x22: _S.REM_ABORT_ERR,
}
PAGE_FAULT = 0x93  # the one code that the driver has a name for, beside REM_ABORT_ERR

_OPCODES: dict[int, WROpcode] = {
    0x01: _O.SEND_WITH_INV,
    0x08: _O.RDMA_WRITE,
    0x09: _O.RDMA_WRITE_WITH_IMM,
    0x0A: _O.SEND,
    0x0B: _O.SEND_WITH_IMM,
    0x0E: _O.TSO,
    0x10: _O.RDMA_READ,
    0x11: _O.ATOMIC_CMP_AND_SWP,
    0x12: _O.ATOMIC_FETCH_AND_ADD,
    0x1B: _O.LOCAL_INV,
}
_SENDER, _RECEIVER = 13, 14  # the upper four bits of the last byte
_TAIL = 16  # bytes, the last of 64: all that an error completion says of itself
_IN_WORDS = re.compile(r"\b[0-9a-f]{8}(?:\s+[0-9a-f]{8}){3,15}\b", re.IGNORECASE)
_IN_BYTES = re.compile(r"\b(?:[0-9a-f]{2}\s+){15}[0-9a-f]{2}\b", re.IGNORECASE)


class ErrorCqe(NamedTuple):
    """The tail of an error completion, taken apart. opcode: of the work request, if it was sent."""

    status: WCStatus
    syndrome: int
    vendor_err: int
    qp_num: int
    wqe_counter: int
    is_send: bool
    opcode: WROpcode | None


def read_error_cqe(text: str) -> ErrorCqe | None:
    """The error completion that a text dumps, in words or in bytes; its last line suffices."""
    for pattern in (_IN_WORDS, _IN_BYTES):
        dumps = [bytes.fromhex(found[0]) for found in pattern.finditer(text)]
        if dumps and (cqe := _taken_apart(dumps[-1][-_TAIL:])) is not None:
            return cqe
    return None


def _taken_apart(tail: bytes) -> ErrorCqe | None:
    vendor_err, syndrome, opcode, last = tail[6], tail[7], tail[8], tail[15] >> 4
    if last not in (_SENDER, _RECEIVER):
        return None
    is_send = last == _SENDER
    return ErrorCqe(
        status=SYNDROMES.get(syndrome, WCStatus.GENERAL_ERR),
        syndrome=syndrome,
        vendor_err=vendor_err,
        qp_num=int.from_bytes(tail[9:12]),
        wqe_counter=int.from_bytes(tail[12:14]),
        is_send=is_send,
        opcode=_OPCODES.get(opcode) if is_send else None,
    )


def vendor_words(code: int) -> str:
    """Known meanings of a vendor code."""
    text = f"vendor code {code:#x} = {code}"
    if not code:
        return f"{text}: the device has no code, or none is known for this status"
    known = [f"profile strict returns it with {status.name}" for status in _of_strict(code)]
    if (seen := SEEN_WITH.get(code)) is not None:
        known.insert(0, f"on ConnectX, reports show it with {seen.name}")
    if code == PAGE_FAULT:
        known.insert(0, "a page fault on ON_DEMAND memory, by the mlx5 driver")
    if not known:
        return f"{text}: a code of the device; there is no public list"
    return f"{text}: {', '.join(known)}; there is no public list"


def _of_strict(code: int) -> list[WCStatus]:
    errors = STRICT.vendor_errors
    return [s for s in STATUS if s and STATUS[s].side and errors.code(s) == code]


class Found(NamedTuple):
    """The word to explain, and sentences on the line in the terms of the lab."""

    word: str
    facts: tuple[str, ...]


# ASCII digits, as many as 64 bits take: wr_id is the widest field that a log prints.
_DECIMAL = r"0*[0-9]{1,20}"
_NUMBER = rf"(0x0*[0-9a-f]{{1,16}}|{_DECIMAL})\b"
# How far a number may stand from its word: without a bound a long text costs the square of it.
_NEAR = 300
_STATES = "|".join(state.name for state in QPState)
_FLAGS = re.IGNORECASE | re.DOTALL


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, _FLAGS)


# A number that is a status of a work completion, the surest place first.
_STATUS = (
    _pattern(rf"(?<!zero )\bstatus\W{{0,3}}{_NUMBER}"),
    _pattern(rf"\bcompletion\b.{{0,{_NEAR}}}?\berror\W{{1,2}}{_NUMBER}"),
    _pattern(rf"\bstatus\b[^\d]{{0,{_NEAR}}}\({_NUMBER}\)"),
)
# UCX and the kernel say the mlx5 syndrome; perftest's syndrom is the vendor code.
_MLX5_SYNDROME = _pattern(rf"\b(?<!vendor )synd(?:rome)?\W{{1,2}}{_NUMBER}.{{0,{_NEAR}}}?\bvend")
_VENDOR = _pattern(
    rf"\b(?:vend(?:or)?[ _]?(?:err(?:or)?|synd(?:rome)?)?|syndrom)\W{{1,3}}{_NUMBER}"
)
# Without another word it is a syndrome of mlx5, which has an article, or a vendor code.
_ANY_SYNDROME = _pattern(rf"\bsynd(?:rome)?\W{{1,3}}{_NUMBER}")
_WR_ID = _pattern(rf"\bwr_?id\W{{0,3}}{_NUMBER}")
_ERRNO = (
    _pattern(rf"\berrno\W{{0,3}}({_DECIMAL})\b"),
    _pattern(rf"\bnon-?zero status\W{{1,2}}({_DECIMAL})\b"),
    _pattern(rf"\bos error\W{{0,3}}({_DECIMAL})\b"),
    _pattern(  # -1: look at errno
        rf"\b(?:rc|ret|returned|error)\b(?!\W{{1,2}}-1\b)\W{{1,3}}-?({_DECIMAL})\b"
    ),
)
_CM_EVENT = _pattern(r"\bRDMA_CM_EVENT_([A-Z_]+)\b")
_CM_NUMBER = _pattern(rf"\b(?:status|error|reason)\W{{0,3}}?(-?)({_DECIMAL})\b")
_C_NAME = _pattern(r"\bIBV_[A-Z0-9_]+\b")
_ERRNO_NAME = re.compile(r"\bE[A-Z]{3,}\b")
_MOVE = _pattern(rf"\b({_STATES})\s*(?:->|=>|→|\bto\b)\s*({_STATES})\b")
_CURRENT_NEXT = _pattern(  # NVIDIA/nccl#2013
    rf"\bcurr\w*\W+state\W{{1,3}}({_STATES})\b\W{{1,3}}next\W+state\W{{1,3}}({_STATES})\b"
)
_REMOTE_GID = _pattern(r"\bremote GID[ =]{1,3}([0-9a-f:.]{2,45})")
_INTO = _pattern(rf"\b(?:to|into|state\W{{1,3}}(?:IBV_QPS_)?)\s*({_STATES})\b")
# How programs say modify_qp in words of their own: "Couldn't change state to RTR".
_CHANGE = _pattern(r"\bchang\w*\W+(?:\w+\W+){0,3}?state\b")
_SAYS_ERROR = _pattern(r"(?<!\bno )(?<!\bwithout )\berror\b")
_MARKS_OF_JUNK = _pattern(r"\b(?:opcode|len|byte_len)\W{0,2}\d")

_CQ_FAILED = _pattern(
    r"\bCQ\b.{0,20}?\b(overrun|access violation|error)\b"
    r".{0,10}?\bCQN\W{1,2}((?:0x)?[0-9a-f]{1,8})\b"
)
_COUNTER = re.compile(
    rf"\b([a-z]{{2,10}}(?:_[a-z0-9]{{1,20}}){{1,4}})\b(?:\s{{0,8}}[:=]?\s{{0,8}}({_DECIMAL})\b)?"
)
_NO_STATUS = "concept wc"

# Log lines that name a status in other words than `ibv_wc_status_str`.
_OTHER_WORDS: dict[str, WCStatus] = {
    "transport retry count exceeded": WCStatus.RETRY_EXC_ERR,
    "receive-no-ready retry count exceeded": WCStatus.RNR_RETRY_EXC_ERR,
    "retry exceeded": WCStatus.RETRY_EXC_ERR,
    "work request flushed": WCStatus.WR_FLUSH_ERR,
    "wr flushed": WCStatus.WR_FLUSH_ERR,
}
_TEXTS: dict[str, WCStatus] = {
    **{row.text.casefold(): status for status, row in STATUS.items() if status},
    **_OTHER_WORDS,
}
_EVENT_TEXTS = {row.text.casefold(): event for event, row in EVENTS.items()}


def _number(digits: str) -> int:
    """Number that `_NUMBER` or `_DECIMAL` matched: zeros in front do not make a number octal."""
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return int(digits.lstrip("0") or "0")


class Finding(NamedTuple):
    """A subject of a log. line: the first that has it, from 1. times: how often it is there."""

    found: Found
    line: int
    times: int


def findings(text: str, verbs: Iterable[str]) -> list[Finding]:
    """The subjects of a log of several lines, each once, in the order of their first lines.

    A line that has a failure without its reason is read with the next one, and lines of a dump
    with those that follow it directly.
    """
    verbs, found, lines, at = list(verbs), dict[str, Finding](), text.splitlines(), 0
    while at < len(lines):
        end = _after_dump(lines, at + 1)
        one = read("\n".join(lines[at:end]), verbs)
        if one is not None and _is_open(one, verbs) and end < len(lines):
            later = _after_dump(lines, end + 1)
            more = read("\n".join(lines[at:later]), verbs)
            if more is not None and more.word != one.word:
                one, end = more, later
        if one is not None:
            first = found.get(one.word, Finding(one, at + 1, 0))
            found[one.word] = first._replace(times=first.times + 1)
        at = end
    return list(found.values())


def _after_dump(lines: list[str], at: int) -> int:
    """The number of the first line from this one on that goes on no dump of the line before it."""
    while at < len(lines) and _is_dump(lines[at - 1]) and _is_dump(lines[at]):
        at += 1
    return at


def _is_dump(line: str) -> bool:
    return _IN_WORDS.search(line) is not None or _IN_BYTES.search(line) is not None


def _is_open(found: Found, verbs: Iterable[str]) -> bool:
    """Whether a line says that something failed, and not why."""
    return found.word in (_NO_STATUS, *verbs) or found.word.startswith("modify_qp ")


def read(text: str, verbs: Iterable[str]) -> Found | None:
    """Subject of one line of a log, or of several; None if not about RDMA. verbs: their names."""
    for reader in _READERS:
        if (found := reader(text)) is not None:
            return found
    return _refused(text, verbs) or _nameless(text) or _counted(text)


# --------------------------------------------------------------------------- the driver
def _commanded(text: str) -> Found | None:
    """A command that the firmware of mlx5 refused: its status is none of a completion."""
    if (refused := read_refused(text)) is None:
        return None
    verb, states, status = refused.verb, refused.states, refused.status
    way = f" for {states.replace(' ', ' → ')}" if states else ""
    sent = f", which {verb} sends{way}" if verb else ""
    if status is None:
        facts = [f"the firmware of mlx5 has not answered the command {refused.command}{sent}"]
    else:
        facts = [f"the firmware of mlx5 refused the command {refused.command}{sent}"]
        means = f": {status.means}" if status.means else ""
        facts.append(f"status of the command, not of a completion: {status.name}{means}")
    facts.append(f"the verb returns errno {refused.errno}, {errno_name(refused.errno)}")
    if refused.syndrome:
        facts.append(f"syndrome {refused.syndrome} of the firmware: there is no public list")
    word = f"{verb} {states}".strip() if verb else errno_name(refused.errno)
    return Found(word, tuple(facts))


def _overrun(text: str) -> Found | None:
    """A CQ that the driver reports as failed: mlx5 and mlx4 name it by its number."""
    if (match := _CQ_FAILED.search(text)) is None:
        return None
    name = full_name(AsyncEvent.CQ_ERR)
    what = "is full and lost a completion" if match[1].casefold() == "overrun" else "has failed"
    return Found(name, (f"the CQ with number {match[2]} {what}: {name}",))


def _counted(text: str) -> Found | None:
    """Counters of a device, with or without their values: the first that is not 0."""
    known = [m for m in _COUNTER.finditer(text) if m[1] in concepts()
             and concepts()[m[1]].is_counter]  # fmt: skip
    if not known:
        return None
    values = [(match[1], match[2]) for match in known]
    word = next((name for name, value in values if value and _number(value)), values[0][0])
    facts = [
        f"{name} = {value}: {_first_words(name)}" if value else f"{name}: {_first_words(name)}"
        for name, value in values
    ]
    return Found(f"concept {word}", tuple(facts))


def _first_words(counter: str) -> str:
    """The first sentence about a counter, without the words that it is one."""
    return concepts()[counter].lines[0].removeprefix("A counter of mlx5: ")


# --------------------------------------------------------------------------- completions
def _dumped(text: str) -> Found | None:
    """The bytes of a completion, as mlx5 prints them."""
    if (cqe := read_error_cqe(text)) is None:
        return None
    queue = "send" if cqe.is_send else "receive"
    what = f" of {cqe.opcode.name}" if cqe.opcode is not None else ""
    words = (
        f"an mlx5 error completion: syndrome {cqe.syndrome:#04x}, which is {cqe.status.name}",
        f"on the {queue} queue of QP {cqe.qp_num:#x}, WQE {cqe.wqe_counter}{what}",
        vendor_words(cqe.vendor_err),
    )
    return Found(full_name(cqe.status), words)


def _connection(text: str) -> Found | None:
    """An event of rdma_cm by name, of several the first that may have failed, and its number."""
    known = [m for m in _CM_EVENT.finditer(text) if m[1].upper() in CmEvent.__members__]
    named = [(CmEvent[match[1].upper()], match.end()) for match in known]
    if not named:
        return None
    failed = (each for each in named if CM_EVENTS[each[0]].number is not Number.ZERO)
    event, end = next(failed, named[0])
    facts = [f"it names {full_name(event)}"]
    match = _CM_NUMBER.search(text, end, end + _NEAR)
    if match is not None and (number := _number(match[2])):
        facts.append(number_words(event, -number if match[1] else number))
    return Found(full_name(event), tuple(facts))


def _mlx5_syndrome(text: str) -> Found | None:
    match = _MLX5_SYNDROME.search(text)
    status = SYNDROMES.get(_number(match[1])) if match else None
    if match is None or status is None:
        return None
    words = f"syndrome {_number(match[1]):#04x} of mlx5 is {status.name}"
    return Found(full_name(status), (words, *_details(text)))


def _numbered(text: str) -> Found | None:
    """`status=12`, `Failed status 12`, `with error 12, opcode 0`."""
    for pattern in _STATUS:
        match = pattern.search(text)
        if match is None or (number := _number(match[1])) not in tuple(WCStatus):
            continue
        if number or _SAYS_ERROR.search(text) is None:
            return _status(WCStatus(number), f"status {match[1]}", text)
    return None


def _status(status: WCStatus, how: str, text: str) -> Found:
    words = f"{how} is {full_name(status)}"
    return Found(full_name(status), (words, *_details(text)))


def _details(text: str) -> Iterator[str]:
    """Facts beside a status in such a line."""
    if match := _WR_ID.search(text):
        yield f"wr_id {match[1]}: the number that the program gave this work request"
    if match := _VENDOR.search(text):
        yield vendor_words(_number(match[1]))
    if _MARKS_OF_JUNK.search(text):
        yield "its opcode and length are undefined: the status is an error"


def _named(text: str) -> Found | None:
    """A name of C in the midst of a line: IBV_EVENT_QP_FATAL, IBV_WC_RETRY_EXC_ERR."""
    known = {full_name(status) for status in WCStatus} | {full_name(e) for e in AsyncEvent}
    name = next((m[0].upper() for m in _C_NAME.finditer(text) if m[0].upper() in known), "")
    return Found(name, (f"it names {name}", *_details(text))) if name else None


def _worded(text: str) -> Found | None:
    """The text of `ibv_wc_status_str` or `ibv_event_type_str`, or words like it."""
    loose = text.casefold()
    for words in (*_TEXTS, *_EVENT_TEXTS):
        if words not in loose or re.search(rf"\b{re.escape(words)}\b", loose) is None:
            continue
        if words in _TEXTS:
            return _status(_TEXTS[words], f'"{words}", status {int(_TEXTS[words])},', text)
        event = _EVENT_TEXTS[words]
        return Found(full_name(event), (f'"{words}" is {full_name(event)}',))
    return None


_READERS: tuple[Callable[[str], Found | None], ...] = (
    _commanded, _overrun, _dumped, _connection, _mlx5_syndrome, _numbered, _named, _worded,
)  # fmt: skip


# --------------------------------------------------------------------------- refused calls
def _refused(text: str, verbs: Iterable[str]) -> Found | None:
    """A verb, an errno or both."""
    verb, number = _verb(text, verbs), _errno(text)
    lines = [] if number is None else [f"errno {number} is {errno_name(number)}"]
    if not verb and _CHANGE.search(text) and _move(text):
        verb = "modify_qp"
    if verb == "modify_qp" and (move := _move(text)):
        way = f"to {move}" if " " not in move else move.replace(" ", " → ")
        lines += _unanswered_address(text, number)
        return Found(f"modify_qp {move}", (f"modify_qp failed in the transition {way}", *lines))
    if verb and number is not None:
        rules = [n for n, r in RULES.items() if r.errno == number and f"ibv_{verb}(" in r.source]
        named = f"rules by which {verb} returns it: {' '.join(rules)}"
        return Found(errno_name(number), (f"{verb} was refused", *lines, *([named] * bool(rules))))
    if number is not None:
        return Found(errno_name(number), tuple(lines))
    return Found(verb, (f"{verb} failed; the line does not contain the errno",)) if verb else None


def _unanswered_address(text: str, number: int | None) -> list[str]:
    """Of an address that no host has: the rule, and the address where the line has it."""
    if number not in (errno.ETIMEDOUT, errno.EHOSTUNREACH):
        return []
    gid = f" {match[1]}" if (match := _REMOTE_GID.search(text)) else ""
    return [f"no host answers at the remote GID{gid}: explain rule ah-neighbour"]


def _verb(text: str, verbs: Iterable[str]) -> str:
    """The longest name of a verb in it, with blanks or underscores."""
    loose = re.sub(r"[\s_]+", "_", text.casefold())
    named = [verb for verb in verbs if "_" in verb and verb in loose]
    found = [verb for verb in named if re.search(rf"(?<![a-z]){verb}(?![a-z])", loose)]
    return max(found, key=len, default="")


def _errno(text: str) -> int | None:
    """By name, number or the text of `strerror`; only what a rule of the lab raises."""
    if match := _ERRNO_NAME.search(text):
        return next((number for number in errnos() if errno_name(number) == match[0]), None)
    for number, row in errnos().items():
        if row.says.casefold() in text.casefold():
            return number
    numbers = (_number(m[1]) for pattern in _ERRNO if (m := pattern.search(text)))
    return next((number for number in numbers if number in errnos()), None)


def _move(text: str) -> str:
    """`RTR`, or `INIT RTR` where the line says both."""
    if match := _CURRENT_NEXT.search(text) or _MOVE.search(text):
        return f"{match[1]} {match[2]}".upper()
    return match[1].upper() if (match := _INTO.search(text)) else ""


def _nameless(text: str) -> Found | None:
    """A failure without a status."""
    match = _VENDOR.search(text) or _ANY_SYNDROME.search(text)
    if match is not None:
        return Found("concept vendor_err", (vendor_words(_number(match[1])),))
    if "completion with error" not in text.casefold():
        return None
    return Found(_NO_STATUS, ("an error completion; the next line may contain the status",))
