"""Structs and enums by their names in C, and every name of the five documents."""

import enum
from dataclasses import fields

import pytest

from rdmalab.command import RecordKind
from rdmalab.guide import structs
from rdmalab.guide.explain import explain, lookup
from rdmalab.guide.structs import ENUMS, structs_of
from rdmalab.hca.wr import SendWR
from rdmalab.spec.c_names import PREFIX
from rdmalab.spec.states import MTU
from rdmalab.vocabulary import VOCABULARY
from tests.each import each
from tests.guide.saying import WORDS, article_text, row

# Each name of a struct, an enum, a field, a member or a function in the documents.
NAMES = """
    ibv_send_wr wr_id next sg_list num_sge opcode send_flags imm_data wr.rdma.remote_addr
    wr.rdma.rkey wr.atomic.remote_addr wr.atomic.compare_add wr.atomic.swap wr.atomic.rkey wr.ud.ah
    wr.ud.remote_qpn wr.ud.remote_qkey wr.wr_id wr.sg_list wr.num_sge wr.opcode wr.send_flags
    wr.imm_data wr.wr.ud.ah wr.wr.ud.remote_qpn wr.wr.ud.remote_qkey wr.wr.rdma.remote_addr
    wr.wr.rdma.rkey wr.wr.atomic.remote_addr wr.wr.atomic.rkey wr.wr.atomic.compare_add
    wr.wr.atomic.swap ibv_sge addr length lkey ibv_ah ibv_qp bad_wr ibv_wr_opcode
    IBV_WR_SEND IBV_WR_SEND_WITH_IMM IBV_WR_RDMA_WRITE IBV_WR_RDMA_WRITE_WITH_IMM IBV_WR_RDMA_READ
    IBV_WR_ATOMIC_FETCH_AND_ADD IBV_WR_ATOMIC_CMP_AND_SWP IBV_SEND_FENCE IBV_SEND_SIGNALED
    IBV_SEND_SOLICITED IBV_SEND_INLINE sq_sig_all max_inline_data max_send_sge
    qp_init_attr.cap.max_send_sge IBV_WC_RETRY_EXC_ERR IBV_WC_RNR_RETRY_EXC_ERR IBV_PORT_ACTIVE
    EINVAL ENOMEM EFAULT ibv_post_send ibv_modify_qp ibv_create_qp L_Key r_key
    ibv_wr_abort ibv_wr_complete ibv_wr_start ibv_wr_atomic_cmp_swp ibv_wr_atomic_fetch_add
    ibv_wr_bind_mw ibv_wr_local_inv ibv_wr_rdma_read ibv_wr_rdma_write ibv_wr_rdma_write_imm
    ibv_wr_send ibv_wr_send_imm ibv_wr_send_inv ibv_wr_send_tso ibv_wr_set_inline_data
    ibv_wr_set_inline_data_list ibv_wr_set_sge ibv_wr_set_sge_list ibv_wr_set_ud_addr
    ibv_wr_set_xrc_srqn ibv_qp_ex ibv_mw ibv_mw_bind_info bind_info ibv_data_buf ibv_inl_data
    rkey remote_addr compare swap add invalidate_rkey hdr hdr_sz mss num_buf buf_list remote_qpn
    remote_qkey remote_srqn wr_flags ibv_create_qp_ex ibv_qp_to_qp_ex ibv_qp_init_attr
    ibv_qp_init_attr_ex qp_init_attr_ex qp_init_attr_ex.qp_type qp_init_attr_ex.comp_mask
    qp_init_attr_ex.send_ops_flags comp_mask send_ops_flags IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
    IBV_QP_EX_WITH_RDMA_WRITE IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM IBV_QPT_RC
    IBV_WC_RECV_RDMA_WITH_IMM ibv_td ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD BIND_MW LOCAL_INV
    RDMA_READ RDMA_WRITE RDMA_WRITE_WITH_IMM SEND SEND_WITH_IMM SEND_WITH_INV TSO UD UC RC XRC_SEND
    RAW_PACKET ibv_alloc_mw
    srq_init_attr ibv_srq_init_attr ibv_srq_attr
    ibv_post_srq_recv ibv_post_recv ibv_srq ibv_recv_wr recv_wr bad_recv_wr srq ibv_create_srq
    srq_init_attr.attr.max_sge max_sge IBV_EVENT_SRQ_ERR
    ibv_qp_attr ibv_qp_attr_mask attr_mask ibv_qp_state ibv_mtu ibv_mig_state ibv_qp_cap ibv_ah_attr
    qp_state cur_qp_state path_mtu path_mig_state qkey rq_psn sq_psn dest_qp_num qp_access_flags cap
    ah_attr alt_ah_attr pkey_index alt_pkey_index en_sqd_async_notify sq_draining max_rd_atomic
    max_dest_rd_atomic min_rnr_timer port_num timeout retry_cnt rnr_retry alt_port_num alt_timeout
    IBV_QP_STATE IBV_QP_CUR_STATE IBV_QP_EN_SQD_ASYNC_NOTIFY IBV_QP_ACCESS_FLAGS IBV_QP_PKEY_INDEX
    IBV_QP_PORT IBV_QP_QKEY IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_TIMEOUT IBV_QP_RETRY_CNT
    IBV_QP_RNR_RETRY IBV_QP_RQ_PSN IBV_QP_MAX_QP_RD_ATOMIC IBV_QP_ALT_PATH IBV_QP_MIN_RNR_TIMER
    IBV_QP_SQ_PSN IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_PATH_MIG_STATE IBV_QP_CAP IBV_QP_DEST_QPN
    IBV_MAX_DEST_RD_ATOMIC IBV_SQ_PSN IBV_QPS_INIT IBV_QPS_RTR IBV_QPS_RTS ah_attr.dlid ibv_reg_mr
    IB_MTU_256 IB_MTU_512 IB_MTU_1024 IB_MTU_2048 IB_MTU_4096 RESET INIT RTR RTS
""".split()  # noqa: SIM905  (as a list it would be as long as this file)


@each("name", NAMES)
def test_every_name_of_the_documents_is_explained(name: str) -> None:
    assert lookup(name, WORDS), name
    assert explain(name, WORDS).sections


def test_the_page_of_a_struct_has_every_field_of_it() -> None:
    said_of_it = row("ibv_send_wr", "fields")
    found = {each.partition(" (")[0] for each in said_of_it.split("; ")}
    names = {"wr_id", "sg_list", "send_flags", "wr.rdma.rkey, wr.atomic.rkey", "wr.ud.ah", "next"}
    assert names < found
    assert "opcode (enum ibv_wr_opcode)" in said_of_it
    assert "rest" not in found
    assert "sq_draining (query_qp returns it)" in row("ibv_qp_attr", "fields")
    assert "lkey: The key of the MR" in row("ibv_sge", "fields")
    assert "max_sge: How many elements" in row("ibv_srq_init_attr", "fields")
    assert "num_sge: How many elements" in row("ibv_recv_wr", "fields")
    assert row("ibv_send_wr", "taken by") == "post_send"
    assert row("ibv_recv_wr", "taken by") == "post_recv post_srq_recv"


def test_a_struct_that_the_lab_takes_apart() -> None:
    found = [line.partition(":")[0] for line in _lines("ibv_mw_bind_info", "fields")]
    assert found == ["mr", "addr", "length", "mw_access_flags"]
    assert "wr_bind_mw" in row("bind_info", "taken by")


def test_the_structs_are_those_of_the_records() -> None:
    found = structs_of(VOCABULARY)
    assert {f.name for f in found["ibv_send_wr"].fields} == {f.name for f in fields(SendWR)}
    assert {"ibv_sge", "ibv_qp_attr", "ibv_qp_cap", "ibv_ah_attr", "ibv_srq_attr"} <= set(found)
    assert all(struct.verbs for struct in found.values())
    kind = VOCABULARY["modify_qp"].parameters[1].kind
    assert isinstance(kind, RecordKind)
    assert found["ibv_qp_attr"].fields == kind.fields


@each("of", ENUMS)
def test_the_page_of_an_enum_has_every_member(of: type[enum.IntEnum]) -> None:
    lines = ", ".join(_lines(ENUMS[of], "members")).split(", ")
    assert len(lines) == len(list(of))
    assert all(line.startswith(PREFIX[of]) for line in lines)


def test_an_enum_says_which_verb_takes_it() -> None:
    assert row("ibv_mtu", "taken by").startswith("modify_qp")
    assert _lines("ibv_mtu", "members")[1] == "IBV_MTU_512 = 2"
    assert set(ENUMS) <= set(PREFIX)
    assert MTU in ENUMS


def test_fields_returned_only_by_query_qp() -> None:
    assert row("sq_draining", "returned by") == "query_qp"
    assert structs.ANSWERS["sq_draining"] in article_text("sq_draining")


def _lines(word: str, heading: str) -> list[str]:
    sections = explain(word, WORDS).sections
    return [line for s in sections if s.heading == heading for line in s.lines]


@pytest.mark.parametrize("name", ["wr.ud.ah", "bind_mw.mw", "bind_mw.bind_info.mr", "next"])
def test_a_pointer_of_c_is_called_one(name: str) -> None:
    listed = row("ibv_send_wr", "fields")
    assert f"{name} (pointer" in listed
    assert f"{name} (32 bits" not in listed


def test_the_region_of_a_bind_is_a_pointer() -> None:
    assert "MW_BIND; pointer" in row("ibv_mw_bind_info", "fields")


def test_arguments_of_a_function_are_no_fields_of_the_struct() -> None:
    assert "flush" not in row("ibv_send_wr", "fields")
    is_reported = row("ibv_send_wr", "not in C")
    assert is_reported == "flush_length flush_type flush_level: arguments of ibv_wr_flush"


@pytest.mark.parametrize("name", ["ibv_data_buf", "ibv_inl_data"])
def test_the_length_of_a_buffer_to_copy(name: str) -> None:
    answer = row(name, "fields")
    assert "0 is 0 bytes; size_t" in answer
    assert "2^31" not in answer
