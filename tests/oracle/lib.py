"""The lib.py of the recorded pyverbs programs, for the lab: same names, same results.

A program copied beside it runs on the lab unchanged. Its two devices are those of the lab, and what
it would tell Linux (nft, tc, ip, tcpdump, the descriptors of /proc) is done to the lab's cable,
ports and events. It stands alone: nothing here but the lab and pyverbs.
"""

import errno
import fcntl
import json
import os as host_os
import platform
import random
import re
import select as host_select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyverbs.enums as e
from pyverbs.addr import AH as AH
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError, PyverbsUserError
from pyverbs.qp import QP, DataBuffer, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

from rdmalab.command import Noun
from rdmalab.compat.process import begin, here
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet
from rdmalab.world import snapshots
from rdmalab.world.faults import Drop, Fault, Match
from rdmalab.world.network import Cable
from rdmalab.world.transit import Transit

__all__ = [
    "ACC", "AH", "ALL_ACC", "CHAIN", "CQ", "EVENTS", "FIELD", "GID", "KEEP", "MASK", "MR", "MW",
    "OPC", "OUT", "PD", "QP", "QPT", "REQ", "SF", "SGE", "SRQ", "ST", "STATES", "WC_FLAG", "WC_OP",
    "WC_STATUS", "AHAttr", "CompChannel", "Context", "DataBuffer", "End", "GlobalRoute", "MWBind",
    "MWBindInfo", "Node", "Pair", "PyverbsError", "PyverbsRDMAError", "PyverbsUserError", "QPAttr",
    "QPCap", "QPEx", "QPInitAttr", "QPInitAttrEx", "RecvWR", "SendWR", "SrqAttr", "SrqInitAttr",
    "av", "call", "e", "en", "errno", "fcntl", "isolated", "json", "meta", "nodes", "os",
    "platform", "save", "select", "sh", "show_sge", "show_wc", "signal", "struct", "subprocess",
    "sys", "time", "traceback", "writeall",
]  # fmt: skip

OUT = host_os.environ.get("OUT", "/tmp/out")
KEEP: list[Any] = []  # a destructor would look for its object in the lab of a later experiment

# --------------------------------------------------------------------------- names of numbers
STATES = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"]
ST = {name: number for number, name in enumerate(STATES)}
WC_STATUS = [status.name for status in WCStatus]
WC_OP = {
    0: "SEND", 1: "RDMA_WRITE", 2: "RDMA_READ", 3: "COMP_SWAP", 4: "FETCH_ADD", 5: "BIND_MW",
    6: "LOCAL_INV", 7: "TSO", 8: "FLUSH", 9: "ATOMIC_WRITE", 128: "RECV",
    129: "RECV_RDMA_WITH_IMM",
}  # fmt: skip
WC_FLAG = {1: "GRH", 2: "WITH_IMM", 4: "IP_CSUM_OK", 8: "WITH_INV", 16: "TM_SYNC_REQ"}
OPC = {
    "RDMA_WRITE": 0, "RDMA_WRITE_WITH_IMM": 1, "SEND": 2, "SEND_WITH_IMM": 3, "RDMA_READ": 4,
    "ATOMIC_CMP_AND_SWP": 5, "ATOMIC_FETCH_AND_ADD": 6, "LOCAL_INV": 7, "BIND_MW": 8,
    "SEND_WITH_INV": 9, "TSO": 10, "DRIVER1": 11, "FLUSH": 14, "ATOMIC_WRITE": 15,
}  # fmt: skip
SF = {"FENCE": 1, "SIGNALED": 2, "SOLICITED": 4, "INLINE": 8, "IP_CSUM": 16}
EVENTS = [event.name for event in AsyncEvent if event <= AsyncEvent.WQ_FATAL]
ACC = {"LOCAL_WRITE": 1, "REMOTE_WRITE": 2, "REMOTE_READ": 4, "REMOTE_ATOMIC": 8, "MW_BIND": 16,
       "ZERO_BASED": 32}  # fmt: skip
ALL_ACC = 31
QPT = {"RC": 2, "UC": 3, "UD": 4, "RAW_PACKET": 8, "XRC_SEND": 9, "XRC_RECV": 10}

# Attribute, its bit in the mask, its name in QPAttr.
_ATTRIBUTES = [
    ("STATE", 0, "qp_state"), ("CUR_STATE", 1, "cur_qp_state"),
    ("EN_SQD_ASYNC_NOTIFY", 2, "en_sqd_async_notify"), ("ACCESS_FLAGS", 3, "qp_access_flags"),
    ("PKEY_INDEX", 4, "pkey_index"), ("PORT", 5, "port_num"), ("QKEY", 6, "qkey"),
    ("AV", 7, "ah_attr"), ("PATH_MTU", 8, "path_mtu"), ("TIMEOUT", 9, "timeout"),
    ("RETRY_CNT", 10, "retry_cnt"), ("RNR_RETRY", 11, "rnr_retry"), ("RQ_PSN", 12, "rq_psn"),
    ("MAX_QP_RD_ATOMIC", 13, "max_rd_atomic"), ("ALT_PATH", 14, "alt_ah_attr"),
    ("MIN_RNR_TIMER", 15, "min_rnr_timer"), ("SQ_PSN", 16, "sq_psn"),
    ("MAX_DEST_RD_ATOMIC", 17, "max_dest_rd_atomic"), ("PATH_MIG_STATE", 18, "path_mig_state"),
    ("CAP", 19, "cap"), ("DEST_QPN", 20, "dest_qp_num"), ("RATE_LIMIT", 25, "rate_limit"),
]  # fmt: skip
MASK = {name: 1 << bit for name, bit, _ in _ATTRIBUTES}
FIELD = {name: attribute for name, bit, attribute in _ATTRIBUTES if bit > 1}
_UP = [("RESET", "INIT"), ("INIT", "RTR"), ("RTR", "RTS")]
REQ: dict[str, dict[tuple[str | None, str], list[str]]] = {
    kind: {move: words.split() for move, words in zip(_UP, rows, strict=True)}
    for kind, rows in {
        "RC": ("PKEY_INDEX PORT ACCESS_FLAGS",
               "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER",
               "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC"),
        "UC": ("PKEY_INDEX PORT ACCESS_FLAGS", "AV PATH_MTU DEST_QPN RQ_PSN", "SQ_PSN"),
        "UD": ("PKEY_INDEX PORT QKEY", "", "SQ_PSN"),
    }.items()
}  # fmt: skip
CHAIN = {
    "RESET": [], "INIT": ["INIT"], "RTR": ["INIT", "RTR"], "RTS": ["INIT", "RTR", "RTS"],
    "SQD": ["INIT", "RTR", "RTS", "SQD"], "ERR": ["INIT", "ERR"],
}  # fmt: skip

# --------------------------------------------------------------------------- the two interfaces
_NETDEVS = {"v0": "A", "v1": "B"}
_DEVICES = {"rxe0": "rdmalab0", "rxe1": "rdmalab1"}
_MTU = 4400  # of the interfaces
_ROCE_ROOM = 80  # what Soft-RoCE leaves for headers
_UDP_AT = 34  # in a frame
_CARRY_NS = 1_000  # from one interface to the other
_TURN_NS = 10_000  # until an interface sends its next packet


class NotEmulatedError(Exception):
    """A tool was asked for what is not done here; its own complaint, as text."""


@dataclass(slots=True)
class Rule:
    """One rule of nft: steps that all must agree, in order, and what is done then."""

    steps: list[Callable[[bytes], bool]]
    verdict: str

    def fits(self, frame: bytes) -> bool:
        return all(step(frame) for step in self.steps)


class Chain(Match):
    """What the rules for one interface drop, of all that arrives there."""

    __slots__ = ("rules",)

    def __init__(self, node: str) -> None:
        super().__init__(target=node)
        self.rules: list[Rule] = []

    def hits(self, transit: Transit) -> bool:
        if not super().hits(transit):
            return False
        frame = transit.octets
        verdicts = (rule.verdict for rule in self.rules if rule.fits(frame))
        return next(verdicts, "accept") == "drop"


@dataclass(slots=True)
class Queueing:
    """One qdisc of netem: probabilities from 0 to 1, times in ns."""

    duplicate: float = 0
    loss: float = 0
    delay: int = 0
    jitter: int = 0
    reorder: float = 0
    gap: int = 0
    counter: int = 0

    def copies(self, dice: random.Random) -> list[int]:
        """How much later each copy of a packet leaves."""
        number = 1 + (dice.random() < self.duplicate) - (dice.random() < self.loss)
        return [self._later(dice) for _ in range(number)]

    def _later(self, dice: random.Random) -> int:
        gap = self.gap or (1 if self.reorder else 0)
        if not gap or self.counter < gap - 1 or self.reorder < dice.random():
            self.counter += 1
            return max(0, self.delay + round(self.jitter * (2 * dice.random() - 1)))
        self.counter = 0
        return 0


@dataclass(slots=True)
class Tap:
    """A running tcpdump."""

    node: str
    frames: list[tuple[int, bytes]] = field(default_factory=list)


class Interfaces:
    """What Linux was told about v0 and v1; it stays from one experiment to the next."""

    def __init__(self) -> None:
        self.chains = {node: Chain(node) for node in _NETDEVS.values()}
        self.queueing: dict[str, Queueing] = {}
        self.mtu = dict.fromkeys(_NETDEVS.values(), _MTU)
        self.taps: list[Tap] = []
        self.dice = random.Random(0)

    def faults(self) -> list[Fault]:
        """The rules, as faults of the lab."""
        return [Drop(number, chain) for number, chain in enumerate(self.chains.values(), 1)]


class Wire(Cable):
    """The cable between the two interfaces.

    One processor carried all packets of the records: whatever it sent was received, and answered,
    before it sent the next.
    """

    def __init__(self, before: Cable, interfaces: Interfaces) -> None:
        super().__init__(_CARRY_NS - _TURN_NS, before.rate_bps, before.mtu)
        self.interfaces = interfaces
        self.faults = interfaces.faults()

    def occupies_ns(self, packet: Packet) -> int:
        return _TURN_NS

    def frame_occupies_ns(self, frame: Frame) -> int:
        return _TURN_NS

    def carry(self, transit: Transit) -> None:
        if transit.source == transit.target:
            return
        if not self.up:
            transit.lost = "the link is down"
            return
        qdisc = self.interfaces.queueing.get(transit.source, Queueing())
        delays = []
        for number, waits_ns in enumerate(qdisc.copies(self.interfaces.dice)):
            later_ns = waits_ns + number * _CARRY_NS
            self._tap(transit.source, transit.octets, transit.left_ns + later_ns)
            self._tap(transit.target, transit.octets, transit.left_ns + later_ns + _CARRY_NS)
            super().carry(transit)
            if not transit.lost:
                delays.append(later_ns)
        transit.lost = "" if delays else transit.lost or "tc: loss"
        if delays:
            transit.late_ns = min(delays)
            transit.copies_after_ns = [
                later_ns - transit.late_ns for later_ns in sorted(delays)[1:]
            ]

    def _tap(self, node: str, frame: bytes, at_ns: int) -> None:
        for tap in self.interfaces.taps:
            if tap.node == node:
                tap.frames.append((at_ns, frame))


snapshots._WAYS[Wire] = None  # rules of nft are no plain data, and nobody goes back in time here
_interfaces = Interfaces()

# --------------------------------------------------------------------------- nft
_HEADERS = {
    "udp sport": ("th", 0, 16), "udp dport": ("th", 16, 16), "udp length": ("th", 32, 16),
    "ip saddr": ("nh", 96, 32), "ip daddr": ("nh", 128, 32), "ip length": ("nh", 16, 16),
    "ip ttl": ("nh", 64, 8),
}  # fmt: skip
_BASES = {"ll": 0, "nh": 14, "th": _UDP_AT}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda one, other: one == other, "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other, ">": lambda one, other: one > other,
    "<=": lambda one, other: one <= other, ">=": lambda one, other: one >= other,
}  # fmt: skip
_BYTES = {"bytes": 1, "kbytes": 1 << 10, "mbytes": 1 << 20}


def _number(word: str) -> int:
    if word.count(".") == 3:
        return int.from_bytes(map(int, word.split(".")), "big")
    try:
        return int(word, 0)
    except ValueError:
        raise NotEmulatedError(f"nft: not emulated: {word}") from None


def _bits(base: str, offset: int, width: int) -> Callable[[bytes], int]:
    first = _BASES[base] * 8 + offset

    def read(frame: bytes) -> int:
        after = len(frame) * 8 - first - width
        return int.from_bytes(frame, "big") >> after & (1 << width) - 1 if after >= 0 else -1

    return read


def _test(read: Callable[[bytes], int], words: list[str]) -> Callable[[bytes], bool]:
    """The comparison that follows a field: `[& MASK] [OPERATOR] VALUE`."""
    mask = -1
    if words[0] == "&":
        mask, words[:2] = _number(words[1]), []
    agree = _COMPARE[words.pop(0) if words[0] in _COMPARE else "=="]
    if words[0] == "{":
        end = words.index("}")
        chosen = {_number(word.strip(",")) for word in words[1:end] if word != ","}
        del words[: end + 1]
        return lambda frame: read(frame) & mask in chosen
    value = _number(words.pop(0))
    return lambda frame: agree(read(frame) & mask, value)


def _quota(words: list[str]) -> Callable[[bytes], bool]:
    over = words.pop(0) == "over" if words[0] in ("until", "over") else False
    most = _number(words.pop(0)) * _BYTES[words.pop(0)]
    used = 0

    def step(frame: bytes) -> bool:
        nonlocal used
        used += len(frame) - _BASES["nh"]
        return (used > most) == over

    return step


def _numgen(words: list[str]) -> Callable[[bytes], bool]:
    how, _, modulus = words.pop(0), words.pop(0), _number(words.pop(0))
    count = -1

    def read(frame: bytes) -> int:
        nonlocal count
        del frame
        count += 1
        return count % modulus if how == "inc" else _interfaces.dice.randrange(modulus)

    return _test(read, words)


def _step(words: list[str]) -> Callable[[bytes], bool]:
    """The next step of a rule; its words are taken away."""
    first = words.pop(0)
    if first == "quota":
        return _quota(words)
    if first == "numgen":
        return _numgen(words)
    if raw := re.fullmatch(r"@(ll|nh|th),(\d+),(\d+)", first):
        return _test(_bits(raw[1], int(raw[2]), int(raw[3])), words)
    if words and (place := _HEADERS.get(f"{first} {words[0]}")):
        del words[0]
        return _test(_bits(*place), words)
    raise NotEmulatedError(f"nft: not emulated: {first}")


def _rule(text: str) -> Rule:
    words = text.replace("{", " { ").replace("}", " } ").split()
    steps: list[Callable[[bytes], bool]] = []
    while words:
        if words[0] in ("drop", "accept", "return"):
            return Rule(steps, words[0])
        if words[0] == "counter":
            del words[0]
        else:
            steps.append(_step(words))
    return Rule(steps, "continue")


def _nft_file(text: str) -> None:
    """`table netdev T { chain C { type filter hook ingress device D priority P; RULES } }`"""
    head = re.search(r"hook\s+ingress\s+device\s+\"?(\w+)\"?\s+priority\s+\S+?\s*;", text)
    if head is None or head[1] not in _NETDEVS:
        raise NotEmulatedError("nft: not emulated: a table without an ingress chain of v0 or v1")
    body = text[head.end() :].rstrip().removesuffix("}").rstrip().removesuffix("}")
    rules = [_rule(line) for line in re.split(r"[\n;]", body) if line.strip()]
    _interfaces.chains[_NETDEVS[head[1]]].rules.extend(rules)


def _nft(words: list[str], text: str | None) -> None:
    if words[:2] == ["flush", "ruleset"]:
        for chain in _interfaces.chains.values():
            chain.rules.clear()
    elif words == ["-f", "-"]:
        _nft_file(text or "")
    else:
        raise NotEmulatedError("nft: not emulated: " + " ".join(words))


# --------------------------------------------------------------------------- tc, ip
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def _share(word: str) -> float:
    return float(word.rstrip("%")) / 100


def _duration_ns(word: str) -> int:
    value, unit = re.fullmatch(r"([\d.]+)([a-z]*)", word).groups()  # type: ignore[union-attr]
    return round(float(value) * _NS[unit or "us"])


def _netem(words: list[str]) -> Queueing:
    made = Queueing()
    while words:
        what, value = words.pop(0), words.pop(0)
        if what in ("duplicate", "loss", "reorder"):
            setattr(made, what, _share(words.pop(0) if value == "random" else value))
        elif what == "gap":
            made.gap = int(value)
        elif what == "delay":
            made.delay = _duration_ns(value)
            if words and words[0][0].isdigit():
                made.jitter = _duration_ns(words.pop(0))
        else:
            raise NotEmulatedError(f"tc: not emulated: netem {what}")
        if words and words[0].endswith("%"):
            del words[0]  # how much each depends on the one before
    return made


def _tc(words: list[str]) -> None:
    """`qdisc add dev D root netem …`, `qdisc del dev D root`"""
    if len(words) < 5 or words[0] != "qdisc" or words[3] not in _NETDEVS:
        raise NotEmulatedError("tc: not emulated: " + " ".join(words))
    node = _NETDEVS[words[3]]
    if words[1] == "del":
        _interfaces.queueing.pop(node, None)
    elif "netem" not in words:
        raise NotEmulatedError("tc: not emulated: " + " ".join(words))
    else:
        _interfaces.queueing[node] = _netem(words[words.index("netem") + 1 :])


def _set_mtu(node: str, mtu: int) -> None:
    _interfaces.mtu[node] = mtu
    room = min(_interfaces.mtu.values()) - _ROCE_ROOM
    here().call("link", settings={"mtu": max(size for size in _ROCE_MTUS if size <= room)})


def _set_link(node: str, state: str) -> None:
    """Soft-RoCE hears twice of an interface that is set up: that it is up, and has a carrier."""
    process = here()
    process.call("link", state=state)
    if state == "up":
        process.world.nodes[node].raise_event(AsyncEvent.PORT_ACTIVE, 1)


_ROCE_MTUS = (256, 512, 1024, 2048, 4096)


def _ip(words: list[str]) -> None:
    """Routes and neighbours are there by themselves; a link of the lab is one for all."""
    if words[0] in ("route", "neigh", "addr"):
        return
    if words[:2] != ["link", "set"] or words[2] not in _NETDEVS:
        raise NotEmulatedError("ip: not emulated: " + " ".join(words))
    node, (what, *rest) = _NETDEVS[words[2]], words[3:]
    if what == "mtu":
        _set_mtu(node, int(rest[0]))
    elif what in ("up", "down"):
        _set_link(node, what)
    else:
        raise NotEmulatedError(f"ip: not emulated: link set {what}")


def _tool(words: list[str], text: str | None = None) -> str:
    """What a program would have printed."""
    name, rest = words[0], words[1:]
    if name == "nft":
        _nft(rest, text)
    elif name == "tc":
        _tc(rest)
    elif name == "ip":
        _ip(rest)
    elif name == "sleep":
        time.sleep(float(rest[0]))
    elif name == "dpkg-query":
        return "44.0 (names of the lab)"
    else:
        raise NotEmulatedError(f"{name}: not emulated")
    return ""


def sh(cmd: str) -> str:
    """Commands of a shell, one after the other; what they print, complaints where asked for."""
    lines = []
    for part in re.split(r"[;\n]|&&|\|\|", cmd):
        words = part.split()
        aloud = "2>&1" in words
        words = [word for word in words if not word.startswith(("2>", ">"))]
        try:
            lines.append(_tool(words) if words else "")
        except NotEmulatedError as complaint:
            lines.append(str(complaint) if aloud else "")
    return "\n".join(line for line in lines if line).strip()


# --------------------------------------------------------------------------- subprocess
class Capture:
    """A tcpdump of v0 or v1 from now on; its file is written when it is told to end."""

    def __init__(self, words: list[str]) -> None:
        self.path = Path(words[words.index("-w") + 1])
        self.tap = Tap(_NETDEVS[words[words.index("-i") + 1]])
        _interfaces.taps.append(self.tap)
        self.stderr = StringIO(f"tcpdump: listening on {words[words.index('-i') + 1]}\n")
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        del number
        if self.tap in _interfaces.taps:
            _interfaces.taps.remove(self.tap)
            self.path.write_bytes(b"".join(self._written()))
        self.returncode = 0

    def _written(self) -> Iterator[bytes]:
        """The format of pcap, with microseconds and Ethernet."""
        yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1)
        for at_ns, frame in sorted(self.tap.frames, key=lambda each: each[0]):
            seconds, ns = divmod(at_ns, 10**9)
            yield struct.pack("<IIII", seconds, ns // 1000, len(frame), len(frame)) + frame

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    kill = terminate

    def wait(self, timeout: float | None = None) -> int:
        del timeout
        return 0

    def poll(self) -> int | None:
        return self.returncode


def _popen(words: list[str], **_: Any) -> Capture:
    if words[0] != "tcpdump":
        raise FileNotFoundError(errno.ENOENT, "not emulated", words[0])
    return Capture(words)


def _run(words: list[str] | str, **named: Any) -> SimpleNamespace:
    line, complaint = words.split() if isinstance(words, str) else words, ""
    try:
        answer = _tool(line, named.get("input"))
    except NotEmulatedError as error:
        answer, complaint = "", str(error)
    return SimpleNamespace(stdout=answer, stderr=complaint, returncode=int(bool(complaint)))


subprocess: Any = SimpleNamespace(run=_run, Popen=_popen, PIPE=-1, STDOUT=-2, DEVNULL=-3)

# --------------------------------------------------------------------------- descriptors
_FDS = "/proc/self/fd"
_FIRST_FD = 10_000  # of those that only the lab has
_SHOWN = "anon_inode:[infinibandevent]"
_NEVER = "this call would never return"  # the sentence of compat/pyverbs/base.py


def _events_of(fd: int) -> Callable[[], bool] | None:
    """Whether something waits behind a descriptor of the lab; None if it is none."""
    world = here().world
    row, number = divmod(fd - _FIRST_FD, 1000)
    if row < 0 or row >= len(world.nodes):
        return None
    hca = list(world.nodes.values())[row]
    if number == 0:
        return lambda: bool(hca.async_events)
    channel = hca.tables[Noun.CHANNEL].items.get(number - 1)
    return None if channel is None else lambda: bool(channel.events)


def _lab_fds() -> list[int]:
    """Two kinds: events of a device, and of a completion channel."""
    found = []
    for row, hca in enumerate(here().world.nodes.values()):
        first = _FIRST_FD + row * 1000
        found += [first, *(first + 1 + number for number in hca.tables[Noun.CHANNEL].items)]
    return found


def _is_lab_fd(path: Any) -> bool:
    text = str(path)
    return text.startswith(_FDS + "/") and int(text.rpartition("/")[2]) >= _FIRST_FD


class _Passing:
    """A module of which some functions are other ones."""

    def __init__(self, module: Any, **instead: Any) -> None:
        self._module = module
        vars(self).update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _listdir(path: Any = ".") -> list[str]:
    found = host_os.listdir(path)
    return found + [str(fd) for fd in _lab_fds()] if str(path) == _FDS else found


def _readlink(path: Any) -> str:
    return _SHOWN if _is_lab_fd(path) else host_os.readlink(path)


def _islink(path: Any) -> bool:
    return _is_lab_fd(path) or Path(path).is_symlink()


def _select(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
    """Time passes until something waits behind one of them."""
    watched = {fd: _events_of(fd) for fd in rlist if isinstance(fd, int) and fd >= _FIRST_FD}
    if not watched:
        return host_select.select(rlist, wlist, xlist, timeout)
    process = here()
    end_ns = None if timeout is None else process.world.now_ns + round(timeout * 10**9)
    while True:
        ready = [fd for fd, waits in watched.items() if waits is not None and waits()]
        if ready or (end_ns is not None and process.world.now_ns >= end_ns):
            return ready, [], []
        if end_ns is None and process.is_idle():
            raise NotEmulatedError("select: " + _NEVER)
        process.glance()


os: Any = _Passing(
    host_os, listdir=_listdir, readlink=_readlink, path=_Passing(host_os.path, islink=_islink)
)
select: Any = _Passing(host_select, select=_select)


# --------------------------------------------------------------------------- calls
# A call took about that long on the machine of the records: what it set going was over before the
# next one began.
_CALL_S = 0.001


class Crash(BaseException):
    """The real library would have died here; the program does not catch that."""


def en(code: int | None) -> Any:
    """0, or the name of an errno."""
    return errno.errorcode.get(abs(code), code) if code else 0


def _own_words(complaint: Exception) -> str:
    """What pyverbs itself complains about, without asking the device."""
    text = str(complaint)
    if text.startswith("in C this would crash"):
        raise Crash from complaint
    return "user:" + text[:90]


def call(fn: Callable[..., Any], *a: Any, **k: Any) -> Any:
    """How a verb ends: 0, the name of an errno, or `user:` and what pyverbs says itself."""
    try:
        fn(*a, **k)
        time.sleep(_CALL_S)
    except PyverbsRDMAError as refused:
        return en(refused.error_code)
    except (PyverbsError, OverflowError, TypeError, ValueError) as complaint:
        return _own_words(complaint)
    return 0


class Node:
    """One of the two devices."""

    def __init__(self, dev: str, name: str, gid: int = 1) -> None:
        self.name, self.dev, self.gidx = name, dev, gid
        self.ctx = Context(name=_DEVICES.get(dev, dev))
        self.afd = _FIRST_FD + 1000 * list(here().world.nodes).index(self.ctx.node)
        self.pd = PD(self.ctx)
        self.gid = self.ctx.query_gid(1, gid)

    def events(self) -> list[Any]:
        """Asynchronous events that nobody has fetched so far."""
        found: list[Any] = []
        while _events_of(self.afd)():  # type: ignore[misc]
            event = self.ctx.get_async_event()
            number = event.event_type
            found.append(EVENTS[number] if number < len(EVENTS) else number)
            event.ack()
        return found


def av(node: Node, dgid: Any, **k: Any) -> Any:
    """An address as the node would write it."""
    defaults = {"sgid_index": node.gidx, "hop_limit": 64, "traffic_class": 0, "flow_label": 0}
    route = {name: k.pop(name, value) for name, value in defaults.items()}
    k = {"is_global": 1, "port_num": 1, **k}
    return AHAttr(gr=GlobalRoute(dgid=dgid, **route), **k)


def nodes() -> tuple[Node, Node]:
    """Both; two queue pairs of B that nobody uses keep the numbers of A and B apart."""
    a, b = Node("rxe0", "A"), Node("rxe1", "B")
    cq = CQ(b.ctx, 1)
    unused = QPInitAttr(qp_type=2, scq=cq, rcq=cq, cap=QPCap(1, 1, 1, 1, 0))
    KEEP.append([a, b, cq, QP(b.pd, unused), QP(b.pd, unused)])
    return a, b


# --------------------------------------------------------------------------- one end
class End:
    """A queue pair, its CQs, and a region `m`."""

    def __init__(
        self, node: Node, log: list[Any], qpt: str = "RC", sq_sig_all: int = 0, send_wr: int = 16,
        recv_wr: int = 16, send_sge: int = 4, recv_sge: int = 4, inline: int = 64, srq: Any = None,
        cqe: int = 64, mr_len: int = 65536, mr_acc: int = ALL_ACC, scq: Any = None, rcq: Any = None,
        chan: bool = False, ops: int | None = None, send_cqe: int | None = None,
    ) -> None:  # fmt: skip
        KEEP.append(self)
        self.node, self.log, self.qpt, self.srq = node, log, qpt, srq
        self.dest: tuple[Node, int] | None = None
        self.base: dict[str, Any] = {}
        self.mrs: dict[str, Any] = {}
        self.last_wr: Any = None
        self.chan = CompChannel(node.ctx) if chan else None
        with_channel = {"channel": self.chan} if chan else {}
        self.scq = scq or CQ(node.ctx, send_cqe or cqe, **with_channel)
        self.rcq = rcq or CQ(node.ctx, cqe, **with_channel)
        if mr_len:
            self.mr("m", mr_len, mr_acc)
        given = {
            "qp_type": QPT[qpt], "scq": self.scq, "rcq": self.rcq, "srq": srq,
            "cap": QPCap(send_wr, recv_wr, send_sge, recv_sge, inline), "sq_sig_all": sq_sig_all,
        }  # fmt: skip
        self.qp = self._plain(given) if ops is None else self._extended(given, ops)
        self.qpn = self.qp.qp_num

    def _plain(self, given: dict[str, Any]) -> Any:
        return QP(self.node.pd, QPInitAttr(**given))

    def _extended(self, given: dict[str, Any], ops: int) -> Any:
        mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
        attr = QPInitAttrEx(**given, pd=self.node.pd, comp_mask=mask, send_ops_flags=ops)
        return QPEx(self.node.ctx, attr)

    # ----------------------------------------------------------------- memory
    def mr(self, name: str, length: int, acc: int) -> Any:
        """A region full of 0xA0 or 0xB0."""
        made = MR(self.node.pd, length, acc)
        made.write(bytes([0xA0 if self.node.name == "A" else 0xB0]) * length, length)
        self.mrs[name] = made
        return made

    def put(self, data: bytes, off: int = 0, mr: str = "m") -> None:
        self.mrs[mr].write(data, len(data), off)

    def get(self, n: int, off: int = 0, mr: str = "m") -> bytes:
        return bytes(self.mrs[mr].read(n, off))

    def addr(self, off: int = 0, mr: str = "m") -> int:
        return int(self.mrs[mr].buf) + off

    # ----------------------------------------------------------------- states
    def value(self, a: str) -> Any:
        """What an attribute is set to unless something else is said."""
        if a in self.base:
            return self.base[a]
        node, qpn = self.dest or (self.node, self.qpn)
        own, other = (0x200, 0x100) if self.node.name == "A" else (0x100, 0x200)
        if a in ("AV", "ALT_PATH"):
            return av(self.node, node.gid)
        return {
            "EN_SQD_ASYNC_NOTIFY": 1, "ACCESS_FLAGS": 14, "PKEY_INDEX": 0, "PORT": 1,
            "QKEY": 0x11111111, "PATH_MTU": 3, "TIMEOUT": 16, "RETRY_CNT": 7, "RNR_RETRY": 7,
            "RQ_PSN": other, "SQ_PSN": own, "MAX_QP_RD_ATOMIC": 4, "MAX_DEST_RD_ATOMIC": 4,
            "MIN_RNR_TIMER": 12, "PATH_MIG_STATE": 0, "CAP": QPCap(16, 16, 4, 4, 64),
            "DEST_QPN": qpn, "RATE_LIMIT": 1000,
        }[a]  # fmt: skip

    def modify(
        self, state: Any = None, attrs: Any = (), cur: Any = None, extra_mask: int = 0, **over: Any
    ) -> Any:
        """The named attributes with their usual values; `over` has those with others."""
        chosen: dict[str, Any] = {}
        if state is not None:
            chosen["STATE"] = ST.get(state, state)
        if cur is not None:
            chosen["CUR_STATE"] = ST.get(cur, cur)
        names = list(dict.fromkeys([*attrs, *over]))
        attr, mask = QPAttr(), extra_mask
        try:
            for name in [*chosen, *names]:
                value = chosen[name] if name in chosen else over.get(name)
                if value is None and name not in over:
                    value = self.value(name)
                setattr(attr, _PLACE[name], value)
                mask |= MASK[name]
                if name == "ALT_PATH":
                    attr.alt_port_num, attr.alt_timeout, attr.alt_pkey_index = 1, 14, 0
        except (OverflowError, TypeError) as complaint:
            return _own_words(complaint)
        return call(self.qp.modify, attr, mask)

    def goto(self, state: str, **over: Any) -> Any:
        """Up to a state, with `over` where it belongs; how the first failure ended, or 0."""
        before = {"INIT": "RESET", "RTR": "INIT", "RTS": "RTR"}
        for step in CHAIN[state]:
            attrs = REQ[self.qpt].get((before.get(step), step), [])
            rc = self.modify(step, attrs, **{n: v for n, v in over.items() if n in attrs})
            if rc:
                return rc
        return 0

    def state(self) -> Any:
        try:
            number = self.qp.query(e.IBV_QP_STATE)[0].qp_state
        except PyverbsRDMAError as refused:
            return f"query:{en(refused.error_code)}"
        return STATES[number] if number < len(STATES) else number

    # ----------------------------------------------------------------- work requests
    def sges(self, sg: Any) -> list[Any]:
        """Entries are (region, offset, length) and perhaps an lkey of another one."""
        made = []
        for name, offset, length, *lkey in sg:
            region = self.mrs[name]
            made.append(SGE(region.buf + offset, length, lkey[0] if lkey else region.lkey))
        return made

    def _wr(self, kind: Any, sg: Any, **given: Any) -> Any:
        """A request; pyverbs will not make one without an SGE."""
        made = kind(num_sge=max(1, len(sg)), sg=self.sges(sg) or [SGE(0, 0, 0)], **given)
        if not sg:
            made.num_sge = 0
        return made

    def recv(self, wr_id: int, sg: Any = None, srq: Any = None, next_wr: Any = None) -> Any:
        """Post a receive."""
        sg = [("m", 32768, 1024)] if sg is None else sg
        wr = self._wr(RecvWR, sg, wr_id=wr_id, next_wr=next_wr)
        rc = call((srq or self.qp).post_recv, wr)
        self.log.append({
            "who": self.node.name, "call": "post_srq_recv" if srq else "post_recv",
            "wr_id": wr_id, "sg": [show_sge(entry) for entry in sg], "rc": rc,
        })  # fmt: skip
        return rc

    def swr(
        self, wr_id: int, op: Any = "SEND", sg: Any = None, flags: Any = ("SIGNALED",),
        imm: int | None = None, inv: int | None = None, remote: Any = None, rkey: int | None = None,
        raddr: int | None = None, cmp_add: int = 0, swap: int = 0, ah: Any = None,
        qpn: int | None = None, qkey: int | None = None, mw: Any = None, bind: Any = None,
        next_wr: Any = None,
    ) -> Any:  # fmt: skip
        """A send request, not posted."""
        del remote
        sg = _usual_sg(op) if sg is None else sg
        wr = self._wr(
            SendWR, sg, wr_id=wr_id, opcode=OPC.get(op, op), send_flags=sum(SF[f] for f in flags),
            next_wr=next_wr,
        )  # fmt: skip
        if imm is not None:
            wr.imm_data = socket_order(imm)
        if inv is not None:
            wr.imm_data = inv
        if op in ("ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD"):
            wr.set_wr_atomic(rkey, raddr, cmp_add, swap)
        elif rkey is not None or raddr is not None:
            wr.set_wr_rdma(rkey or 0, raddr or 0)
        if ah is not None:
            wr.set_wr_ud(ah, qpn, qkey)
        if bind is not None:
            wr.set_bind_wr(mw, bind)
        return wr

    def send(self, wr_id: int, op: Any = "SEND", note: str | None = None, **k: Any) -> Any:
        """Post one; remote=(End, region, offset) stands for an rkey and an address."""
        remote = k.pop("remote", None)
        if remote:
            end, name, offset = remote
            k = {"rkey": end.mrs[name].rkey, "raddr": end.mrs[name].buf + offset, **k}
        self.last_wr = None
        try:
            wr = self.swr(wr_id, op, **k)
            rc = call(self.qp.post_send, wr)
            self.last_wr = wr
        except (OverflowError, TypeError, PyverbsError) as complaint:
            rc = _own_words(complaint)
        self.log.append(self._posted(wr_id, op, note, remote, k) | {"rc": rc})
        return rc

    def _posted(self, wr_id: int, op: Any, note: Any, remote: Any, k: Any) -> dict[str, Any]:
        sg = k.get("sg")
        by_name = {
            "who": self.node.name, "call": "post_send", "wr_id": wr_id, "op": op,
            "flags": list(k.get("flags", ("SIGNALED",))),
            "sg": [show_sge(entry) for entry in (_usual_sg(op) if sg is None else sg)],
        }  # fmt: skip
        if remote:
            by_name["remote"] = [remote[0].node.name, *remote[1:]]
        numbers = ((name, k.get(name)) for name in ("imm", "cmp_add", "swap"))
        by_name |= {name: hex(value) for name, value in numbers if value is not None}
        return by_name | ({"note": note} if note else {})


_PLACE = {name: attribute for name, _, attribute in _ATTRIBUTES}


def _usual_sg(op: Any) -> list[tuple[str, int, int]]:
    return [] if op in ("LOCAL_INV", "BIND_MW") else [("m", 0, 32)]


def socket_order(number: int) -> int:
    """A number as the 32 bits that stand for it on the wire."""
    return int(struct.unpack("=I", struct.pack(">I", number))[0])


def show_sge(t: Any) -> list[Any]:
    return [*t[:3], *(f"lkey={lkey:#x}" for lkey in t[3:4])]


def show_wc(w: Any, names: dict[int, str]) -> dict[str, Any]:
    """A completion as plain data; queue pairs by name."""
    imm = struct.unpack(">I", struct.pack("=I", w.imm_data & 0xFFFFFFFF))[0]
    shown = {
        "wr_id": w.wr_id,
        "status": WC_STATUS[w.status] if w.status < len(WC_STATUS) else w.status,
        "opcode": WC_OP.get(w.opcode, w.opcode),
        "byte_len": w.byte_len,
        "wc_flags": [name for bit, name in WC_FLAG.items() if w.wc_flags & bit],
        "imm_data_be": f"0x{imm:08x}",
        "qp_num": names.get(w.qp_num, w.qp_num),
        "src_qp": names.get(w.src_qp, w.src_qp),
    }
    rest = ("vendor_err", "pkey_index", "slid", "sl", "dlid_path_bits")
    return shown | {name: getattr(w, name) for name in rest if getattr(w, name)}


# --------------------------------------------------------------------------- both ends
class Pair:
    """Two queue pairs that are connected, and what has been seen of them."""

    def __init__(
        self, qpt: str = "RC", a: Any = None, b: Any = None, aq: Any = None, bq: Any = None,
        connect: str | None = "RTS", b_state: str | None = None,
    ) -> None:  # fmt: skip
        KEEP.append(self)
        self.log: list[Any] = []
        self.notes: dict[str, Any] = {}
        self.wc: dict[str, list[Any]] = {
            name: [] for name in ("A.send", "A.recv", "B.send", "B.recv")
        }
        self.na, self.nb = nodes()
        self.A = End(self.na, self.log, qpt, **(a or {}))
        self.B = End(self.nb, self.log, qpt, **(b or {}))
        same = self.A.qpn == self.B.qpn
        self.names = {self.A.qpn: "A|B"} if same else {self.A.qpn: "A", self.B.qpn: "B"}
        self.A.dest, self.B.dest = (self.nb, self.B.qpn), (self.na, self.A.qpn)
        self.t0 = time.monotonic()
        if connect:
            ended = [self.A.goto(connect, **(aq or {}))]
            ended.append(self.B.goto(b_state or connect, **(bq or {})))
            if any(ended):
                self.notes["connect"] = ended

    def poll(self) -> int:
        """Take what lies on the four queues; how much it was."""
        queues = (self.A.scq, self.A.rcq, self.B.scq, self.B.rcq)
        count = 0
        for name, cq in zip(self.wc, queues, strict=False):
            try:
                count += self._take(name, cq) if cq is not None else 0
            except PyverbsRDMAError as refused:
                self.notes[f"poll {name}"] = en(refused.error_code)
                return count
        return count

    def _take(self, name: str, cq: Any) -> int:
        count = 0
        while (found := cq.poll(1))[0]:
            shown = show_wc(found[1][0], self.names)
            shown["t_ms"] = round((time.monotonic() - self.t0) * 1000, 1)
            self.wc[name].append(shown)
            count += found[0]
        return count

    def wait(self, n: int = 1, timeout: float = 3.0, quiet: float = 0.15) -> int:
        """Poll until n completions were seen, and `quiet` seconds more."""
        seen, end = 0, time.monotonic() + timeout
        while seen < n and time.monotonic() < end:
            found = self.poll()
            seen += found
            if not found:
                time.sleep(0.002)
        end = time.monotonic() + quiet
        while time.monotonic() < end:
            seen += self.poll()
            time.sleep(0.005)
        return seen

    def result(self) -> dict[str, Any]:
        self.poll()
        ends = {end.node.name: end.state() if end.qp else "destroyed" for end in (self.A, self.B)}
        events = {"A": self.na.events(), "B": self.nb.events()}
        found = {"calls": self.log, "wc": self.wc, "state": ends, "async": events}
        return found | ({"notes": self.notes} if self.notes else {})


# --------------------------------------------------------------------------- experiments
def isolated(fn: Callable[[], Any], timeout: int = 30) -> Any:
    """What an experiment gives on a lab of its own.

    One that waits for what never comes would have been killed when its time was over.
    """
    process = begin(here().profile)
    process.world.network.cable = Wire(process.world.network.cable, _interfaces)
    try:
        found = {"ok": fn()}
    except Crash:
        return {"crash": "SIGSEGV"}
    except Exception as error:  # noqa: BLE001  (of the experiment, told as its result)
        if str(error).endswith(_NEVER):
            return {"exception": f"timeout after {timeout}s"}
        text = f"{type(error).__name__}: {error}"
        found = {"exception": text, "trace": traceback.format_exc()[-600:]}
    finally:
        begin(process.profile)  # with its process all that it had is gone, and sends no more
    return json.loads(json.dumps(found))


def writeall(fd: int, b: bytes) -> None:
    while b:
        b = b[host_os.write(fd, b) :]


def meta() -> dict[str, str]:
    profile = here().profile
    return {
        "kernel": "none: the lab as " + (profile if isinstance(profile, str) else profile.name),
        "python": platform.python_version(),
        "nodes": "A = rdmalab0 at 10.0.0.1, B = rdmalab1 at 10.0.0.2, GID index 1 (RoCE v2, IPv4)",
    }


def save(name: str, obj: Any) -> None:
    path = Path(OUT) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(obj, indent=1) + "\n", "utf-8")
