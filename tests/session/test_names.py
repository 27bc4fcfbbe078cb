"""Names and things: both ways, in order, and after the thing is gone."""

from typing import TYPE_CHECKING, Any

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.grammar.format import render
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.wr import SendWR
from rdmalab.lab import Lab
from rdmalab.session.names import Names
from rdmalab.spec.records import Kind
from rdmalab.vocabulary import VOCABULARY
from tests.labs import everything, kinds, lab_of, misread, refusal, seen, well

if TYPE_CHECKING:
    from rdmalab.hca.wr import SendWqe


QP = Thing(Noun.QP, "A", 17)


def test_nodes_have_names_from_the_start() -> None:
    names = Names(["A", "B"])
    assert names.all() == ["A", "B"]
    assert names.find("B") == Thing(Noun.NODE, "B", 0)


def test_a_thing_without_a_name_has_a_text() -> None:
    names = Names(["A"])
    assert names.of(QP) == "A.qp#0x11"
    names.give("A.mine", QP)
    assert names.of(QP) == "A.mine"


def test_the_living_are_listed_oldest_first() -> None:
    lab = lab_of("create_cq A.cq9 cqe=1", "create_cq A.cq1 cqe=1", "destroy_cq A.cq9")
    assert lab.session.names.all(Noun.CQ) == ["A.cq0", "B.cq0", "A.cq1"]
    assert "A.cq9" not in lab.session.names.all()


def test_a_name_is_taken_until_its_thing_is_destroyed() -> None:
    lab = lab_of()
    error = misread(lab, "create_cq A.cq0 cqe=4")
    assert (error.message, error.hint) == ("A.cq0 exists already", "free: A.cq1")
    assert error.place == (10, 15)
    well(lab, "create_cq A.cq1 cqe=4")
    assert misread(lab, "create_cq A.cq0 cqe=4").hint == "free: A.cq2"
    old = lab.session.names.find("A.cq1")
    well(lab, "destroy_cq A.cq1")
    assert lab.session.names.find("A.cq1") == old
    new = well(lab, "create_cq A.cq1 cqe=4").value
    assert lab.session.names.find("A.cq1") == new != old
    assert not lab.session.names.is_free("A.cq1")


def test_a_refused_creation_leaves_the_name_free() -> None:
    lab = lab_of()
    refusal(lab, "create_cq A.cq1 cqe=0")
    assert lab.session.names.find("A.cq1") is None
    well(lab, "create_cq A.cq1 cqe=1")


def test_a_refused_destruction_buries_nothing() -> None:
    lab = lab_of()
    refusal(lab, "dealloc_pd A.pd0")
    assert not lab.session.names.is_free("A.pd0")


def test_living_things_and_free_names() -> None:
    lab = lab_of("create_cq A.cq1 cqe=1", "destroy_cq A.cq1")
    names, world = lab.session.names, lab.session.world
    assert [names.of(it) for it in names.living(world, Noun.CQ)] == ["A.cq0", "B.cq0"]
    assert [names.of(it) for it in names.living(world, Noun.CQ, "B")] == ["B.cq0"]
    assert names.first_free("A.cq") == "A.cq1"


@pytest.fixture(scope="module")
def pair() -> Lab:
    return lab_of("create_cq B.recv_cq cqe=4")


# line, what is wrong, the words under the caret, the one hint
MISTAKES = [
    ("destroy_qp A.qp9", "nothing is called A.qp9", "A.qp9", "did you mean A.qp0?"),
    ("destroy_qp qp9", "nothing is called A.qp9", "qp9", "did you mean A.qp0?"),
    ("destroy_qp C.qp0", "nothing is called C.qp0", "C.qp0", "did you mean B.qp0?"),
    ("destroy_qp A.zebra", "nothing is called A.zebra", "A.zebra", "there is: A.qp0 B.qp0"),
    ("poll_cq B.revc_cq", "nothing is called B.revc_cq", "B.revc_cq", "did you mean B.recv_cq?"),
    (
        "poll_cq A.qp0",
        "A.qp0 is a queue pair, not a completion queue",
        "A.qp0",
        "did you mean A.cq0?",
    ),
    ("dereg_mr A", "A is a node, not a memory region", "A", "there is: A.mr0 B.mr0"),
    (
        "reg_mr A.mr1 pd=A.cq0 length=1 access=0",
        "A.cq0 is a completion queue, not a protection domain",
        "A.cq0",
        "did you mean A.pd0?",
    ),
    (
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.pd0",
        "A.pd0 is a protection domain, not a completion queue",
        "A.pd0",
        "did you mean A.cq0?",
    ),
    (
        "post_send A.qp0 opcode=SEND sg=A.qp0",
        "A.qp0 is a queue pair, not a memory region",
        "A.qp0",
        "did you mean A.mr0?",
    ),
    (
        "post_send A.qp0 opcode=RDMA_READ remote=B.mr7",
        "nothing is called B.mr7",
        "B.mr7",
        "did you mean B.mr0?",
    ),
    ("modify_qp A.qp0 state=RTR ah=C", "nothing is called C", "C", "there is: A B"),
    (
        "modify_qp A.qp0 state=RTR dest_qp_num=B.cq0",
        "B.cq0 is a completion queue, not a queue pair",
        "B.cq0",
        "did you mean B.qp0?",
    ),
    (
        "ibv_alloc_mw A.qp0 pd=A.pd0 type=1",
        "A.qp0 is a queue pair, no name for a memory window",
        "A.qp0",
        "the name comes first: A.mw0",
    ),
    ("alloc_pd C.pd0", "there is no node C", "C.pd0", "nodes: A B"),
    ("fault drop A->C", "there is no node C", "A->C", "nodes: A B"),
    ("show A.qp9", "nothing is called A.qp9", "A.qp9", "did you mean A.qp0?"),
]


@pytest.mark.parametrize(("line", "message", "under", "hint"), MISTAKES, ids=lambda text: text[:40])
def test_a_wrong_name(pair: Lab, line: str, message: str, under: str, hint: str) -> None:
    before = everything(pair)
    error = misread(pair, line)
    assert error.message == message
    assert line[error.place.start : error.place.stop] == under
    assert error.hint == hint
    assert everything(pair) == before


def test_before_anything_exists() -> None:
    hint = "there is not yet a queue pair; begin with: use rc_pair"
    assert misread(Lab(), "destroy_qp A.qp0").hint == hint
    for line in ("show A.qp0", "why A.qp0", "break A.qp0.state == ERR"):
        assert misread(Lab(), line).hint == "begin with: use rc_pair", line


def test_where_there_is_none_of_a_kind_the_line_that_makes_one_is_named(pair: Lab) -> None:
    line = "create_srq A.srq0 pd=A.pd0 max_wr=16"
    hint = misread(pair, "destroy_srq A.srq0").hint
    assert hint == f"there is not yet a shared receive queue; type: {line}"


def test_the_lines_that_make_the_first_of_a_kind_are_carried_out_in_their_order() -> None:
    lab = Lab()
    well(lab, "create_comp_channel B.ch0")  # in an empty world each of them is `use rc_pair`
    first = (Noun.PD, Noun.MR, Noun.CQ, Noun.QP)
    others = (Noun.CHANNEL, Noun.TD, Noun.AH, Noun.SRQ, Noun.XRCD, Noun.MW)
    for noun in (*first, *others):  # a flow needs a raw queue pair, a program lines of the user
        well(lab, lab.session.names.way_to(noun).removeprefix("type: "))


def test_a_value_is_wanted_and_a_name_is_given(pair: Lab) -> None:
    error = misread(pair, "poll_cq A.cq0 num_entries=A.cq0")
    assert error.place == (26, 31)


def posted(lab: Lab, arguments: str) -> Any:
    """The last WR that a post_send with these arguments queued."""
    well(lab, f"post_send A.qp0 {arguments}")
    return seen(lab, Kind.SEND_POSTED)[-1][1].wr


@pytest.mark.parametrize(
    ("written", "start", "length"),
    [("mr0", 0, 4096), ("mr0[100]", 100, 3996), ("mr0[8:72]", 8, 64), ("mr0[:16]", 0, 16)],
)
def test_a_name_stands_for_bytes(written: str, start: int, length: int) -> None:
    lab = lab_of()
    mr = lab.session.world.nodes["A"].mrs.items[1]
    (sge,) = posted(lab, f"opcode=SEND sg=A.{written}").sg
    assert (sge.addr, sge.length, sge.lkey) == (mr.addr + start, length, mr.lkey)


def test_a_remote_name_is_address_and_key() -> None:
    lab = lab_of()
    mr = lab.session.world.nodes["B"].mrs.items[1]
    wr = posted(lab, "opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[100:108]")
    assert (wr.remote_addr, wr.rkey) == (mr.addr + 100, mr.rkey)
    apart = posted(lab, "opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=5 rkey=B.mr0")
    assert (apart.remote_addr, apart.rkey) == (5, mr.rkey)


def test_several_pieces_stay_in_order() -> None:
    lab = lab_of(
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_recv_sge=3",
        "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    )
    well(lab, "post_recv A.qp1 sg=A.mr0[64:80],{addr=3 length=9 lkey=5},A.mr0[0:8]")
    wr = seen(lab, Kind.RECV_POSTED)[-1][1].wr
    assert [sge.length for sge in wr.sg] == [16, 9, 8]


def test_an_address_and_a_queue_pair_number() -> None:
    lab = lab_of(
        "reset A.qp0",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0",
        "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    )
    well(
        lab,
        "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp1 rq_psn=0 "
        "max_dest_rd_atomic=1 min_rnr_timer=12 ah=B",
    )
    attr = well(lab, "query_qp A.qp0").value
    assert attr.dest_qp_num == 18
    assert attr.ah_attr == ah_attr_of(lab.session.world.nodes["B"])
    assert attr.ah_attr.dgid == lab.session.world.nodes["B"].gids[1]


def test_a_field_written_out_goes_before_the_short_word() -> None:
    lab = lab_of()
    wr = posted(lab, "opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 rkey=7")
    assert wr.rkey == 7
    assert wr.remote_addr == lab.session.world.nodes["B"].mrs.items[1].addr


def test_a_number_without_a_member_stays_a_number() -> None:
    lab = lab_of()
    before = kinds(lab)
    refused = lab.do("post_send A.qp0 opcode=99")[-1].refusal
    assert refused is not None
    assert refused.rule == "opcode-unknown"
    assert kinds(lab)[len(before) :] == [Kind.REFUSED, Kind.CALLED]


def test_a_record_of_nothing_has_its_own_defaults() -> None:
    assert AhAttr().dgid == 0
    lab = lab_of()
    well(lab, "fault drop")
    assert str(lab.session.world.network.cable.faults[0]) == "drop every packet"


def test_a_number_where_a_list_is_wanted_is_a_pointer() -> None:
    lab = lab_of("post_send A.qp0 opcode=SEND sg=0xdead num_sge=0")
    ((_, wqe, _),) = seen(lab, Kind.SEND_POSTED)
    assert [(type(sge).__name__, sge.addr) for sge in wqe.wr.sg] == [("WildPointer", 0xDEAD)]
    assert misread(lab, "post_send A.qp0 opcode=SEND sg=0xdeadbeefz").message


def _posted(keys: str) -> SendWR:
    lab = lab_of("reg_mr A.zero pd=A.pd0 length=64 access=LOCAL_WRITE|ZERO_BASED")
    well(lab, f"post_send A.qp0 opcode=RDMA_WRITE {keys}")
    wqe: SendWqe = seen(lab, Kind.SEND_POSTED)[0][1]
    return wqe.wr


def test_fields_of_a_region_as_c_has_them() -> None:
    """`mr->lkey`, `mr->rkey`, `mr->addr + 8` give the numbers of the region's struct."""
    wr = _posted(
        "sg={addr=A.mr0.addr+8 length=4 lkey=A.mr0.lkey} "
        "remote_addr=B.mr0.addr+0x40 rkey=B.mr0.rkey"
    )
    short = _posted("sg=A.mr0[8:12] remote=B.mr0[64]")
    assert (wr.sg, wr.remote_addr, wr.rkey) == (short.sg, short.remote_addr, short.rkey)
    assert _posted("sg=A.mr0[0:4] remote_addr=B.mr0 rkey=B.mr0.lkey").rkey != short.rkey


def test_the_address_of_a_zero_based_region_is_that_of_the_process() -> None:
    (sge,) = _posted("sg={addr=A.zero.addr length=4 lkey=A.zero.lkey}").sg
    assert sge.addr > 0
    (named,) = _posted("sg=A.zero[0:4]").sg
    assert named.addr == 0


@pytest.mark.parametrize(
    ("keys", "message", "hint"),
    [
        ("rkey=B.mr9.rkey", "nothing is called B.mr9", "did you mean B.mr0?"),
        ("rkey=A.mw0.lkey", "A.mw0 has no lkey", "write A.mw0.rkey"),
        ("rkey=B.mr0.rkey+1", '"B.mr0.rkey+1" is not a number', "write 12 or 0x1f"),
        ("imm_data=B.mr0.rkey", '"B.mr0.rkey" is not a number', "write 12 or 0x1f"),
    ],
)
def test_fields_that_are_none(keys: str, message: str, hint: str) -> None:
    lab = lab_of("alloc_mw A.mw0 pd=A.pd0 type=TYPE_2")
    wrong = misread(lab, f"post_send A.qp0 opcode=RDMA_WRITE {keys}")
    assert (wrong.message, wrong.hint) == (message, hint)


def test_a_field_is_kept_in_the_journal_as_it_was_written() -> None:
    lab = lab_of("post_send A.qp0 opcode=RDMA_WRITE remote_addr=B.mr0.addr+8 rkey=B.mr0.rkey")
    entry = lab.session.journal[-1]
    line = render(entry.invocation, VOCABULARY["post_send"])
    assert "remote_addr=B.mr0.addr+8 rkey=B.mr0.rkey" in line


@pytest.mark.parametrize("name", ["sge", "inline_data_list"])
def test_the_misspelling_of_a_manual_page(name: str) -> None:
    wrong = misread(lab_of(), f"ibv_set_wr_{name} A.qp0")
    assert wrong.hint == f"did you mean wr_set_{name}?"
