"""The book as tables and bullets, and labs of every QP type in which its sentences are played."""

from pathlib import Path
from typing import NamedTuple

from rdmalab.lab import Lab
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.rules import errno_name
from tests.labs import well
from tests.raw import ethernet
from tests.services import QKEY, services

TEXT = (Path(__file__).parents[1] / "data" / "work_requests.md").read_text("utf-8")
MAKES = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC|MW_BIND"
FLUSHES = "FLUSH_GLOBAL|FLUSH_PERSISTENT"
RIGHTS = f"REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC|{FLUSHES}"


def section(number: int) -> str:
    return TEXT.partition(f"\n## {number}. ")[2].partition("\n## ")[0]


def table(number: int) -> list[list[str]]:
    """The rows of a section's table, cell by cell; first its head."""
    rows = [line.strip("|").split("|") for line in section(number).splitlines() if line[:1] == "|"]
    return [[cell.strip() for cell in row] for row in rows if set(row[0].strip()) != {"-"}]


def bullets(number: int) -> list[str]:
    return [line[2:] for line in section(number).splitlines() if line[:2] == "* "]


def forgotten(number: int, cases: "list[Case]") -> list[str]:
    """Bullets for which there is no case, and cases for which there is no bullet."""
    answer = bullets(number)
    keys = dict.fromkeys(case.row for case in cases)
    silent = [bullet for bullet in answer if not any(bullet.startswith(key) for key in keys)]
    return silent + [key for key in keys if sum(b.startswith(key) for b in answer) != 1]


class Case(NamedTuple):
    """row: how the bullet, or row, begins. lines: `line => ERRNO` is refused so, others go well.

    expects: questions whose answer is yes in the end.
    """

    row: str
    lines: tuple[str, ...]
    expects: tuple[str, ...] = ()
    qp_type: str = "RC"
    profile: str = "strict"


def named(case: Case) -> str:
    return f"{case.row[:30]}-{case.qp_type}-{case.profile}"


def play(case: Case) -> Lab:
    """A case, and nothing in it comes otherwise than it says."""
    lab = lab_of(case.qp_type, case.profile)
    for line in case.lines:
        carry_out(lab, line)
    for question in case.expects:
        assert lab.look(question) is True, (question, lab.look(question.split(" ")[0]))
    return lab


def carry_out(lab: Lab, line: str) -> None:
    answer, _, errno = line.partition(" => ")
    if not errno:
        well(lab, answer)
        return
    reply = lab.do(answer)[-1]
    assert reply.refusal is not None, line
    assert errno in (errno_name(reply.refusal.errno), reply.refusal.rule), (line, reply.refusal)


# --------------------------------------------------------------------------- labs
def lab_of(qp_type: str = "RC", profile: str = "strict") -> Lab:
    """A.qp0 and B.qp0 of a type, mr0 and mr1 on both; sends go to cq0, receives to cq1."""
    makers = {"XRC_SEND": _xrc, "RAW_PACKET": _raw}
    if qp_type not in makers:
        rights = RIGHTS if profile == "strict" else RIGHTS.replace(f"|{FLUSHES}", "")
        lab = services(qp_type, profile, rights=rights)
    else:
        lab = makers[qp_type](profile)
    more = f"|{FLUSHES}" if profile == "strict" else ""
    for node in "AB":
        well(lab, f"reg_mr {node}.mr1 pd={node}.pd0 length=4096 access={MAKES}{more}")
    return lab


def _common(profile: str) -> Lab:
    lab = Lab({"A": PROFILES[profile], "B": PROFILES[profile]})
    for node in "AB":
        for line in (
            f"alloc_pd {node}.pd0", f"create_cq {node}.cq0 cqe=16", f"create_cq {node}.cq1 cqe=16",
            f"reg_mr {node}.mr0 pd={node}.pd0 length=8192 access={MAKES}",
        ):  # fmt: skip
            well(lab, line)
    return lab


def _xrc(profile: str) -> Lab:
    lab = _common(profile)
    for line in (
        "open_xrcd B.xrcd0 oflag=O_CREAT",
        "create_srq_ex B.srq0 pd=B.pd0 srq_type=XRC xrcd=B.xrcd0 cq=B.cq1 max_wr=8",
        "create_qp A.qp0 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0 max_send_wr=8",
        "create_qp B.qp0 qp_type=XRC_RECV xrcd=B.xrcd0", "connect A.qp0 B.qp0",
    ):  # fmt: skip
        well(lab, line)
    return lab


def _raw(profile: str) -> Lab:
    lab = _common(profile)
    for node in "AB":
        well(lab, f"create_qp {node}.qp0 pd={node}.pd0 qp_type=RAW_PACKET send_cq={node}.cq0 "
                  f"recv_cq={node}.cq1 max_send_wr=8 max_recv_wr=8 max_tso_header=64")  # fmt: skip
        for state in ("INIT port_num=1", "RTR", "RTS"):
            well(lab, f"modify_qp {node}.qp0 state={state}")
    well(lab, "create_flow B.flow0 qp=B.qp0 dst_mac=B")
    well(lab, f"write A.mr0[0:14] {octets(bytes(ethernet()))}")
    return lab


def octets(some: bytes) -> str:
    """As the prompt takes them."""
    return '"' + "".join(f"\\x{octet:02x}" for octet in some) + '"'


def to(qp_type: str) -> str:
    """How a request of this type says where it goes."""
    if qp_type == "UD":
        return f" ah=A.ah0 remote_qpn=B.qp0 remote_qkey={QKEY}"
    return " remote_srqn=B.srq0" if qp_type == "XRC_SEND" else ""


def recv(qp_type: str, wr_id: int = 2, length: int = 512) -> str:
    verb = "post_srq_recv B.srq0" if qp_type == "XRC_SEND" else "post_recv B.qp0"
    return f"{verb} wr_id={wr_id} sg=B.mr0[0:{length}]"
