"""The words of the extended post API: operands as C has them, and the example of its man page."""

import pytest

from rdmalab.hca.wr import SendWR
from rdmalab.spec.builders import DATA_SETTERS, UD_SETTER, XRC_SETTER
from rdmalab.spec.records import Kind
from rdmalab.spec.work import BUILDERS
from rdmalab.vocabulary import VOCABULARY
from tests.extended import extended_lab
from tests.labs import everything, misread, played_again, seen, trip, well


def test_every_builder_and_setter_is_a_word() -> None:
    assert {*BUILDERS.values(), *DATA_SETTERS, UD_SETTER, XRC_SETTER} <= set(VOCABULARY)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("wr_rdma_write A.qx0 remote=B.mr0[100]", {"remote_addr": 0x20000064}),
        (
            "wr_rdma_write A.qx0 remote_addr=0x1064 rkey=0xdead",
            {"remote_addr": 0x1064, "rkey": 0xDEAD},
        ),
        ("wr_send_imm A.qx0 imm_data=0x1234", {"imm_data": 0x1234}),
        ("wr_atomic_cmp_swp A.qx0 remote=B.mr0 compare=5 swap=6", {"compare_add": 5, "swap": 6}),
        ("wr_atomic_fetch_add A.qx0 remote=B.mr0 add=7", {"compare_add": 7}),
        ("wr_send A.qx0 wr_id=0xffffffffffffffff", {"wr_id": 2**64 - 1}),
    ],
)
def test_operands_land_in_their_fields(line: str, fields: dict[str, int]) -> None:
    ((_, wr, _),) = seen(extended_lab("wr_start A.qx0", line), Kind.WR_BUILT, "A")
    assert isinstance(wr, SendWR)
    assert {name: getattr(wr, name) for name in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "wr_rdma_write A.qx0",
        "wr_rdma_write A.qx0 rkey=1",
        "wr_send_imm A.qx0",
        "wr_set_sge A.qx0 sg=0xdead",
        "wr_set_ud_addr A.qx0 ah=1",
    ],
)
def test_a_function_has_all_its_arguments(line: str) -> None:
    misread(extended_lab("wr_start A.qx0"), line)


def test_the_example_of_the_man_page() -> None:
    """A WRITE and a WRITE with immediate; only the second is signaled."""
    lab = extended_lab(
        "post_recv B.qp0 wr_id=9",
        "wr_start A.qx0",
        "wr_set A.qx0 wr_id=1 wr_flags=0",
        "wr_rdma_write A.qx0 remote=B.mr0[0]",
        "wr_set_sge A.qx0 sg=A.mr0[0:64]",
        "wr_set A.qx0 wr_id=2 wr_flags=SIGNALED",
        "wr_rdma_write_imm A.qx0 remote=B.mr0[64] imm_data=htonl(1)",
        "wr_set_sge A.qx0 sg=A.mr0[64:128]",
        "wr_complete A.qx0",
    )
    trip(lab, "run")
    done = well(lab, "poll_cq A.cq0 num_entries=8").value
    assert [(cqe.wr_id, cqe.status.name) for cqe in done] == [(2, "SUCCESS")]
    assert [cqe.wr_id for cqe in well(lab, "poll_cq B.cq0 num_entries=8").value] == [9]


def test_the_journal_plays_it_again() -> None:
    lab = extended_lab(
        "post_recv B.qp0 wr_id=9 sg=B.mr0[0:64]", "wr_start A.qx0 thread=3",
        "wr_send A.qx0 wr_id=1 wr_flags=SIGNALED|INLINE",
        "wr_set_inline_data_list A.qx0 buf=A.mr0[0:4],{addr=0x10000004 length=4}",
        "wr_complete A.qx0", "run", "wr_start A.qx0", "wr_send A.qx0",
    )  # fmt: skip
    assert everything(played_again(lab)) == everything(lab)
