from errno import EINVAL, ENOMEM

import pytest

from rdmalab.command import Refused
from rdmalab.hca import lifecycle
from tests.labs import lab_of, misread, refusal, status, trip, well
from tests.windows import lab_with

_ALL = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC"
_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] flags=SIGNALED remote="


def test_reg_mr_allocates_a_buffer_of_zeros() -> None:
    lab = lab_of("reg_mr A.mr1 pd=A.pd0 length=4KiB access=LOCAL_WRITE")
    mr = lab.session.world.nodes["A"].mrs.items[2]
    assert (mr.length, mr.pd) == (4096, 1)
    assert well(lab, "read A.mr1[0:8]").value == bytes(8)
    assert mr.lkey != mr.rkey


def test_reg_mr_of_the_same_bytes_twice() -> None:
    lab = lab_of('write A.mr0[8:10] "hi"')
    addr = lab.session.world.nodes["A"].mrs.items[1].addr
    well(lab, f"reg_mr A.mr1 pd=A.pd0 length=8 access=0 addr={addr + 8}")
    assert well(lab, "read A.mr1[0:2]").value == b"hi"
    assert refusal(lab, f"reg_mr A.mr2 pd=A.pd0 length=4096 access=0 addr={addr + 1}").errno == 14


def test_reg_mr_of_the_largest_region_costs_no_memory() -> None:
    lab = lab_of("reg_mr A.big pd=A.pd0 length=2GiB access=0", 'write A.big[2147483640] "end"')
    assert len(lab.session.world.nodes["A"].memory.pages) == 1
    assert refusal(lab, "reg_mr A.bigger pd=A.pd0 length=2147483649 access=0").rule == "mr-length"


def test_rkey_is_invalid_after_dereg_mr() -> None:
    lab = lab_of(f"{_WRITE}B.mr0", "dereg_mr B.mr0", "run")
    assert status(lab) == "REM_ACCESS_ERR"


def test_lkey_after_dereg_mr_fails_when_executed() -> None:
    lab = lab_of(f"{_WRITE}B.mr0", "dereg_mr A.mr0", "run")
    assert status(lab) == "LOC_PROT_ERR"


def test_access_flags_of_an_mr() -> None:
    for access, wanted in ((_ALL, "SUCCESS"), ("LOCAL_WRITE|REMOTE_READ", "REM_ACCESS_ERR")):
        lab = lab_of(f"reg_mr B.mr1 pd=B.pd0 length=64 access={access}", f"{_WRITE}B.mr1")
        trip(lab, "run")
        assert status(lab) == wanted


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("alloc_mw B.mw1 pd=B.pd0 type=3", "mw-type"),
        ("alloc_mw B.mw1 pd=A.pd0 type=TYPE_1", "other-node"),
        ("bind_mw A.qp0 B.mw0", "other-node"),
    ],
)
def test_bind_mw_and_alloc_mw_refused(line: str, rule: str) -> None:
    refused = refusal(lab_with(), line)
    assert (refused.rule, refused.errno) == (rule, EINVAL)


def test_alloc_mw_limit() -> None:
    hca = lab_of().session.world.nodes["A"]
    for _ in range(hca.profile.caps.max_mw):
        lifecycle.alloc_mw(hca, 1, 1)
    with pytest.raises(Refused) as caught:
        lifecycle.alloc_mw(hca, 1, 1)
    assert (caught.value.rule, caught.value.errno) == ("limit", ENOMEM)


def test_dealloc_mw_twice() -> None:
    lab = lab_with("dealloc_mw B.mw0")
    assert refusal(lab, "dealloc_mw B.mw0").rule == "use-after-destroy"
    assert refusal(lab, "bind_mw B.qp0 B.mw0").rule == "use-after-destroy"


def test_mw_name_stands_for_its_rkey() -> None:
    lab = lab_with()
    line = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] rkey={}"
    well(lab, line.format("B.mw0"))
    assert "is a queue pair" in misread(lab, line.format("B.qp0")).message


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("reg_mr A.mr1 pd=A.pd0 length=8", "add access=…; legal for access: LOCAL_WRITE, REMOTE_W"),
        ("alloc_mw A.mw1 pd=A.pd0", "add type=…; legal for type: TYPE_1, TYPE_2"),
        ("create_qp A.qp1 pd=A.pd0", "add qp_type=…; legal for qp_type: RC, UC, UD, "),
    ],
)
def test_a_line_without_a_key_of_few_words_names_them(line: str, hint: str) -> None:
    assert hint in misread(lab_of(), line).hint
