"""`modify_qp` on rxe against what Soft-RoCE answered: tests/data/qp_transitions.json, every entry.

Each question is a line at the prompt, with the values that the recording gave each attribute; each
answer is an errno, the state afterwards, and the value that `query_qp` reads back.
"""

import errno
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.profiles import RXE, Profile
from rdmalab.spec.states import Attr, fields_of
from tests.oracle.bench import WAYS

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "qp_transitions.json").read_text("utf-8")
)
TYPES = ("RC", "UC", "UD")
STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
STEPS = (("RESET", "INIT"), ("INIT", "RTR"), ("RTR", "RTS"))
ADDRESS = {
    "is_global": 1,
    "dgid": "::ffff:10.0.0.2",
    "sgid_index": 1,
    "hop_limit": 64,
    "port_num": 1,
}
# The value that the recording gave each attribute when nothing else is said of it.
VALUES: dict[str, Any] = {
    "EN_SQD_ASYNC_NOTIFY": 1,
    "ACCESS_FLAGS": 0xE,
    "PKEY_INDEX": 0,
    "PORT": 1,
    "QKEY": 0x11111111,
    "AV": ADDRESS,
    "PATH_MTU": 3,
    "TIMEOUT": 16,
    "RETRY_CNT": 7,
    "RNR_RETRY": 7,
    "RQ_PSN": 0x100,
    "MAX_QP_RD_ATOMIC": 4,
    "ALT_PATH": ADDRESS,
    "MIN_RNR_TIMER": 12,
    "SQ_PSN": 0x200,
    "MAX_DEST_RD_ATOMIC": 4,
    "PATH_MIG_STATE": 0,
    "CAP": {"max_send_wr": 16, "max_recv_wr": 16},
    "DEST_QPN": 0x11,
    "RATE_LIMIT": 1000,
}
ALTERNATE = "alt_port_num=1 alt_timeout=14 alt_pkey_index=0"
# What the recording changed in the address, by its label; `dgid=own` is node A's.
ADDRESSES: dict[str, dict[str, Any]] = {
    "is_global=0": {"is_global": 0},
    "sgid_index=0 (fe80::), dgid ipv4": {"sgid_index": 0},
    "sgid_index=2 (empty)": {"sgid_index": 2},
    "sgid_index=200 (empty)": {"sgid_index": 200},
    "port_num=0": {"port_num": 0},
    "port_num=2": {"port_num": 2},
    "sl=15": {"sl": 15},
    "sl=16": {"sl": 16},
    "hop_limit=0": {"hop_limit": 0},
    "dlid=1": {"dlid": 1},
    "static_rate=255": {"static_rate": 255},
    "flow_label=0xfffff": {"flow_label": 0xFFFFF},
    "dgid=zero": {"dgid": "::"},
    "dgid=10.0.0.99 (no neighbour)": {"dgid": "::ffff:10.0.0.99"},
    "dgid=192.168.9.9 (no route)": {"dgid": "::ffff:192.168.9.9"},
    "dgid=own": {"dgid": "::ffff:10.0.0.1"},
}

Answers = dict[str, Any]


def number(rc: int | str) -> int:
    """An errno as a number: one of them has two names."""
    return rc if isinstance(rc, int) else int(getattr(errno, rc))


class Bench:
    """Node A of an rxe lab, and one queue pair at a time."""

    def __init__(self, qp_type: str, profile: Profile = RXE) -> None:
        self.lab = Lab({"A": profile, "B": profile})
        self.qp_type = qp_type
        found = RECORD[qp_type]["pairs"]["ok"]
        self.required = {
            (row["from"], row["to"]): [a for a in row["attrs"] if a not in ("STATE", "CUR_STATE")]
            for row in found
        }
        self.count = 0
        self.said("alloc_pd A.pd0")
        self.said("create_cq A.cq0 cqe=64")

    def said(self, line: str) -> int:
        """The errno a line is answered with, 0 for well."""
        reply = self.lab.do(line)[-1]
        assert reply.error is None, (line, reply.error)
        return reply.refusal.errno if reply.refusal is not None else 0

    def fresh(self, state: str) -> None:
        """A new queue pair in this state, instead of the last one."""
        if self.count:
            assert self.said(f"destroy_qp {self.qp}") == 0
        self.count += 1
        self.made = self.said(
            f"create_qp {self.qp} pd=A.pd0 qp_type={self.qp_type} send_cq=A.cq0 recv_cq=A.cq0"
        )
        before = "RESET"
        for step in WAYS[state]:
            asked = self.required[before, step]
            assert self.modify(step, asked) == 0, (self.qp_type, step)
            before = step

    @property
    def qp(self) -> str:
        return f"A.qp{self.count}"

    def modify(
        self, state: Any = None, attrs: Iterable[str] = (), cur: Any = None, **over: Any
    ) -> int:
        """`modify_qp` with exactly these attributes, by name, and the mask bits that they need."""
        words, mask = [], over.pop("bit", 0)
        for name, value in (("STATE", state), ("CUR_STATE", cur)):
            if value is not None:
                words.append(f"{fields_of(Attr[name])[0]}={value}")
                mask |= Attr[name]
        for name in attrs:
            words.append(_written(name, over.get(name, VALUES[name])))
            mask |= Attr[name]
        return self.said(f"modify_qp {self.qp} {' '.join(words)} attr_mask={mask:#x}")

    def asked(self, field: str) -> Any:
        return getattr(self.lab.do(f"query_qp {self.qp}")[-1].value, field)

    def state(self) -> str:
        return str(self.asked("qp_state").name)


def _written(name: str, value: Any) -> str:
    field = fields_of(Attr[name])[0]
    if isinstance(value, dict):
        value = f"{{{' '.join(f'{key}={part}' for key, part in value.items())}}}"
    return f"{field}={value}" + f" {ALTERNATE}" * (name == "ALT_PATH")


def compare(pairs: Iterable[tuple[Any, Any, Any]]) -> int:
    """How many (question, recorded, answered) there were; all of them must be the same."""
    count, different = 0, []
    for question, recorded, answered in pairs:
        count += 1
        if recorded != answered:
            different.append((question, recorded, answered))
    assert different == []
    return count


# --------------------------------------------------------------------------- the pairs
def pairs(bench: Bench) -> Iterator[tuple[Any, Any, Any]]:
    """Each move with what it requires; then less, then more, one attribute at a time."""
    for row in RECORD[bench.qp_type]["pairs"]["ok"]:
        now, to = row["from"], row["to"]
        claim = {"cur": "SQE"} if now == "SQE" else {}
        really = "RTS" if claim else now
        required = bench.required[now, to]

        def once(attrs: list[str]) -> int:
            bench.fresh(really)  # noqa: B023  (called before the next turn)
            return bench.modify(to, attrs, **claim)  # noqa: B023

        answer = once(required), bench.state()
        yield (now, to), (number(row["rc"]), row["state_after"]), answer
        for name, rc in row.get("missing", {}).items():
            less = [attr for attr in required if attr != name]
            yield (now, to, "without", name), number(rc), once(less)
        for name, rc in row.get("added", {}).items():
            yield (now, to, "with", name), number(rc), once([*required, name])
        for name, rc in row.get("with_rtr_rts_attrs", {}).items():
            step = STEPS[("all_init", "all_rtr", "all_rts").index(name)]
            yield (now, to, name), number(rc), once(bench.required[step])


def nostate(bench: Bench) -> Iterator[tuple[Any, Any, Any]]:
    """Without STATE: nothing at all, and each attribute alone."""
    for now, answers in RECORD[bench.qp_type]["nostate"]["ok"].items():
        for name, rc in answers.items():
            bench.fresh(now)
            attrs = () if name == "(empty mask)" else (name,)
            yield (now, name), number(rc), bench.modify(None, attrs)


def claims(bench: Bench) -> Iterator[tuple[Any, Any, Any]]:
    """True and false claims of the state the QP is in."""
    for row in RECORD[bench.qp_type]["cur_state"]["ok"]:
        bench.fresh(row["real"])
        rc = bench.modify(row["to"], row["attrs"], cur=row["claimed"])
        recorded = number(row["rc"]), row["state_after"]
        yield (row["real"], row["claimed"], row["to"]), recorded, (rc, bench.state())


def ranges(bench: Bench) -> Iterator[tuple[Any, Any, Any]]:
    """Values at the edge and beyond, and what is read back of those that were taken."""
    for row in RECORD[bench.qp_type]["ranges"]["ok"]:
        bench.fresh(row["from"])
        recorded = {key: row[key] for key in ("state_after", "query_after") if key in row}
        answer: Answers = {"rc": _with_value(bench, row)}
        if "state_after" in row:
            answer["state_after"] = bench.state()
        if "query_after" in row:
            answer["query_after"] = bench.asked(fields_of(Attr[row["attr"]])[0])
        yield (row["attr"], row["value"]), recorded | {"rc": number(row["rc"])}, answer


def _with_value(bench: Bench, row: dict[str, Any]) -> int:
    attr, value = row["attr"], row["value"]
    if attr == "STATE":
        return bench.modify(value)
    if attr == "CUR_STATE":
        return bench.modify(row["to"], cur=value)
    required = bench.required[row["from"], row["to"]]
    if attr.startswith("unknown mask bit"):
        return bench.modify(row["to"], required, bit=1 << int(attr.split()[-1]))
    assert attr in required
    is_reported = ADDRESS | ADDRESSES[value] if attr == "AV" else value
    return bench.modify(row["to"], required, **{attr: is_reported})


GROUPS = {"pairs": pairs, "nostate": nostate, "cur_state": claims, "ranges": ranges}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("qp_type", TYPES)
def test_modify_qp_answers_as_recorded(qp_type: str, group: str) -> None:
    assert compare(GROUPS[group](Bench(qp_type))) == _entries(RECORD[qp_type][group]["ok"])


def _entries(recorded: Any) -> int:
    """How many answers a group of the recording holds."""
    if isinstance(recorded, dict):
        return sum(len(answers) for answers in recorded.values())
    parts = ("missing", "added", "with_rtr_rts_attrs")
    return sum(1 + sum(len(row.get(part, ())) for part in parts) for row in recorded)


def test_the_recording_holds_nothing_that_is_not_asked() -> None:
    mtus = {group for group in RECORD["RC"] if group.startswith("path_mtu_vs_netdev_mtu_")}
    assert len(mtus) == 4
    for qp_type in TYPES:
        assert set(RECORD[qp_type]) - mtus == set(GROUPS)
        assert [(r["from"], r["to"]) for r in RECORD[qp_type]["pairs"]["ok"]] == [
            (now, to) for now in STATES for to in STATES
        ]
    assert set(RECORD) == {"meta", "create", *TYPES}
    assert set(RECORD["create"]["ok"]) == {"qp", "cq", "srq"}


@pytest.mark.parametrize("mtu", [600, 1000, 1500, 9000])
def test_a_path_mtu_may_exceed_that_of_the_network(mtu: int) -> None:
    def answers() -> Iterator[tuple[Any, Any, Any]]:
        for row in RECORD["RC"][f"path_mtu_vs_netdev_mtu_{mtu}"]["ok"]:
            caps = replace(RXE.caps, active_mtu=128 << row["port_active_mtu_enum"])
            bench = Bench("RC", replace(RXE, caps=caps))
            bench.fresh("INIT")
            code = row["path_mtu_enum"]
            rc = bench.modify("RTR", bench.required["INIT", "RTR"], PATH_MTU=code)
            yield code, number(row["rc"]), rc

    assert compare(answers()) == 6


# --------------------------------------------------------------------------- creating
CAPS = ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data")


def _asked_caps(label: str) -> tuple[str, list[int]]:
    """Type and sizes that the recording's label stands for."""
    most = RXE.caps.max_qp_wr
    values = {"max_qp_wr": most, "max_qp_wr+1": most + 1}
    if label.startswith("type "):
        return label.removeprefix("type "), [16, 16, 4, 4, 64]
    *names, value = label.split("=")
    size = values.get(value) or int(value)
    if names == ["max_send_wr", "max_recv_wr"]:
        return "RC", [size, size, 1, 1, 0]
    if names == ["max_send_sge", "max_recv_sge"]:
        return "RC", [4, 4, size, size, 0]
    if names == ["max_inline_data"]:
        return "RC", [4, 4, 1, 1, size]
    return "RC", [size, 1, 1, 1, 0] if names == ["max_send_wr"] else [1, size, 1, 1, 0]


def test_create_qp_hands_back_what_was_recorded() -> None:
    def answers() -> Iterator[tuple[Any, Any, Any]]:
        bench = Bench("RC")
        for index, row in enumerate(RECORD["create"]["ok"]["qp"]):
            qp_type, sizes = _asked_caps(row["what"])
            text = " ".join(f"{name}={size}" for name, size in zip(CAPS, sizes, strict=True))
            name = f"A.qp{index}"
            cqs = "send_cq=A.cq0 recv_cq=A.cq0"
            rc = bench.said(f"create_qp {name} pd=A.pd0 qp_type={qp_type} {cqs} {text}")
            answer: Answers = {"rc": rc}
            if rc == 0:
                answer["cap_returned"] = [bench.lab.look(f"{name}.cap.{cap}") for cap in CAPS]
                answer["state"] = int(bench.lab.look(f"{name}.state"))
            recorded = {key: value for key, value in row.items() if key != "what"}
            yield row["what"], recorded | {"rc": number(row["rc"])}, answer

    assert compare(answers()) == 28


def test_create_cq_grants_what_was_recorded() -> None:
    def answers() -> Iterator[tuple[Any, Any, Any]]:
        bench = Bench("RC")
        for index, row in enumerate(RECORD["create"]["ok"]["cq"], 1):
            rc = bench.said(f"create_cq A.cq{index} cqe={row['cqe_requested']}")
            granted = bench.lab.look(f"A.cq{index}.capacity") if rc == 0 else None
            recorded = number(row["rc"]), row.get("cqe_returned")
            yield row["cqe_requested"], recorded, (rc, granted)

    assert compare(answers()) == 6


def test_create_srq_grants_what_was_recorded() -> None:
    def answers() -> Iterator[tuple[Any, Any, Any]]:
        bench = Bench("RC")
        for index, row in enumerate(RECORD["create"]["ok"]["srq"]):
            name, sizes = f"A.srq{index}", f"max_wr={row['max_wr']} max_sge={row['max_sge']}"
            rc = bench.said(f"create_srq {name} pd=A.pd0 {sizes}")
            answer = None
            if rc == 0:
                (reply,) = bench.lab.do(f"query_srq {name}")
                answer = [reply.value.max_wr, reply.value.max_sge, reply.value.srq_limit]
            yield sizes, (number(row["rc"]), row.get("query")), (rc, answer)

    assert compare(answers()) == 9
