"""Cures for memory that may not be touched, and names that are free."""

import pytest

from rdmalab.command import Invocation, Noun
from rdmalab.doctor.fixes import memory_fixes
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.lab import Lab
from rdmalab.repair import commands
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import RXE
from rdmalab.spec.work import WROpcode
from tests.doctor.asking import pair, why
from tests.doctor.facts.test_key_lookup import case_of
from tests.labs import well

WRITES = int(Access.LOCAL_WRITE)


def corrected(lab: Lab, *sg: SGE) -> memory_fixes.MemoryFix:
    case = case_of(lab)
    assert case.qp is not None
    found = memory_fixes.corrected(case, case.qp, case.hca, RecvWR(sg=list(sg)), WRITES)
    assert found is not None
    return found


def test_free_name_of_a_new_and_of_a_deregistered_mr() -> None:
    lab = pair("reg_mr A.mr1 pd=A.pd0 length=64 access=0")
    assert commands.free_name(case_of(lab), Noun.MR, "A") == "A.mr2"
    well(lab, "dereg_mr A.mr1")
    assert commands.free_name(case_of(lab), Noun.MR, "A") == "A.mr1"


def test_corrected_sges_change_only_the_access() -> None:
    lab = pair("reg_mr A.mr1 pd=A.pd0 length=64 access=0")
    good, mute = list(lab.session.world.nodes["A"].mrs.items.values())
    correction = corrected(lab, SGE(good.addr, 8, good.lkey), SGE(mute.addr, 8, mute.lkey))
    assert correction.sg == "A.mr0[0:8],A.mr1[0:8]"
    assert correction.lines == ["rereg_mr A.mr1 flags=CHANGE_ACCESS access=LOCAL_WRITE"]
    assert correction.length == 16


def test_elements_of_length_0_are_left_out_and_ends_cut_off() -> None:
    mr = next(iter((lab := pair()).session.world.nodes["A"].mrs.items.values()))
    correction = corrected(lab, SGE(mr.addr, 0, mr.lkey), SGE(mr.addr + 4090, 10, mr.lkey))
    assert correction == memory_fixes.MemoryFix([], "A.mr0[4090:4096]", 6)


def test_bytes_that_lie_wholly_outside_of_the_region_are_looked_for_elsewhere() -> None:
    lab = pair("reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE")
    first, other = list(lab.session.world.nodes["A"].mrs.items.values())
    assert corrected(lab, SGE(other.addr + 8, 4, first.lkey)).sg == "A.mr1[8:12]"


def test_bytes_of_no_region_are_registered_and_such_of_no_memory_replaced() -> None:
    lab = pair("reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE", "dereg_mr A.mr1")
    buffer = lab.session.world.nodes["A"].memory.buffers[-1]
    correction = corrected(lab, SGE(buffer.addr + 4, 8, 0xBAD))
    line = f"reg_mr A.mr1 pd=A.pd0 addr={buffer.addr + 4:#x} length=8 access=LOCAL_WRITE"
    assert correction == memory_fixes.MemoryFix([line], "A.mr1[0:8]", 8)
    assert corrected(lab, SGE(1, 8, 0xBAD)).sg == "A.mr0[0:8]"


def test_a_device_that_cannot_change_a_region_is_not_asked_to() -> None:
    lab = pair(profile=RXE)
    case = case_of(lab)
    mr = next(iter(case.hca.mrs.items.values()))
    assert memory_fixes.allowing(case, "A", mr, mr.pd, int(Access.MW_BIND)) is None
    lab = pair()
    case = case_of(lab)
    mr = next(iter(case.hca.mrs.items.values()))
    lines = memory_fixes.allowing(case, "A", mr, mr.pd, int(Access.MW_BIND))
    assert lines is not None
    assert lines[0].endswith("|MW_BIND")


def test_ready_to_send_is_empty_in_rts() -> None:
    lab = pair()
    case = case_of(lab)
    assert case.qp is not None
    assert memory_fixes.ready_to_send(case, case.qp) == []
    assert memory_fixes.ready_to_send(case, case.qp, {"max_rd_atomic": "2"})
    well(lab, "modify_qp B.qp0 state=ERR")
    assert memory_fixes.ready_to_send(case_of(lab), case.qp)[0] == "modify_qp A.qp0 state=RESET"


def test_the_first_bytes_of_a_list() -> None:
    mr = next(iter((lab := pair()).session.world.nodes["A"].mrs.items.values()))
    sg = [SGE(mr.addr, 6, mr.lkey), SGE(mr.addr + 32, 6, mr.lkey)]
    wr = SendWR(WROpcode.SEND, sg=sg)
    assert memory_fixes.first_bytes(case_of(lab), wr, 8) == "A.mr0[0:6],A.mr0[32:34]"
    assert memory_fixes.first_bytes(case_of(lab), wr, 6) == "A.mr0[0:6]"


def test_rephrased_command_and_name() -> None:
    lab = pair()
    asked = Invocation("destroy_qp", {"qp": memory_fixes.ref("A.qp0")})
    assert (
        memory_fixes.rephrased(case_of(lab), asked, qp=memory_fixes.ref("B.qp0"))
        == "destroy_qp B.qp0"
    )
    assert str(memory_fixes.region_ref("A.mr0[4:8]")) == "A.mr0[4:8]"
    assert str(memory_fixes.new(Noun.AH, "B.ah7")) == "B.ah7"


def test_message_fix_uses_an_mr_of_the_pd() -> None:
    lab = pair("alloc_pd A.pd1", "reg_mr A.mr1 pd=A.pd1 length=8192 access=0")
    case = case_of(lab)
    assert case.qp is not None
    assert memory_fixes.a_message(case, case.qp, 4) == ["post_send A.qp0 opcode=SEND sg=A.mr0[0:4]"]
    assert memory_fixes.a_message(case, case.qp, 8000) == []


def test_a_write_with_a_wrong_key_that_is_too_long_stays_at_its_address() -> None:
    lab = pair("reg_mr B.mr1 pd=B.pd0 length=128 access=LOCAL_WRITE|REMOTE_WRITE",
               "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:256] remote_addr=B.mr1[0]"
               " rkey=A.mr0 flags=SIGNALED", "run")  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.cure.note.startswith("shortened to 128 bytes, which is what B.mr1 has there")


_FAR = 0x7F0000901000


@pytest.mark.parametrize(("addr", "why_moved"), [(0x901000, f"is the low half of {_FAR:#x}"),
                                                 (0x77, "lies in no region of B")])  # fmt: skip
def test_a_write_outside_of_the_region_of_its_key_stays_in_that_region(
    addr: int, why_moved: str
) -> None:
    lab = pair(f"map_memory B addr={_FAR} length=4096",
               f"reg_mr B.mr1 pd=B.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE addr={_FAR}",
               "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:8] rkey=B.mr1 flags=SIGNALED "
               f"remote_addr={addr}", "run")  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.note == f"the target changes: {addr:#x} {why_moved}"
    assert "remote=B.mr1[0]" in remedy.cure.lines[-1]
