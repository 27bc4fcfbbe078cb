import re

import pytest

from rdmalab.lab import Lab
from rdmalab.views.warnings import warnings
from tests.covers import covers
from tests.each import each
from tests.labs import well
from tests.shell.prompts import Prompt

_SHARED = "create_srq B.srq0 pd=B.pd0 max_wr=8"


@each(
    "setup, line, warning",
    [
        (
            "",
            "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8]",
            "rkey is 0, and no MR has that key: remote=B.mr0[0] gives rkey and remote_addr. "
            "A real HCA accepts this now and fails later with IBV_WC_REM_ACCESS_ERR.",
        ),
        ("", "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8]", "rkey is 0"),
        ("", "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8]", "rkey is 0"),
        ("", "post_send A.qp0 opcode=RDMA_WRITE", ""),
        ("", "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]", ""),
        ("modify_qp A.qp0 state=ERR", "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0", "WR_FLUSH_ERR"),
        ("", "post_recv B.qp0 sg=B.mr0[0:5000]", "sg reaches beyond B.mr0 (4096 bytes)."),
        ("", "post_recv B.qp0 sg={addr=0x10 length=8 lkey=0xdead}", "has lkey 0xdead"),
        ("", "post_recv B.qp0 sg=A.mr0[0:8]", "A.mr0 is memory of A: a buffer of B"),
        ("", "post_send A.qp0 opcode=SEND sg=A.mr0[0:0]", "length 0 means 2147483648 bytes"),
        ("reset A.qp0", "modify_qp A.qp0 state=ERR", ""),
        ("modify_qp A.qp0 state=ERR", "post_send A.qp0 opcode=SEND", "WR_FLUSH_ERR"),
        ("", "create_cq A.cq1 cqe=2", ""),
        (
            "create_cq A.cq1 cqe=2",
            "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
            "it can overrun",
        ),
        ("post_recv A.qp0 sg=A.mr0[0:64]", "dereg_mr A.mr0", "posted work of A.qp0 still uses"),
        (
            "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]",
            'write A.mr0[0:5] "later"',
            "belong to the HCA until wr0 of A.qp0 completes",
        ),
        ("", "req_notify_cq A.cq0", "A.cq0 has no channel: get_cq_event cannot return its event"),
        ("create_comp_channel A.ch0", "create_cq A.cq1 cqe=2 channel=A.ch0", ""),
        ("", "post_recv B.qp0 sg=B.mr0[0:64],B.mr0[63:90]", "pieces of sg overlap"),
        ("", "post_recv B.qp0 sg=B.mr0[0:64],B.mr0[64:90]", ""),
        ("", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64],A.mr0[0:64]", ""),
        (
            "",
            "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[8:16],A.mr0[0:9] remote=B.mr0",
            "pieces of sg overlap",
        ),
        ("post_recv B.qp0 sg=B.mr0[0:64]", 'write B.mr0[60:61] "x"', "receive of B.qp0 is posted"),
        ("post_recv B.qp0 sg=B.mr0[0:64]", 'write B.mr0[64:65] "x"', ""),
        ("post_recv B.qp0 sg=B.mr0[8:64]", "read B.mr0[0:9]", "8:64 are a posted receive of B.qp0"),
        ("post_recv B.qp0 sg=B.mr0[8:64]", "hexdump B.mr0[0:8]", ""),
        ("post_recv B.qp0 sg=B.mr0[8:64]", "hexdump B.mr0", "do not read yet"),
        (_SHARED, "post_srq_recv B.srq0 sg=B.mr0[0:5000]", "sg reaches beyond B.mr0 (4096 bytes)."),
        (f"{_SHARED}; post_srq_recv B.srq0 sg=B.mr0[0:64]", "dereg_mr B.mr0", "of B.srq0 still"),
        (f"{_SHARED}; post_srq_recv B.srq0 sg=B.mr0[0:64]", "fill B.mr0[0:1]", "receive of B.srq0"),
        (
            "reset A.qp0; modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
            "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 min_rnr_timer=12 "
            "max_dest_rd_atomic=1 is_global=1 dgid=10.0.0.2 sgid_index=1 hop_limit=64 "
            "ah_attr.port_num=1 dlid=7",
            "dlid has no effect on RoCE",
        ),
        (
            "",
            "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:16] remote=B.mr0[0]",
            "an atomic moves 8 bytes, sg has 16. A real HCA accepts this now and fails later with "
            "IBV_WC_LOC_LEN_ERR",
        ),
        (
            "",
            "post_send A.qp0 opcode=ATOMIC_WRITE sg=A.mr0[0:8] remote=B.mr0[12]",
            "is no multiple of 8. A real HCA accepts this now and fails later with "
            "IBV_WC_REM_INV_REQ_ERR",
        ),
        ("", "post_send A.qp0 opcode=ATOMIC_WRITE sg=A.mr0[0:8] remote=B.mr0[16]", ""),
    ],
)
def test_warnings(setup: str, line: str, warning: str) -> None:
    printed = Prompt("use rc_pair", *([setup] if setup else []), width=200).ask(line)
    found = [row for row in printed if row.startswith("warning: ")]
    assert (warning in found[0]) if warning else not found


_WRONG = {
    "range": ("", "{node}.mr0[4000:4100]"),
    "key": ("", "{{addr=0x10 length=100 lkey=0xdead}}"),
    "domain": (
        "alloc_pd {node}.pd1; reg_mr {node}.mr1 pd={node}.pd1 length=100 access=LOCAL_WRITE",
        "{node}.mr1[0:100]",
    ),
    "right": ("reg_mr {node}.mr1 pd={node}.pd0 length=100 access=0", "{node}.mr1[0:100]"),
    "domain and range": (
        "alloc_pd {node}.pd1; reg_mr {node}.mr1 pd={node}.pd1 length=100 access=LOCAL_WRITE",
        "{node}.mr1[0:101]",
    ),
}


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
@pytest.mark.parametrize("wrong", _WRONG)
@pytest.mark.parametrize("work", ["SEND", "RDMA_READ", "receive", "shared receive"])
def test_the_status_that_is_warned_of_is_the_status_that_comes(
    work: str, wrong: str, profile: str
) -> None:
    node = "B" if "receive" in work else "A"
    setup, sg = (text.format(node=node) for text in _WRONG[wrong])
    template = "srq_pair" if work == "shared receive" else "rc_pair"
    prompt = Prompt(f"use {template}", setup, width=200, profile=profile)
    send = "post_send A.qp0 wr_id=1 flags=SIGNALED opcode="
    if node == "B":
        post = "post_srq_recv B.srq0" if work == "shared receive" else "post_recv B.qp0"
        warned = prompt.warned(f"{post} sg={sg}")
        prompt.ask(f"{send}SEND sg=A.mr0[0:100]")
    else:
        prompt.ask("post_recv B.qp0 sg=B.mr0")
        remote = " remote=B.mr0" if work == "RDMA_READ" else ""
        warned = prompt.warned(f"{send}{work} sg={sg}{remote}")
    prompt.ask("run")
    status = prompt.lab.look(f"{node}.cq0.last.status").name
    later = re.findall(r"fails later with IBV_WC_(\w+)", " ".join(warned))
    assert (later or ["SUCCESS"]) == [status]


# --------------------------------------------------------------------------- by statement


@covers("S068")
def test_a_read_into_overlapping_pieces() -> None:
    read = "post_send A.qp0 opcode=RDMA_READ remote=B.mr0 sg=A.mr0[0:8],A.mr0[{}:16]"
    prompt = Prompt("use rc_pair", width=200)
    assert prompt.warned(read.format(8)) == []
    (warning,) = prompt.warned(read.format(7))
    assert "what their bytes hold in the end is undefined" in warning


@covers("S075")
def test_a_send_buffer_that_changes_while_the_request_is_outstanding() -> None:
    """The peer sees a mix: what had left before the change, and what left after it."""
    fill, change = "fill A.mr0[0:1024] 0x61", "fill A.mr0[0:1024] 0x62"
    send = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:1024] remote=B.mr0 flags=SIGNALED"
    prompt = Prompt("use rc_pair", fill, send, "until wire.count() == 1", width=200)
    (warning,) = prompt.warned(change)
    assert "belong to the HCA until wr1 of A.qp0 completes" in warning
    prompt.ask("run")
    assert prompt.lab.look('B.mr0[0:4] == "aaaa" and B.mr0[512:516] == "bbbb"')
    assert prompt.warned(fill) == []


def test_a_wr_id_that_is_a_pointer_has_its_one_spelling() -> None:
    send = "post_send A.qp0 wr_id=1431633920 opcode=RDMA_WRITE sg=A.mr0[0:1024] remote=B.mr0"
    prompt = Prompt("use rc_pair", send, "until wire.count() == 1", width=200)
    (warning,) = prompt.warned("fill A.mr0[0:1024] 0x62")
    assert "until wr0x55550000 of A.qp0 completes" in warning
    (warning,) = prompt.warned("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=FENCE")
    assert "wr0x55550000" in warning


@covers("S076", "S190")
@pytest.mark.parametrize("queue", ["qp0", "srq0"])
def test_a_receive_buffer_that_is_read_too_early(queue: str) -> None:
    verb = "post_recv" if queue == "qp0" else "post_srq_recv"
    prompt = Prompt("use rc_pair", _SHARED, width=200)
    assert prompt.warned("read B.mr0[0:64]") == []
    prompt.ask(f"{verb} B.{queue} wr_id=1 sg=B.mr0[0:64]")
    (warning,) = prompt.warned("read B.mr0[60:70]")
    assert f"bytes 0:64 are a posted receive of B.{queue}: do not read yet." in warning
    assert prompt.warned("read B.mr0[64:70]") == []


@covers("S138")
@pytest.mark.parametrize(("place", "warned"), [("B.mr0[64:72]", True), ("B.mr0[72:80]", False)])
def test_a_cpu_that_writes_between_two_atomics(place: str, warned: bool) -> None:
    add = "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[64] compare_add=1"
    prompt = Prompt("use rc_pair", add, "run", width=200)
    found = prompt.warned(f'write {place} "12345678"')
    assert [("through the HCA only" in row) for row in found] == [True] * warned


@covers("S188")
def test_a_shared_receive_whose_pieces_overlap() -> None:
    post = "post_srq_recv B.srq0 sg=B.mr0[0:8],B.mr0[{}:16]"
    prompt = Prompt("use rc_pair", _SHARED, width=200)
    assert prompt.warned(post.format(8)) == []
    (warning,) = prompt.warned(post.format(7))
    assert "what their bytes hold in the end is undefined" in warning


def test_warning_of_arming_a_cq_that_has_completions() -> None:
    """What lies there already raises nothing; a queue that is empty is armed without a word."""
    prompt = Prompt("use rc_pair channel=1", "post_recv B.qp0 wr={wr_id=1} wr={wr_id=2}", width=200)
    assert len(prompt.ask("req_notify_cq B.cq0")) == 1
    prompt.ask("post_send A.qp0 wr={opcode=SEND} wr={opcode=SEND}", "run")
    (_, warning) = prompt.ask("req_notify_cq B.cq0")
    assert warning.startswith("warning: 2 completions are already in B.cq0")


def test_a_queue_of_unsignaled_work_is_warned_of_before_it_is_full() -> None:
    prompt = Prompt("use rc_pair max_send_wr=4", width=200)
    printed = [prompt.ask("post_send A.qp0 opcode=SEND") for _ in range(4)]
    assert [len(rows) for rows in printed] == [1, 1, 2, 2]
    assert "signal the next one" in printed[2][1]
    assert "no completion will free them" in printed[3][1]


_EX = "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"


@pytest.mark.parametrize(
    ("lines", "warning"),
    [
        (("wr_start A.qx0", "wr_rdma_write A.qx0 remote=B.mr0"), "in C this would crash: wr_rdma"),
        (("wr_set A.qx0 wr_flags=INLINE",), "INLINE in wr_flags does nothing"),
        (("wr_complete A.qx0",), "was not between wr_start and wr_complete"),
        (("wr_start A.qx0", "wr_send A.qx0"), ""),
    ],
)
def test_warnings_of_functions_that_return_none(lines: tuple[str, ...], warning: str) -> None:
    printed = Prompt("use rc_pair cqe=64", _EX, width=200).ask(*lines)
    found = [row for row in printed if row.startswith("warning: ")]
    assert (warning in found[0]) if warning else not found


def test_threads_without_a_lock() -> None:
    domain = ("alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0")
    prompt = Prompt(
        "use rc_pair", *domain, _EX.replace("A.pd0", "A.pd1"), "wr_start A.qx0", width=200
    )
    printed = prompt.ask("wr_start A.qx0 thread=2")
    assert any("A.qx0 has no lock: two threads write over" in row for row in printed)


def test_timeout_and_depth_of_zero() -> None:
    prompt = Prompt("use rc_pair timeout=0 max_rd_atomic=0 max_dest_rd_atomic=0", width=200)
    printed = prompt.ask("post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0")
    assert any("never starts a READ" in row for row in printed)


def test_rearm_without_an_alternate_path() -> None:
    prompt = Prompt("use rc_pair link_layer=InfiniBand", width=200)
    (warning,) = prompt.warned("modify_qp A.qp0 path_mig_state=REARM")
    assert "no alternate path is loaded" in warning
    alternate = "alt_ah=A alt_pkey_index=0 alt_port_num=1 alt_timeout=8"
    assert prompt.warned(f"modify_qp B.qp0 {alternate} path_mig_state=REARM") == []


def test_warning_of_an_xrc_send_without_remote_srqn() -> None:
    prompt = Prompt("use xrc_pair", width=200)
    send = "post_send A.qp0 wr_id=1 opcode=SEND flags=SIGNALED sg=A.mr0[0:8]"
    named = prompt.ask(f"{send} remote_srqn=B.srq0", "post_srq_recv B.srq0 sg=B.mr0", "run")
    assert not any("remote_srqn is 0" in row for row in named)
    assert any("remote_srqn is 0" in row for row in prompt.ask(send))
    printed = prompt.ask("run", "poll_cq A.cq0 8")
    assert any("REM_INV_REQ_ERR" in row for row in printed)
    assert not any("remote_srqn is 0" in row for row in prompt.ask(send))  # flushed, says another


def test_warnings_change_nothing() -> None:
    prompt = Prompt("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:5000]")
    assert prompt.lab.look("B.qp0.rq.used") == 1


def test_warning_of_bind_mw_to_an_mr_without_mw_bind() -> None:
    prompt = Prompt("use rc_pair", "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1", width=200)
    bind = "bind_mw B.qp0 B.mw0 bind=B.mr0[0:64] bind_access=REMOTE_WRITE"
    found = [row for row in prompt.ask(bind) if row.startswith("warning: ")]
    assert found[0].startswith("warning: B.mr0 lacks MW_BIND")
    (line,) = [row[9:].removesuffix(" allows it.") for row in found if "rereg_mr" in row]
    prompt.ask("run", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0", line)
    assert not any(row.startswith("warning: ") for row in prompt.ask(bind))
    prompt.ask("run")
    assert prompt.lab.look("B.mw0.state == BOUND")


@pytest.mark.parametrize(("length", "warned"), [(40, True), (41, False)])
def test_a_receive_for_datagrams_has_room_for_the_header(length: int, warned: bool) -> None:
    printed = Prompt("use ud_pair").ask(f"post_recv B.qp0 sg=B.mr0[0:{length}]")
    assert any("40 bytes are for the header" in row for row in printed) is warned


def test_receives_of_a_shared_queue_belong_to_the_hca_too() -> None:
    prompt = Prompt("use srq_pair", "post_srq_recv B.srq0 sg=B.mr0[0:64]", width=200)
    assert any("a receive of B.srq0 is posted" in row for row in prompt.ask('write B.mr0[8:9] "x"'))
    assert not any("receive of" in row for row in prompt.ask('write B.mr0[64:65] "x"'))


def test_no_warning_for_a_write_after_the_frame_arrived() -> None:
    prompt = Prompt(
        "use raw_pair", 'write A.mr0[0:14] "\\x02\\0\\x0a\\0\\0\\x02\\x02\\0\\x0a\\0\\0\\x01zz"'
    )
    prompt.ask(
        "post_recv B.qp0 sg=B.mr0[0:200]", "post_send A.qp0 opcode=SEND sg=A.mr0[0:60]", "run"
    )
    assert prompt.lab.look("B.cq0.next.status == SUCCESS")
    assert len(prompt.ask('write B.mr0[8:9] "x"')) == 1


@covers("S076")
@pytest.mark.parametrize("verb", ["read", "hexdump"])
@pytest.mark.parametrize(
    "work", ["RDMA_READ remote=B.mr0", "ATOMIC_FETCH_AND_ADD remote=B.mr0 compare_add=1"]
)
def test_the_buffer_of_an_outstanding_read_is_not_read_yet(verb: str, work: str) -> None:
    prompt = Prompt(
        "use rc_pair", f"post_send A.qp0 wr_id=2 opcode={work} sg=A.mr0[8:16]", width=200
    )
    (warning,) = prompt.warned(f"{verb} A.mr0[0:16]")
    assert "bytes 8:16 are written by wr2 of A.qp0: do not read before it completes." in warning
    assert prompt.warned(f"{verb} A.mr0[0:8]") == []
    prompt.ask("run")
    assert prompt.warned(f"{verb} A.mr0[0:16]") == []


def test_the_buffer_of_an_outstanding_write_may_be_read() -> None:
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0"
    assert Prompt("use rc_pair", write, width=200).warned("read A.mr0[0:8]") == []


@pytest.mark.parametrize(
    "line",
    ["post_recv B.qp0 {} {} {}", "post_srq_recv B.srq0 {} {} {}", "post_send A.qp0 {} {} {}"],
)
def test_a_list_that_ends_early_posts_no_more(line: str) -> None:
    is_shared, is_send = "srq" in line, "send" in line
    prompt = Prompt("use srq_pair" if is_shared else "use rc_pair", width=200)
    more = "opcode=SEND sg=A.mr0[0:4]" if is_send else "sg=B.mr0[0:4]"
    wrs = [f"wr={{wr_id={n} {more}{' next=NULL' * (n == 2)}}}" for n in (1, 2, 3)]
    assert prompt.warned(line.format(*wrs)) == [
        "warning: next=NULL in wr 1 ends the list: the request after it is not posted."
    ]
    node = prompt.lab.session.world.nodes["A" if is_send else "B"]
    qp = next(iter(node.qps.items.values()))
    posted = qp.sq.wqes.values() if is_send else qp.rq.wqes
    if is_shared:
        posted = next(iter(node.srqs.items.values())).wqes
    assert [wqe.wr.wr_id for wqe in posted] == [1, 2]


def test_no_warning_for_next_null_in_the_last_wr() -> None:
    prompt = Prompt("use rc_pair", width=200)
    assert not prompt.warned("post_recv B.qp0 wr={wr_id=1} wr={wr_id=2 next=NULL}")


@pytest.mark.parametrize(("state", "name"), [("RTR", "rq_psn"), ("RTS", "sq_psn")])
def test_warning_of_a_psn_over_24_bits(state: str, name: str) -> None:
    prompt = Prompt("use rc_pair", "modify_qp A.qp0 state=RESET", width=200)
    prompt.ask("modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0")
    lines = {
        "RTR": "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 min_rnr_timer=12 "
        "max_dest_rd_atomic=1 ah=B rq_psn=",
        "RTS": "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 max_rd_atomic=1 "
        "sq_psn=",
    }
    if state == "RTS":
        assert not prompt.warned(lines["RTR"] + "0xffffff")
    assert prompt.warned(lines[state] + "0x1000005") == [
        f"warning: {name}=0x1000005: the kernel keeps the low 24 bits, 0x5."
    ]


def test_warning_of_a_remote_qpn_over_24_bits() -> None:
    prompt = Prompt("use ud_pair", width=200)
    line = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qkey=0x11111111"
    text = "packets carry the low 24 bits, 0x11."
    assert any(text in row for row in prompt.ask(f"{line} remote_qpn=0x1000011"))
    assert not any("24 bits" in row for row in prompt.ask(f"{line} remote_qpn=0xffffff"))


def test_warning_of_a_dest_qp_num_over_24_bits_where_it_is_stored() -> None:
    lab = Lab(profile="rxe")
    up = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"
    for line in ("use rc_pair", "reset A.qp0", up):
        well(lab, line)
    answer = well(
        lab,
        "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=0x1000011 rq_psn=0 "
        "max_dest_rd_atomic=1 min_rnr_timer=12 ah=B",
    )
    text = "dest_qp_num=0x1000011: packets carry the low 24 bits, 0x11."
    assert text in warnings(lab.session, answer)


@pytest.mark.parametrize(
    ("profile", "builder", "expected"),
    [
        ("strict", "wr_rdma_read", "takes no inline data. wr_complete will refuse the whole batch"),
        ("rxe", "wr_rdma_read", "This device accepts it, and the request fails later."),
        ("strict", "wr_rdma_write", ""),
    ],
)
def test_warning_of_inline_data_for_a_read(profile: str, builder: str, expected: str) -> None:
    ops = "send_ops_flags=RDMA_READ|RDMA_WRITE max_inline_data=64"
    new = f"create_qp_ex A.x pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 {ops}"
    lab = Lab(profile=profile)
    for line in ("use rc_pair", new, "reset B.qp0", "connect A.x B.qp0", "wr_start A.x",
                 f"{builder} A.x rkey=B.mr0 remote_addr=B.mr0"):  # fmt: skip
        well(lab, line)
    text = " ".join(warnings(lab.session, well(lab, "wr_set_inline_data A.x buf=A.mr0[0:8]")))
    assert expected in text
    assert bool(expected) is bool(text)
