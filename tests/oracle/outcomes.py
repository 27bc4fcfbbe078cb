"""What Soft-RoCE did in the experiments of wc_outcomes.py, and what the lab does in them.

`python -m tests.oracle.outcomes [--strict] [NAME…]` prints the comparison.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rdmalab.wire.packet import Packet, gid_text
from rdmalab.wire.roce import decode

_HERE = Path(__file__).parent
_DATA = _HERE.parent / "data"
LIB, PROBE = _HERE / "lib.py", _DATA / "probes" / "wc_outcomes.py"
_ROOT = _HERE.parents[1]

Experiment = dict[str, Any]
RECORDED: dict[str, Experiment] = json.loads((_DATA / "wc_outcomes.json").read_text("utf-8"))[
    "experiments"
]

# tcpdump could not follow; what it has is checked all the same.
MISSED = {
    "rc_reads_more_than_peer_max_dest_rd_atomic": "tcpdump missed packets: all six READs are "
    "complete, but most responses of the last are not in the capture",
    "rc_sqd_drain_behind_large_read": "tcpdump missed packets: both requests are complete, but 27 "
    "responses of the READ, and the WRITE of wr_id 11, are not in the capture",
}
# Where the kernel's answer is one of several.
EXPLAINED: dict[str, str] = {**MISSED}

_TIMES = ("wall_ms", "wall_ms_from_post", "wall_ms_to_first_send_wc")


# --------------------------------------------------------------------------- packets
class Row(NamedTuple):
    """What is compared of a packet; a field that it has not is -1."""

    sender: str
    opcode: int
    psn: int
    ack_req: int
    solicited: int
    size: int
    dmalen: int
    syndrome: int
    msn: int

    def __str__(self) -> str:
        aeth = f" syndrome={self.syndrome} msn={self.msn}" if self.syndrome >= 0 else ""
        return f"{self.sender} opcode={self.opcode} psn={self.psn:#x} {self.size} bytes{aeth}"


_COLUMNS = {
    "opcode": "bth.opcode", "psn": "bth.psn", "ack_req": "bth.a", "solicited": "bth.se",
    "size": "ip.len", "dmalen": "reth.dmalen", "syndrome": "aeth.syndrome", "msn": "aeth.msn",
}  # fmt: skip


def _of_tshark(columns: dict[str, str]) -> Row:
    numbers = {name: int(columns.get(column, -1)) for name, column in _COLUMNS.items()}
    return Row(columns["ip.src"], **numbers)


def _of_lab(packet: Packet) -> Row:
    reth, aeth = packet.reth, packet.aeth
    return Row(
        gid_text(packet.flow.src).rpartition(":")[2], packet.opcode, packet.psn,
        int(packet.ack_req), int(packet.solicited), packet.size,
        -1 if reth is None else reth.dma_length,
        -1 if aeth is None else aeth.syndrome, -1 if aeth is None else aeth.msn,
    )  # fmt: skip


def frames(path: Path) -> Iterator[bytes]:
    octets = path.read_bytes()
    at = 24
    while at < len(octets):
        (length,) = struct.unpack_from("<I", octets, at + 8)
        yield octets[at + 16 : at + 16 + length]
        at += 16 + length


CAPTURED: dict[str, list[Row]] = {
    file["experiment"]: [_of_tshark(columns) for columns in file["decoded"]]
    for file in json.loads((_DATA / "pcap" / "index.json").read_text("utf-8"))["files"]
}


# --------------------------------------------------------------------------- running
class Outcome(NamedTuple):
    """What an experiment gave, and the packets that were seen at A if they were captured."""

    result: Experiment
    rows: list[Row] | None


def outcomes(out: Path) -> dict[str, Outcome]:
    """Read what a run of the probe has left."""
    results = json.loads((out / "wc_outcomes.json").read_text("utf-8"))["experiments"]
    found = {}
    for name, result in results.items():
        path = out / "pcap" / f"{name}.pcap"
        rows = [_of_lab(decode(frame)) for frame in frames(path)] if path.exists() else None
        found[name] = Outcome(result, rows)
    return found


@cache
def played(profile: str, *names: str) -> dict[str, Outcome]:
    """Run the probe as anybody would: a copy of it beside lib.py."""
    with TemporaryDirectory() as place:
        for file in (LIB, PROBE):
            shutil.copy(file, place)
        out = Path(place) / "out"
        command = [sys.executable, "-m", "rdmalab", "python", "--profile", profile]
        subprocess.run(
            [*command, str(Path(place) / PROBE.name), *names],
            env={**os.environ, "OUT": str(out)}, cwd=_ROOT, check=True, capture_output=True,
        )  # fmt: skip
        return outcomes(out)


# --------------------------------------------------------------------------- comparing
def plain(result: Experiment) -> Experiment:
    """Without times, which are those of a slow machine: only whether there is one."""
    by_name = {key: value for key, value in result.items() if key != "kernel_6_12"}
    by_name |= {key: by_name[key] is not None for key in _TIMES if key in by_name}
    wcs = by_name.get("wc", {})
    by_name["wc"] = {queue: [_untimed(wc) for wc in rows] for queue, rows in wcs.items()}
    return by_name


def _untimed(wc: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in wc.items() if key != "t_ms"}


def differences(recorded: Experiment, found: Experiment) -> list[str]:
    """`state.A: RTS, here ERR`."""
    one, other = dict(leaves(plain(recorded))), dict(leaves(plain(found)))
    keys = dict.fromkeys((*one, *other))
    texts = ((key, one.get(key, "nothing"), other.get(key, "nothing")) for key in keys)
    return [f"{key}: {there}, here {here}" for key, there, here in texts if there != here]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each single answer in a result, with where it stands; a completion is one."""
    if isinstance(value, dict) and "status" in value:
        yield path, " ".join(_value_text(field) for field in value.values())
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{number}]")
    else:
        yield path, _value_text(value)


def _value_text(value: Any) -> str:
    return "+".join(map(str, value)) or "-" if isinstance(value, list) else str(value)


def packet_differences(recorded: list[Row], found: list[Row]) -> list[str]:
    """Each direction by itself: how both interleave depends on how slow a machine is."""
    complaints = []
    for sender in ("10.0.0.1", "10.0.0.2"):
        there = [row for row in recorded if row.sender == sender]
        here = [row for row in found if row.sender == sender]
        if len(recorded) == _LISTED:  # the rest was not written down
            here = here[: len(there)]
        complaints += list(_unlike(sender, there, here))
    return complaints


_LISTED = 60  # packets of a long capture


def _unlike(sender: str, there: list[Row], here: list[Row]) -> Iterator[str]:
    for number in range(max(len(there), len(here))):
        one = str(there[number]) if number < len(there) else "nothing"
        other = str(here[number]) if number < len(here) else "nothing"
        if there[number : number + 1] != here[number : number + 1]:
            yield f"packet {number} of {sender}: {one}, here {other}"
            return


def complaints(name: str, found: Outcome) -> list[str]:
    """All in which an experiment differs from its record."""
    answer = differences(RECORDED[name], found.result)
    if name in CAPTURED:
        answer += packet_differences(CAPTURED[name], found.rows or [])
    return answer


# --------------------------------------------------------------------------- the report
def report(found: dict[str, Outcome]) -> Iterator[str]:
    """A line an experiment: equal, explained, different; and why."""
    counts = dict.fromkeys(("equal", "explained", "different", "not recorded"), 0)
    for name, outcome in found.items():
        verdict, lines = _judged(name, outcome)
        counts[verdict] += 1
        packets = "" if outcome.rows is None else f"  {len(outcome.rows)} packets"
        yield f"{name:45} {verdict}{packets}"
        yield from (f"    {line}" for line in lines)
    yield ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)


def _judged(name: str, outcome: Outcome) -> tuple[str, Iterable[str]]:
    if name not in RECORDED:
        return "not recorded", [json.dumps(plain(outcome.result))]
    answer = complaints(name, outcome)
    if not answer:
        return "equal", []
    if name in EXPLAINED:
        return "explained", [EXPLAINED[name], *answer]
    return "different", answer


def main(arguments: list[str]) -> None:
    profile = "strict" if "--strict" in arguments else "rxe"
    names = [name for name in arguments if not name.startswith("--")]
    for line in report(played(profile, *names)):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
