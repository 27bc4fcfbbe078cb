"""Objects: shared receive queues, address handles, keys, capacities, and who is still in use."""

from collections.abc import Callable

from rdmalab.spec.profiles import Profile
from tests.oracle.bad_input import pieces
from tests.oracle.bench import TO_B, Answer, Bench, errno_of


def srq(profile: Profile, _entry: str) -> tuple[Answer, Bench]:
    """A queue pair with an SRQ has no receives of its own."""
    bench = Bench(profile)
    bench.node("A")
    bench.value("create_srq A.srq0 pd=A.pd0 max_wr=4 max_sge=2")
    made = bench.qp("A", more="srq=A.srq0")
    assert made == 0
    bench.raise_to("A", "INIT")
    many = pieces(bench.value("query_srq A.srq0").max_sge + 1)
    return {
        "post_recv": bench.recv("A", 1),
        "post_srq_recv num_sge=max+1": bench.rc(f"post_srq_recv A.srq0 wr_id=2 sg={many}"),
        "post_srq_recv num_sge=0": bench.rc("post_srq_recv A.srq0 wr_id=3"),
    }, bench


# --------------------------------------------------------------------------- address handles
def _without_ah(bench: Bench) -> Answer:
    return {"rc": bench.send(2)}


def _foreign_ah(bench: Bench) -> Answer:
    bench.value("alloc_pd A.pd1")
    bench.value("create_ah A.ah0 pd=A.pd1 to=B")
    bench.recv("B", 1)
    return {"rc": bench.send(2, more=TO_B), "wc": bench.wc(400)}


def _destroyed_ah(bench: Bench) -> Answer:
    bench.recv("B", 1)
    bench.value("create_ah A.ah0 pd=A.pd0 to=B")
    answer: Answer = {"SQD": bench.move("A", "SQD")}
    bench.value("run 100ms")
    answer["post_send"] = bench.send(2, more=TO_B)
    answer["destroy_ah"] = bench.rc("destroy_ah A.ah0")
    answer["RTS"] = bench.move("A", "RTS", bare=True)
    bench.value("create_ah A.ah1 pd=A.pd0 to=B")
    answer["next post"] = bench.send(3, more=TO_B.replace("ah0", "ah1"))
    return {**answer, "wc": bench.wc(400)}


_DATAGRAMS: dict[str, Callable[[Bench], Answer]] = {
    "send without AH": _without_ah,
    "AH of another PD": _foreign_ah,
    "AH destroyed while the WR is queued": _destroyed_ah,
}


def ud(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """Where datagrams go."""
    bench = Bench(profile, "UD").pair()
    return _DATAGRAMS[entry](bench), bench


# --------------------------------------------------------------------------- memory
_REGIONS = {
    "REMOTE_WRITE without LOCAL_WRITE": "length=4096 access=2",
    "REMOTE_ATOMIC without LOCAL_WRITE": "length=4096 access=8",
    "access 0": "length=4096 access=0",
    "REMOTE_READ only": "length=4096 access=4",
    "length 0, address given": "length=0 access=1 addr=0x10000",
    "unmapped address": "length=4096 access=1 addr=0x10000",
    "unknown access bit 0x40000": "length=4096 access=0x40001",
    "ON_DEMAND": "length=4096 access=0x41",
    "RELAXED_ORDERING": f"length=4096 access={1 | 1 << 20}",
    "ZERO_BASED": "length=4096 access=33",
    "MW_BIND": "length=4096 access=17",
    "8 MiB": f"length={8 << 20} access=15",
}
_WINDOWS = {"TYPE_1": 1, "TYPE_2": 2, "invalid type 3": 3}
_KEYS = ("lkey", "rkey")


def keys_by_kind(row: Answer) -> Answer:
    """Keys are numbers that a device makes up: what counts is which are 0 and which are equal."""
    if "rkey" not in row:
        return row
    rkey = "0" if int(row["rkey"], 16) == 0 else "another"
    rkey = "the lkey" if row["rkey"] == row.get("lkey") else rkey
    return {key: value for key, value in row.items() if key not in _KEYS} | {"rkey": rkey}


def _reg_mr(bench: Bench, entry: str) -> Answer:
    reply = bench.ask(f"reg_mr A.mr1 pd=A.pd0 {_REGIONS[entry]}")
    answer: Answer = {"rc": errno_of(reply)}
    if reply.refusal is None:
        answer |= {key: hex(bench.lab.look(f"A.mr1.{key}")) for key in _KEYS}
    return keys_by_kind(answer)


def _alloc_mw(bench: Bench, entry: str) -> Answer:
    reply = bench.ask(f"alloc_mw A.mw0 pd=A.pd0 type={_WINDOWS[entry]}")
    if reply.refusal is not None:
        return {"rc": errno_of(reply)}
    return keys_by_kind({"rc": 0, "rkey": hex(bench.lab.look("A.mw0.rkey"))})


# --------------------------------------------------------------------------- addresses
_ADDRESS = "is_global=1 dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64 port_num=1"
_ADDRESSES = {
    "ok": ("", ""),
    "sgid_index empty": ("sgid_index=1", "sgid_index=7"),
    "port 2": ("port_num=1", "port_num=2"),
    "is_global=0": ("is_global=1", "is_global=0"),
    "sl 16": ("hop_limit=64", "hop_limit=64 sl=16"),
    "dgid without neighbour": ("10.0.0.2", "10.0.0.99"),
}


def _create_ah(bench: Bench, entry: str) -> Answer:
    attributes = _ADDRESS.replace(*_ADDRESSES[entry])
    return {"rc": bench.rc(f"create_ah A.ah0 pd=A.pd0 {attributes}")}


# --------------------------------------------------------------------------- queues
_CHANGES = {
    "srq_limit 3": "srq_limit=3",
    "srq_limit 9 > max_wr 8": "srq_limit=9",
    "srq_limit 1000": "srq_limit=1000",
    "resize max_wr 16": "max_wr=16",
    "resize max_wr 1 (< limit)": "max_wr=1",
    "unknown mask": "max_wr=0 srq_attr_mask=4",
}
_SIZES = (15, 1, 0, 32767, 40000)


def _modify_srq(bench: Bench, entry: str) -> Answer:
    """On the SRQ that the changes before this one left."""
    bench.value("create_srq A.srq0 pd=A.pd0 max_wr=8 max_sge=2")
    for change, fields in _CHANGES.items():
        bench.told.clear()
        rc = bench.rc(f"modify_srq A.srq0 {fields}")
        if change == entry:
            break
    now = bench.value("query_srq A.srq0")
    return {"rc": rc, "query": [now.max_wr, now.srq_limit]}


def _resize_cq(bench: Bench, entry: int) -> Answer:
    """On the CQ that the sizes before this one left."""
    bench.value("create_cq A.cq0 cqe=7")
    for size in _SIZES:
        bench.told.clear()
        rc = bench.rc(f"resize_cq A.cq0 cqe={size}")
        if size == entry:
            break
    return {"rc": rc, "cqe": bench.lab.look("A.cq0.capacity")}


_VERBS: dict[str, Callable[..., Answer]] = {
    "reg_mr": _reg_mr,
    "alloc_mw": _alloc_mw,
    "create_ah": _create_ah,
    "modify_srq": _modify_srq,
    "resize_cq": _resize_cq,
}


def objects(profile: Profile, verb: str, case: str | int) -> tuple[Answer, Bench]:
    """One verb, one case; the row as recorded names both."""
    bench = Bench(profile)
    bench.value("alloc_pd A.pd0")
    return {verb: case, **_VERBS[verb](bench, case)}, bench


# --------------------------------------------------------------------------- who is in use
_BUSY = {
    "dealloc_pd with MR, MW, AH, SRQ, QP": "dealloc_pd A.pd0",
    "destroy_cq with QP": "destroy_cq A.cq0",
    "destroy_srq with QP": "destroy_srq A.srq0",
    "post_send with NULL list": "post_send A.qp0 wr=NULL",
    "post_recv with NULL list": "post_recv A.qp0 wr=NULL",
    "destroy_qp": "destroy_qp A.qp0",
    "destroy_srq after QP": "destroy_srq A.srq0",
    "destroy_cq after QP": "destroy_cq A.cq0",
    "dealloc_pd with MR, MW, AH": "dealloc_pd A.pd0",
    "dereg_mr": "dereg_mr A.mr0",
    "dealloc_mw": "dealloc_mw A.mw0",
    "dealloc_pd with AH": "dealloc_pd A.pd0",
    "destroy_ah": "destroy_ah A.ah0",
    "dealloc_pd at last": "dealloc_pd A.pd0",
    "close_device": "close_device A",
}
_MADE = (
    "alloc_pd A.pd0",
    "reg_mr A.mr0 pd=A.pd0 length=4096 access=LOCAL_WRITE",
    "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2",
    "create_ah A.ah0 pd=A.pd0 to=B",
    "create_cq A.cq0 cqe=16",
    "create_srq A.srq0 pd=A.pd0 max_wr=4 max_sge=1",
    "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 srq=A.srq0 max_send_wr=4",
)


def destroy_busy(profile: Profile, entry: str) -> tuple[str, Bench]:
    """All calls up to this one, in the order of the record."""
    bench = Bench(profile)
    for line in _MADE:
        bench.value(line)
    for call, line in _BUSY.items():
        bench.told.clear()
        rc = bench.rc(line)
        if call == entry:
            break
    return str(rc), bench
