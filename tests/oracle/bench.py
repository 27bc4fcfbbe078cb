"""Two nodes on a cable as the probes had them: every question is a line at the prompt.

The values are those of the recording: queues of 16, path MTU 1024, timeout 16, retries 7, an MR of
64 KiB with all rights on each side, B's first PSN 0x100 and A's 0x200.
"""

import json
from collections.abc import Mapping
from errno import errorcode
from pathlib import Path
from typing import Any

from rdmalab.lab import Lab
from rdmalab.session.lines import Reply
from rdmalab.spec.profiles import RXE, Profile
from rdmalab.spec.work import WCOpcode

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "post_errno.json").read_text("utf-8")
)

Answer = dict[str, Any]

_NAMES = {95: "ENOTSUP"}  # Linux has two names for it
_PSN = {"A": (0x200, 0x100), "B": (0x100, 0x200)}  # send, receive
WAYS: dict[str, tuple[str, ...]] = {
    "RESET": (),
    "INIT": ("INIT",),
    "RTR": ("INIT", "RTR"),
    "RTS": ("INIT", "RTR", "RTS"),
    "SQD": ("INIT", "RTR", "RTS", "SQD"),
    "ERR": ("INIT", "ERR"),
}
_CAPS = {"send_wr": 16, "recv_wr": 16, "send_sge": 4, "recv_sge": 4}
_QKEY = 0x11111111

TO_B = f"ah=A.ah0 remote_qpn=B.qp0 remote_qkey={_QKEY}"
RECV = "[32768:33792]"


class Bench:
    """A lab of one profile. told: rule and errno of what was refused, in order."""

    def __init__(self, profile: Profile = RXE, qp_type: str = "RC") -> None:
        self.lab = Lab({"A": profile, "B": profile})
        self.qp_type = qp_type
        self.told: list[tuple[str, int]] = []

    # ------------------------------------------------------------------ lines
    def ask(self, line: str) -> Reply:
        """A line that means something, whatever it is answered."""
        reply = self.lab.do(line)[-1]
        assert reply.error is None, (line, reply.error)
        if reply.refusal is not None:
            self.told.append((reply.refusal.rule, reply.refusal.errno))
        return reply

    def rc(self, line: str) -> Any:
        """0, or an errno by name."""
        return errno_of(self.ask(line))

    def value(self, line: str) -> Any:
        """What a line that goes well returns."""
        reply = self.ask(line)
        assert reply.refusal is None, (line, reply.refusal)
        return reply.value

    # ------------------------------------------------------------------ objects
    def node(self, node: str) -> None:
        self.value(f"alloc_pd {node}.pd0")
        self.value(f"reg_mr {node}.mr0 pd={node}.pd0 length=65536 access=31")
        self.value(f"create_cq {node}.send cqe=64")
        self.value(f"create_cq {node}.recv cqe=64")

    def qp(
        self, node: str, caps: Mapping[str, int] = _CAPS, *, verb: str = "create_qp", more: str = ""
    ) -> Any:
        """The queue pair of a node; caps: what is not as usual."""
        sizes = " ".join(f"max_{name}={size}" for name, size in {**_CAPS, **caps}.items())
        return self.rc(
            f"{verb} {node}.qp0 pd={node}.pd0 qp_type={self.qp_type} send_cq={node}.send"
            f" recv_cq={node}.recv {sizes} max_inline_data=64 {more}"
        )

    def pair(self, *, connect: str = "RTS", **caps: int) -> "Bench":
        """Both ends, connected up to this state; caps: of A."""
        for node in "AB":
            self.node(node)
        made = self.qp("A", caps), self.qp("B")  # not within the assertion: -OO leaves that out
        assert made == (0, 0)
        for node in "AB":
            self.raise_to(node, connect)
        return self

    # ------------------------------------------------------------------ states
    def move(self, node: str, state: str, *, bare: bool = False) -> Any:
        """modify_qp with what the transition needs."""
        attributes = "" if bare else self._attributes(node, state)
        return self.rc(f"modify_qp {node}.qp0 state={state} {attributes}")

    def _attributes(self, node: str, state: str) -> str:
        peer = "B" if node == "A" else "A"
        sq_psn, rq_psn = _PSN[node]
        is_ud, is_rc = self.qp_type == "UD", self.qp_type == "RC"
        opening = f"qkey={_QKEY}" if is_ud else "qp_access_flags=14"
        where = f"ah={peer} path_mtu=1024 dest_qp_num={peer}.qp0 rq_psn={rq_psn}"
        answering = "max_dest_rd_atomic=4 min_rnr_timer=12" if is_rc else ""
        patience = "timeout=16 retry_cnt=7 rnr_retry=7 max_rd_atomic=4" if is_rc else ""
        return {
            "INIT": f"pkey_index=0 port_num=1 {opening}",
            "RTR": "" if is_ud else f"{where} {answering}",
            "RTS": f"sq_psn={sq_psn} {patience}",
        }.get(state, "")

    def goto(self, node: str, state: str) -> Any:
        """Up to a state; the first errno on the way."""
        for step in WAYS[state]:
            if (rc := self.move(node, step)) != 0:
                return rc
        return 0

    def raise_to(self, node: str, state: str) -> None:
        answer = self.goto(node, state)
        assert answer == 0, (node, state, self.told)

    def state(self, node: str) -> str:
        return str(self.value(f"query_qp {node}.qp0").qp_state.name)

    # ------------------------------------------------------------------ posting
    def recv(self, node: str, wr_id: int, sg: str = "") -> Any:
        return self.rc(f"post_recv {node}.qp0 wr_id={wr_id} sg={sg or f'{node}.mr0{RECV}'}")

    def send(
        self, wr_id: int, opcode: Any = "SEND", sg: str = "A.mr0[0:32]", more: str = ""
    ) -> Any:
        """A's send; more: further fields; SIGNALED unless they say flags."""
        pieces = f"sg={sg}" if sg else ""
        flags = "" if "flags=" in more else "flags=SIGNALED"
        return self.rc(f"post_send A.qp0 wr_id={wr_id} opcode={opcode} {pieces} {flags} {more}")

    def wc(self, milliseconds: int = 250) -> dict[str, list[Any]]:
        """What completes in this time, by queue."""
        self.value(f"run {milliseconds}ms")
        found: dict[str, list[Any]] = {}
        for node in "AB":
            for queue in ("send", "recv"):
                answer = self.value(f"poll_cq {node}.{queue} num_entries=64")
                rows = [[c.wr_id, c.status.name, _opcode(c.opcode), c.byte_len] for c in answer]
                found |= {f"{node}.{queue}": rows} if rows else {}
        return found

    def ending(self) -> Answer:
        """How most probes end."""
        return {"wc": self.wc(400), "state": [self.state("A"), self.state("B")]}


def errno_of(reply: Reply) -> Any:
    """As the record has it: 0, or the name of the errno."""
    if reply.refusal is None:
        return 0
    code = reply.refusal.errno
    return _NAMES.get(code, errorcode[code])


def _opcode(number: int) -> str:
    """Of a failed request it is whatever lay there."""
    return WCOpcode(number).name if number in tuple(WCOpcode) else hex(number)
