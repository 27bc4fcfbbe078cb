"""Work requests as C writes them: nested structs, arrays with their lengths, NULL."""

from pathlib import Path

import pytest

from rdmalab.grammar.format import render
from rdmalab.grammar.line import parse
from rdmalab.lab import Lab
from rdmalab.shell.prompt_setup import choices
from rdmalab.vocabulary import VOCABULARY
from tests.covers import covers
from tests.labs import lab_of, refusal, well
from tests.shell.prompts import Prompt

_FLAT = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0x10000000 rkey=B.mr0"
_EX = "create_qp_ex A.x pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"


def extended(*lines: str) -> Lab:
    ops = "send_ops_flags=SEND|RDMA_WRITE|BIND_MW"
    lab = lab_of(f"{_EX} {ops}", "reset B.qp0", "connect A.x B.qp0")
    for line in ("wr_start A.x", *lines):
        well(lab, line)
    return lab


@pytest.mark.parametrize(
    "line",
    [
        "opcode=RDMA_WRITE sg=A.mr0[0:8] wr.rdma.remote_addr=0x10000000 wr.rdma.rkey=B.mr0",
        "opcode=RDMA_WRITE sg=A.mr0[0:8] wr.rdma={remote_addr=0x10000000 rkey=B.mr0}",
        "wr={opcode=RDMA_WRITE sg=A.mr0[0:8] wr={rdma={remote_addr=0x10000000 rkey=B.mr0}}}",
        "wr={opcode=RDMA_WRITE sg=A.mr0[0:8] wr.rdma={remote_addr=0x10000000 rkey=B.mr0}}",
    ],
)
def test_a_union_of_c_is_saved_as_the_flat_form(line: str) -> None:
    lab = lab_of()
    (reply,) = lab.do(f"post_send A.qp0 {line}")
    assert reply.invocation is not None
    assert render(reply.invocation, VOCABULARY["post_send"]) == _FLAT


def test_an_address_has_its_grh_as_in_c() -> None:
    grh = "is_global=1 grh.dgid=::ffff:10.0.0.2 grh.sgid_index=1 grh.hop_limit=1"
    lab = lab_of(f"create_ah A.ah0 pd=A.pd0 {grh}", "reset A.qp0")
    to_init = "state=INIT pkey_index=0 port_num=1 qp_access_flags=0"
    well(lab, f"modify_qp A.qp0 {to_init}")
    there = " ".join(f"ah_attr.{each}" for each in grh.split())
    rest = "path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 min_rnr_timer=12"
    well(lab, f"modify_qp A.qp0 state=RTR {rest} {there} ah_attr.port_num=1")
    address = lab.session.world.nodes["A"].qps.items[17].attr.ah_attr
    assert address is not None
    assert address.hop_limit == 1


@pytest.mark.parametrize("written", ["B.mr0+4", "B.mr0.addr+4", "B.mr0[4]"])
def test_an_address_after_the_start_of_a_region(written: str) -> None:
    lab = lab_of("fill A.mr0[0:8] 0x55")
    target = f"remote_addr={written} rkey=B.mr0"
    well(lab, f"post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] {target}")
    lab.run()
    assert lab.session.world.nodes["B"].memory.read(0x20000000, 13) == bytes(4) + b"U" * 8 + b"\0"


def test_a_name_given_twice_is_reported_before_its_value_is_read() -> None:
    (reply,) = lab_of().do("create_ah A.ah0 pd=A.pd0 ah=B")
    assert reply.error is not None
    assert reply.error.message == "ah is given twice"


def test_a_length_in_place_of_the_end_of_a_range_is_reported_as_both() -> None:
    (reply,) = lab_of().do("post_recv B.qp0 sg=B.mr0[4000:64]")
    assert reply.error is not None
    assert reply.error.hint == "write [64:4000], or [4000:4064] for 64 bytes"


@covers("S087")
def test_operands_of_an_atomic_by_the_names_of_the_struct() -> None:
    lab = lab_of()
    buffer = "sg={addr=0x10000000 length=8 lkey=A.mr0} flags=SIGNALED"
    there = "wr.atomic={remote_addr=0x20000008 compare_add=1 swap=5 rkey=B.mr0}"
    lab.session.world.nodes["B"].memory.write(0x20000008, (1).to_bytes(8, "little"))
    well(lab, f"post_send A.qp0 opcode=ATOMIC_CMP_AND_SWP {buffer} {there}")
    lab.run()
    assert lab.look("A.cq0.next.status == SUCCESS")
    assert lab.session.world.nodes["B"].memory.read(0x20000008, 8) == (5).to_bytes(8, "little")


def test_a_datagram_by_the_names_of_the_struct() -> None:
    lab = lab_of(pair="use ud_pair")
    well(lab, "post_recv B.qp0 sg=B.mr0[0:64]")
    there = "wr.ud={ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111}"
    well(lab, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED {there}")
    lab.run()
    assert lab.look("B.cq0.next.status == SUCCESS")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("wr.rdma={remote_addr=1 rky=2}", 'no key "wr.rdma.rky"'),
        ("wr.rdma=5", 'no key "wr.rdma"'),
        ("wr.rdma={rkey=1} rkey=2", "wr.rdma.rkey is given twice"),
        ("wr.rdma={5}", "a key is missing here"),
    ],
)
def test_a_mistake_in_a_union_is_reported_at_its_place(line: str, message: str) -> None:
    (reply,) = lab_of().do(f"post_send A.qp0 opcode=RDMA_WRITE {line}")
    assert reply.error is not None
    assert reply.error.message == message


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("post_send A.qp0 opcode=RDMA_WRITE wr.rd", {"wr.rdma.remote_addr=", "wr.rdma.rkey="}),
        ("post_send A.qp0 opcode=RDMA_WRITE rdma.rk", {"rdma.rkey="}),
        ("post_send A.qp0 opcode=RDMA_WRITE wr.rdma={", {"remote_addr=", "rkey="}),
        ("post_send A.qp0 opcode=RDMA_WRITE wr.rdma={rk", {"rkey="}),
        ("post_send A.qp0 opcode=RDMA_WRITE wr.rdma={rkey=5 ", {"remote_addr="}),
        ("post_send A.qp0 wr={opcode=RDMA_WRITE wr.rdma={rk", {"rkey="}),
        ("post_send A.qp0 opcode=SEND sg={lkey=", {"A.mr0"}),
        ("wr_set_sge A.x lk", {"lkey="}),
        ("post_recv A.qp0 bad_r", {"bad_recv_wr="}),
    ],
)
def test_tab_knows_the_names_of_c(begun: str, offered: set[str]) -> None:
    lab = lab_of(f"{_EX} send_ops_flags=SEND")
    found, _ = choices(lab.session, begun, len(begun))
    assert {choice.text for choice in found} == offered


def test_help_says_where_c_has_a_field() -> None:
    text = " ".join(Prompt().ask("help post_send"))
    assert "in C wr.rdma.remote_addr" in text
    assert "lkey" in " ".join(Prompt().ask("help wr_set_sge"))


@covers("S153", "S159")
def test_a_setter_takes_a_buffer_by_its_three_numbers() -> None:
    lab = extended(
        "wr_send A.x wr_id=1 wr_flags=SIGNALED",
        "wr_set_sge A.x lkey=A.mr0 addr=0x10000010 length=8",
        "wr_send A.x wr_id=2",
        "wr_set_inline_data A.x addr=0x10000020 length=4",
        "wr_send A.x wr_id=3",
        "wr_set_sge_list A.x num_sge=1 sg_list={addr=0x10000000 length=8 lkey=A.mr0},A.mr0[0:4]",
        "wr_send A.x wr_id=4",
        "wr_set_inline_data_list A.x num_buf=2 buf_list=A.mr0[0:4],{addr=0x10000000 length=3}",
        "wr_send A.x wr_id=5",
        "wr_set_sge_list A.x num_sge=0 sg_list=NULL",
        "wr_complete A.x",
    )
    qp = lab.session.world.nodes["A"].qps.items[18]
    assert [wqe.length for wqe in qp.sq.wqes.values()] == [8, 4, 8, 7, 0]


@pytest.mark.parametrize(
    ("setter", "text"),
    [
        ("wr_set_sge_list A.x num_sge=3 sg_list=A.mr0[0:4]", "num_sge=3 reads on beyond"),
        ("wr_set_sge_list A.x num_sge=1 sg_list=NULL", "num_sge=1 reads on beyond"),
        ("wr_set_inline_data_list A.x num_buf=2 buf_list=A.mr0[0:4]", "num_buf=2 reads on beyond"),
    ],
)
def test_an_array_that_is_shorter_than_its_number(setter: str, text: str) -> None:
    refused = refusal(extended("wr_send A.x", setter), "wr_complete A.x")
    assert (refused.rule, refused.errno) == ("crash-sg", 14)
    assert text in refused.message


def test_a_bind_by_the_struct_of_c() -> None:
    lab = extended(
        "reg_mr A.m2 pd=A.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
        "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2",
        "wr_bind_mw A.x mw=A.mw0 rkey=0x1234"
        " bind_info={mr=A.m2 addr=A.m2[8] length=8 mw_access_flags=REMOTE_READ}",
    )
    node = lab.session.world.nodes["A"]
    ex = node.qps.items[18].ex
    assert ex is not None
    assert ex.region is not None
    (wr,) = (built.wr for built in ex.region.built)
    assert (wr.mw_rkey, wr.bind_mr, wr.bind_length) == (0x1234, 2, 8)
    assert wr.bind_addr == node.mrs.items[2].iova + 8


@pytest.mark.parametrize(
    ("verb", "argument"), [("post_send", "qp"), ("post_recv", "qp"), ("post_srq_recv", "srq")]
)
def test_no_queue_at_all(verb: str, argument: str) -> None:
    lab = lab_of()
    for null in ("NULL", "0"):
        given = "wr={opcode=SEND}" if verb == "post_send" else "wr_id=1"
        refused = refusal(lab, f"{verb} {null} {given}")
        assert (refused.rule, refused.errno, refused.argument) == ("null-queue", 14, argument)
    assert lab.do("why")


def test_receives_by_the_names_of_their_prototype() -> None:
    lab = lab_of("create_srq A.srq0 pd=A.pd0 max_wr=8")
    for verb in ("post_recv A.qp0", "post_srq_recv A.srq0"):
        well(lab, f"{verb} recv_wr={{wr_id=3 sg_list=A.mr0[0:8]}} bad_recv_wr=NULL")
        bad = refusal(lab, f"{verb} recv_wr={{num_sge=-1}} bad_recv_wr=NULL")
        assert bad.rule == "crash-bad-wr"


def test_an_array_of_no_entries_has_no_entry_of_length_0() -> None:
    prompt = Prompt("use rc_pair")
    for sg in ("sg_list=0 num_sge=0", "sg={length=0} num_sge=0", "sg_list=NULL"):
        text = " ".join(prompt.ask(f"post_send A.qp0 opcode=SEND {sg}"))
        assert "length 0" not in text
    assert "length 0" in " ".join(prompt.ask("post_send A.qp0 opcode=SEND sg={length=0}"))


@pytest.mark.parametrize("name", ["IB_MTU_512", "IBV_MTU_512", "512", "ib_mtu_512"])
def test_a_path_mtu_by_the_name_of_the_bring_up_document(name: str) -> None:
    lab = lab_of("reset A.qp0", "reset B.qp0", f"connect A.qp0 B.qp0 path_mtu={name}")
    assert well(lab, "query_qp A.qp0").value.path_mtu == 2


def test_a_saved_session_plays_the_same(tmp_path: Path) -> None:
    lab = lab_of(f"{_FLAT.partition(' remote_addr')[0]} wr.rdma={{remote_addr=1 rkey=B.mr0}}")
    saved = tmp_path / "c.rdmalab.yaml"
    well(lab, f"save {saved}")
    assert "remote_addr=1 rkey=B.mr0" in saved.read_text(encoding="utf-8")


def test_an_empty_element_is_written_or_the_line_would_lack_it() -> None:
    line = "wr_set_sge A.x sg={}"
    (invocation,) = parse(line, VOCABULARY, "A")
    assert render(invocation, VOCABULARY["wr_set_sge"]) == line
