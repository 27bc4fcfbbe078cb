"""Every limit of the device: at the edge it is well, one beyond it is refused."""

import dataclasses
import json
from pathlib import Path

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.limits import QUERY_ONLY, DeviceCaps
from rdmalab.spec.profiles import RXE, STRICT
from rdmalab.spec.rules import errno_name
from tests.labs import lab_of, refusal, well

DATA = Path(__file__).parents[1] / "data"
_INIT = "modify_qp {} state=INIT pkey_index={} port_num={} qp_access_flags=0"
_RTR = (
    "modify_qp A.qp7 state=RTR path_mtu={mtu} dest_qp_num=B.qp0 rq_psn=0"
    " max_dest_rd_atomic={depth} min_rnr_timer=12 ah=B"
)
_QP = "create_qp A.qp7 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
_UP = (_QP, _INIT.format("A.qp7", 0, 1))
_UD = "create_qp A.qp{} pd=A.pd0 qp_type=UD send_cq=A.cq0 recv_cq=A.cq0"
_AH = "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=10.0.0.2 sgid_index={} port_num=1"
_LAST = "modify_qp A.qp7 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic={}"

_SRQ = "create_srq A.srq{} pd=A.pd0 max_wr={} max_sge={}"
_MW = "alloc_mw A.mw{} pd=A.pd0 type=TYPE_2"
_RAW = "create_qp A.qp{} pd=A.pd0 qp_type=RAW_PACKET send_cq=A.cq0 recv_cq=A.cq0 max_tso_header={}"
_RAW_UP = (
    "modify_qp A.qp7 state=INIT port_num=1",
    "modify_qp A.qp7 state=RTR",
    "modify_qp A.qp7 state=RTS",
    r'write A.mr0[12:16] "\x08\x00\x45\x00"', r'write A.mr0[23:24] "\x06"',
    r'write A.mr0[46:47] "\x50"',
)  # fmt: skip
_TSO = "post_send A.qp7 opcode=TSO hdr=A.mr0[0:54] mss=32 sg=A.mr0[0:{}]"
_FLOW = "create_flow A.flow{} qp=A.qp7 dst_mac=A"

# limit: (value it is set to, what comes before, what just fits or nothing, what is refused, errno)
EDGES: dict[str, tuple[int, tuple[str, ...], str, str, str]] = {
    "max_pd": (2, (), "alloc_pd A.pd1", "alloc_pd A.pd2", "ENOMEM"),
    "max_cq": (2, (), "create_cq A.cq1 cqe=1", "create_cq A.cq2 cqe=1", "ENOMEM"),
    "max_qp": (2, (), _QP, _QP.replace("qp7", "qp8"), "ENOMEM"),
    "max_mr": (2, (), "reg_mr A.mr1 pd=A.pd0 length=8 access=0",
               "reg_mr A.mr2 pd=A.pd0 length=8 access=0", "ENOMEM"),
    "max_ah": (1, (), _AH.format(1), _AH.format(1).replace("ah1", "ah2"), "ENOMEM"),
    "max_mr_size": (9000, (), "reg_mr A.mr1 pd=A.pd0 length=9000 access=0",
                    "reg_mr A.mr2 pd=A.pd0 length=9001 access=0", "EINVAL"),
    "max_cqe": (20, (), "create_cq A.cq1 cqe=20", "create_cq A.cq2 cqe=21", "EINVAL"),
    "num_comp_vectors": (2, (), "create_cq A.cq1 cqe=1 comp_vector=1",
                         "create_cq A.cq2 cqe=1 comp_vector=2", "EINVAL"),
    "max_qp_wr": (20, (), f"{_QP} max_send_wr=20", f"{_QP} max_recv_wr=21", "EINVAL"),
    "max_send_sge": (5, (), f"{_QP} max_send_sge=5", f"{_QP} max_send_sge=6", "EINVAL"),
    "max_recv_sge": (5, (), f"{_QP} max_recv_sge=5", f"{_QP} max_recv_sge=6", "EINVAL"),
    "max_inline_data": (80, (), f"{_QP} max_inline_data=80", f"{_QP} max_inline_data=81", "EINVAL"),
    "max_sge_rd": (1, (), "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0]",
                   "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8],A.mr0[8:16] remote=B.mr0[0]",
                   "EINVAL"),
    "max_msg_sz": (64, (), "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]",
                   "post_send A.qp0 opcode=SEND sg=A.mr0[0:65]", "EINVAL"),
    "phys_port_cnt": (1, (_QP,), _UP[1], _INIT.format("A.qp7", 0, 2), "EINVAL"),
    "pkey_tbl_len": (2, (_QP,), _INIT.format("A.qp7", 1, 1), _INIT.format("A.qp7", 2, 1), "EINVAL"),
    "active_mtu": (1024, _UP, _RTR.format(mtu=1024, depth=1), _RTR.format(mtu=2048, depth=1),
                   "EINVAL"),
    "max_qp_rd_atom": (3, _UP, _RTR.format(mtu=512, depth=3), _RTR.format(mtu=512, depth=4),
                       "EINVAL"),
    "max_qp_init_rd_atom": (3, (*_UP, _RTR.format(mtu=512, depth=1)), _LAST.format(3),
                            _LAST.format(4), "EINVAL"),
    "gid_tbl_len": (2, (), _AH.format(1), _AH.format(2), "EINVAL"),
    "max_mcast_grp": (1, (_UD.format(7),), "attach_mcast A.qp7 gid=224.0.0.1",
                      "attach_mcast A.qp7 gid=224.0.0.2", "ENOMEM"),
    "max_mcast_qp_attach": (1, (_UD.format(7), _UD.format(8)), "attach_mcast A.qp7 gid=224.0.0.1",
                            "attach_mcast A.qp8 gid=224.0.0.1", "ENOMEM"),
    "max_total_mcast_qp_attach": (
        1, (_UD.format(7), _UD.format(8)), "attach_mcast A.qp7 gid=224.0.0.1",
        "attach_mcast A.qp8 gid=224.0.0.1", "ENOMEM"),
    "max_srq": (1, (), _SRQ.format(1, 8, 1), _SRQ.format(2, 8, 1), "ENOMEM"),
    "max_srq_wr": (20, (), _SRQ.format(1, 20, 1), _SRQ.format(2, 21, 1), "EINVAL"),
    "max_srq_sge": (3, (), _SRQ.format(1, 8, 3), _SRQ.format(2, 8, 4), "EINVAL"),
    "max_mw": (1, (), _MW.format(1), _MW.format(2), "ENOMEM"),
    "max_flow": (1, (_RAW.format(7, 0),), _FLOW.format(1), _FLOW.format(2), "ENOMEM"),
    "max_tso": (64, (_RAW.format(7, 54), *_RAW_UP), _TSO.format(64), _TSO.format(65), "EINVAL"),
    "max_tso_header": (60, (), _RAW.format(7, 60), _RAW.format(8, 61), "EINVAL"),
    "max_sq_bytes": (4096, (), f"{_QP} max_send_wr=32 max_send_sge=6 max_inline_data=92",
                     f"{_QP.replace('7', '8')} max_send_wr=33 max_send_sge=6 max_inline_data=92",
                     "ENOMEM"),
    "memlock_limit": (3 * 4096, (), "reg_mr A.mr1 pd=A.pd0 length=4097 access=0",
                      "reg_mr A.mr2 pd=A.pd0 length=1 access=0", "ENOMEM"),
    "cap_net_raw": (0, (), _QP, _RAW.format(8, 0), "EPERM"),
}  # fmt: skip


def test_every_device_limit_has_a_row_in_this_test() -> None:
    fields = {field.name for field in dataclasses.fields(DeviceCaps)}
    rows = {*EDGES, *QUERY_ONLY}
    assert fields == rows, (
        f"{fields ^ rows}: a row of EDGES here (the call that is refused at the limit), or of "
        "QUERY_ONLY in rdmalab/spec/limits.py (why no call is)"
    )
    assert not set(EDGES) & set(QUERY_ONLY)


@pytest.mark.parametrize("name", EDGES)
def test_device_limit_is_reached_and_not_exceeded(name: str) -> None:
    limit, before, fits, beyond, errno = EDGES[name]

    def small() -> Lab:
        lab = lab_of()
        hca = lab.session.world.nodes["A"]
        caps = dataclasses.replace(hca.profile.caps, **{name: limit})
        hca.profile = dataclasses.replace(hca.profile, caps=caps)
        for line in before:
            well(lab, line)
        return lab

    lab = small()
    well(lab, fits)
    if errno == "EINVAL":
        lab = small()
    assert errno_name(refusal(lab, beyond).errno) == errno


def test_destroy_of_used_objects_as_soft_roce() -> None:
    record = json.loads((DATA / "destroy_busy.json").read_text("utf-8"))
    lab = lab_of("create_ah A.ah0 pd=A.pd0 to=B")
    for answer, line in (
        ("dealloc_pd with MR, MW, AH, SRQ, QP", "dealloc_pd A.pd0"),
        ("destroy_cq with QP", "destroy_cq A.cq0"),
        ("destroy_qp", "destroy_qp A.qp0"),
        ("destroy_cq after QP", "destroy_cq A.cq0"),
        ("dealloc_pd with MR, MW, AH", "dealloc_pd A.pd0"),
        ("dereg_mr", "dereg_mr A.mr0"),
        ("dealloc_pd with AH", "dealloc_pd A.pd0"),
        ("destroy_ah", "destroy_ah A.ah0"),
        ("dealloc_pd at last", "dealloc_pd A.pd0"),
        ("close_device", "close_device A"),
    ):
        refused = lab.do(line)[-1].refusal
        assert (errno_name(refused.errno) if refused else "0") == record[answer], line


@pytest.mark.parametrize(
    ("profile", "qp_type", "errno"),
    [(RXE, "RAW_PACKET", "EOPNOTSUPP"), (RXE, "XRC_SEND", "EOPNOTSUPP"),
     (RXE, "XRC_RECV", "EINVAL"), (STRICT, "77", "EINVAL")],
)  # fmt: skip
def test_qp_types_that_soft_roce_does_not_create(profile: object, qp_type: str, errno: str) -> None:
    lab = lab_of()
    lab.session.world.nodes["A"].profile = profile  # type: ignore[assignment]
    assert errno_name(refusal(lab, _QP.replace("RC", qp_type)).errno) == errno


def test_create_qp_needs_cqs_and_object_numbers_end() -> None:
    lab = lab_of()
    for key in ("send_cq", "recv_cq"):
        got = refusal(lab, _QP.replace(f"{key}=A.cq0", f"{key}=NULL"))
        assert (got.rule, got.errno, got.argument) == ("qp-parts", 22, key)
    lab.session.world.nodes["A"].qps.next_number = 0xFFFFFE
    well(lab, _QP)
    assert errno_name(refusal(lab, _QP.replace("qp7", "qp8")).errno) == "ENOMEM"
