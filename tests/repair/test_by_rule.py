import pytest

from rdmalab.command import Noun
from tests.shell.prompts import TRANSCRIPTS, Prompt, sections
from tests.shell.test_error_text import RESET, SETUPS


@pytest.mark.parametrize("title", [t for t, _ in sections(TRANSCRIPTS / "mistakes.txt")])
def test_what_is_suggested_is_never_refused(title: str) -> None:
    """Each `try:` is tried, in the very situation it was said in."""
    typed = dict(sections(TRANSCRIPTS / "mistakes.txt"))[title]
    setup = SETUPS.get(title, RESET[:1])
    for count in range(1, len(typed) + 1):
        prompt = Prompt(*setup, *typed[: count - 1], width=400)
        tries = [row for row in prompt.ask(typed[count - 1]) if "try: " in row]
        for row in tries:
            printed = prompt.ask(row.partition("try: ")[2])
            assert not any(answer.startswith(("error:", "not understood")) for answer in printed), (
                printed
            )


_SECOND = "use rc_pair", "use rc_pair", "reset A.qp1"


@pytest.mark.parametrize(
    ("setup", "remedy", "of_why"),
    [(_SECOND, "to_rts A.qp1 B.qp1", "to_rts A.qp1 B.qp1"),
     (("use rc_pair", "use xrc_pair", "use ud_pair", "reset A.qp2"), "to_rts A.qp2 B.qp2",
      "modify_qp A.qp2 state=INIT")],
)  # fmt: skip
def test_a_queue_pair_is_brought_up_with_its_own_peer(
    setup: tuple[str, ...], remedy: str, of_why: str
) -> None:
    """The prompt and the doctor name the same one, not the first queue pair of the other node."""
    prompt = Prompt(*setup, width=200)
    name = remedy.split()[1]
    printed = prompt.ask(f"post_send {name} opcode=SEND sg={{addr=0x1 length=1 lkey=1}}")
    assert [row.partition("try: ")[2] for row in printed if "try: " in row] == [remedy]
    assert of_why in "\n".join(prompt.ask("why"))


_WAITS = (
    ((), "req_notify_cq B.cq0"),
    (("req_notify_cq B.cq0",), ""),
    (("req_notify_cq B.cq0", "post_send A.qp0 opcode=SEND"), "run"),
    (("post_send A.qp0 opcode=SEND", "run", "req_notify_cq B.cq0"), "poll_cq B.cq0 num_entries=1"),
)


@pytest.mark.parametrize(("setup", "remedy"), _WAITS)
def test_a_wait_that_would_block(setup: tuple[str, ...], remedy: str) -> None:
    prompt = Prompt("use rc_pair channel=1", "post_recv B.qp0", *setup, width=200)
    printed = [row for row in prompt.ask("get_cq_event B.ch0") if "try: " in row]
    assert [row.partition("try: ")[2] for row in printed] == ([remedy] if remedy else [])


def test_what_blocks_a_destruction_is_named() -> None:
    """From one `try:` to the next, and back to the beginning, until the channel is gone."""
    prompt = Prompt("use rc_pair channel=1", "post_recv B.qp0", "req_notify_cq B.cq0", width=200)
    prompt.ask("post_send A.qp0 opcode=SEND", "run", "get_cq_event B.ch0")
    followed, line = list[str](), "destroy_comp_channel B.ch0"
    while len(followed) < 20 and "B.ch0" in prompt.lab.session.names.all(Noun.CHANNEL):
        tries = [row.partition("try: ")[2] for row in prompt.ask(line) if "try: " in row]
        line = tries[0] if tries else "destroy_comp_channel B.ch0"
        followed.append(line)
    assert [line for line in followed if "channel" not in line] == [
        "destroy_cq B.cq0", "destroy_qp B.qp0",
        "destroy_cq B.cq0", "ack_cq_events B.cq0 nevents=1",
        "destroy_cq B.cq0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("setup", "line", "remedy"),
    [
        ("post_send A.qp0 opcode=SEND flags=SIGNALED", "post_send A.qp0 opcode=SEND", "try: run"),
        ("run 1us", "post_recv A.qp0", "try: "),
    ],
)
def test_a_full_queue(setup: str, line: str, remedy: str) -> None:
    prompt = Prompt("use rc_pair max_send_wr=1 max_recv_wr=1", setup, "post_recv A.qp0")
    assert any(remedy in row for row in prompt.ask(line))


def test_a_receive_for_a_queue_pair_on_an_srq() -> None:
    create = "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq0"
    prompt = Prompt("use rc_pair", "create_srq B.srq0 pd=B.pd0 max_wr=1", create)
    printed = prompt.ask("post_recv B.qp1 wr_id=1 sg=B.mr0[0:8]")
    assert "try: post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:8]" in "\n".join(printed)
    assert any("try: destroy_qp B.qp1" in row for row in prompt.ask("destroy_srq B.srq0"))


def test_a_full_shared_queue() -> None:
    create = "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq0"
    ends = "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
    lines = ("create_srq B.srq0 pd=B.pd0 max_wr=1", ends, create, "connect A.qp1 B.qp1")
    prompt = Prompt("use rc_pair", *lines, "post_srq_recv B.srq0")
    assert any("try: show B.srq0" in row for row in prompt.ask("post_srq_recv B.srq0"))
    prompt.ask("post_send A.qp1 opcode=SEND", "run")
    assert any("try: poll_cq B.cq0" in row for row in prompt.ask("post_srq_recv B.srq0"))


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("attr_mask=STATE pkey_index=0 port_num=1 qp_access_flags=0", "STATE|ACCESS_FLAGS"),
        ("attr_mask=STATE|PORT port_num=1", "STATE|ACCESS_FLAGS|PKEY_INDEX|PORT"),
    ],
)
def test_a_mask_with_too_few_bits_is_completed(text: str, mask: str) -> None:
    new = "create_qp A.q pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
    prompt = Prompt("use rc_pair", new, width=300)
    rows = [row for row in prompt.ask(f"modify_qp A.q state=INIT {text}") if "try: " in row]
    assert f"attr_mask={mask}" in rows[0]
    assert not any(row.startswith("error") for row in prompt.ask(rows[0].partition("try: ")[2]))


_SILENT = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"


def test_a_queue_of_unsignaled_requests_is_not_freed_by_a_run() -> None:
    prompt = Prompt("use rc_pair max_send_wr=2", _SILENT, _SILENT, width=200)
    printed = prompt.ask(_SILENT)
    assert any("no request in it is signaled: no completion frees a slot" in row for row in printed)
    assert not any("try: " in row or "when a CQE" in row for row in printed)
    prompt = Prompt("use rc_pair max_send_wr=2", _SILENT, f"{_SILENT} flags=SIGNALED", width=200)
    assert any("try: run" in row for row in prompt.ask(_SILENT))


_BATCH = (
    "create_qp_ex A.x pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND "
    "max_send_wr=1",
    "reset B.qp0", "connect A.x B.qp0", "wr_start A.x", "wr_send A.x", "wr_send A.x",
)  # fmt: skip
_THREE = "wr={wr_id=1} wr={wr_id=2} wr={wr_id=3}"
_SENDS = _THREE.replace("wr_id", "opcode=SEND wr_id")


@pytest.mark.parametrize(
    ("setup", "line", "never"),
    [
        (_BATCH, "wr_complete A.x", "2 work requests never fit into 1 slots"),
        ((), f"post_send A.qp0 {_SENDS}", "3 work requests never fit into 1 slots"),
        ((), f"post_recv A.qp0 {_THREE}", "3 work requests never fit into 1 slots"),
        (("create_srq B.srq0 pd=B.pd0 max_wr=2",), f"post_srq_recv B.srq0 {_THREE}",
         "3 work requests never fit into 2 slots"),
    ],
)  # fmt: skip
def test_what_never_fits_is_not_to_be_tried_again(
    setup: tuple[str, ...], line: str, never: str
) -> None:
    prompt = Prompt("use rc_pair max_send_wr=1 max_recv_wr=1", *setup, width=200)
    printed = prompt.ask(line)
    assert any(never in row for row in printed)
    assert not any("try: " in row or "slots come back" in row for row in printed)


@pytest.mark.parametrize("line", ["post_send A.qp0 opcode=SEND", "post_recv A.qp0 wr_id=1"])
def test_a_queue_without_a_slot_is_to_be_made_again(line: str) -> None:
    prompt = Prompt("use rc_pair max_send_wr=0 max_recv_wr=0", width=200)
    assert any("a queue that create_qp gave slots" in row for row in prompt.ask(line))
    assert any("REFUSED" in row for row in prompt.ask("why"))


def test_suggestion_for_a_list_that_never_fits_names_what_stays_posted() -> None:
    prompt = Prompt("use rc_pair max_send_wr=2 max_recv_wr=1", "run 1us", width=200)
    fits = "3 work requests never fit into 2 slots"
    printed = prompt.ask(f"post_send A.qp0 {_SENDS}")
    assert f"  {fits}: 2 stay posted, post the other 1 when slots are free" in printed
    printed = prompt.ask(f"post_send A.qp0 {_SENDS}")
    assert f"  {fits}: post fewer at once" in printed


@pytest.mark.parametrize(
    ("pair", "line"),
    [
        ("use rc_pair", "modify_qp A.qp0 path_mtu=256"),
        ("use rc_pair", "modify_qp A.qp0 timeout=5"),
        ("use rc_pair", "modify_qp A.qp0 state=RTS cur_qp_state=RTS timeout=5"),
        ("use ud_pair", "modify_qp A.qp0 state=RTS qp_access_flags=0"),
    ],
)
def test_a_line_that_would_change_nothing_is_not_offered(pair: str, line: str) -> None:
    printed = Prompt(pair, width=200).ask(line)
    assert printed[0].startswith("error: modify_qp returned EINVAL")
    assert not any("try: " in row for row in printed)


@pytest.mark.parametrize(
    ("pair", "line", "kept"),
    [
        ("use rc_pair", "timeout=5 min_rnr_timer=3", "min_rnr_timer=3"),
        ("use rc_pair", "state=ERR timeout=5", "state=ERR"),
    ],
)
def test_what_the_move_takes_is_still_offered(pair: str, line: str, kept: str) -> None:
    printed = Prompt(pair, width=200).ask(f"modify_qp A.qp0 {line}")
    assert f"  try: modify_qp A.qp0 {kept}" in printed


UD = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"
PARTS = "pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
EX = f"create_qp_ex A.qx0 {PARTS} send_ops_flags=SEND"
DGID = "create_ah A.ah1 pd=A.pd0 dgid="
WINDOW = (
    "use rc_pair",
    "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
    "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1",
    "bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE",
    "run",
)
ADDRESS = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"
MAPPED = "::ffff:10.0.0.2"
ROUTE = "is_global=1 sgid_index=1 port_num=1 hop_limit=64"

CASES = [
    (("use ud_pair",), UD, f"{UD} {ADDRESS}"),
    (("use ud_pair", "destroy_ah A.ah0"), UD, "create_ah A.ah0 pd=A.pd0 to=B"),
    (("use ud_pair",), f"{DGID}{MAPPED}", f"{DGID}{MAPPED} {ROUTE}"),
    (("use ud_pair",), f"{DGID}{MAPPED} port_num=1 is_global=1",
     f"{DGID}{MAPPED} {ROUTE}"),
    (("use ud_pair",), f"{DGID}ff02::1 hop_limit=1",
     f"{DGID}ff02::1 hop_limit=1 is_global=1 sgid_index=0 port_num=1"),
    (("port B link_layer=InfiniBand", "alloc_pd A.pd0"), "create_ah A.ah1 pd=A.pd0 to=B", ""),
    (("use ud_pair",), "create_ah A.ah1 pd=A.pd0", "create_ah A.ah1 pd=A.pd0 to=B"),
    (("use rc_pair",), "create_qp A.qp5 pd=A.pd0 qp_type=RC",
     "create_qp A.qp5 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"),
    (("use rc_pair",), "create_qp B.qp5 qp_type=XRC_RECV", "open_xrcd B.xrcd0 oflag=O_CREAT"),
    (("use xrc_pair",), "create_qp B.qp5 qp_type=XRC_RECV",
     "create_qp B.qp5 qp_type=XRC_RECV xrcd=B.xrcd0"),
    (("use xrc_pair",), "create_srq_ex B.srq5 pd=B.pd0 srq_type=XRC max_wr=4",
     "create_srq_ex B.srq5 pd=B.pd0 srq_type=XRC max_wr=4 xrcd=B.xrcd0 cq=B.cq0"),
    (("use rc_pair",), "open_xrcd A.xrcd0", "open_xrcd A.xrcd0 oflag=O_CREAT"),
    (("use rc_pair",), "open_xrcd A.xrcd0 fd=7", "open_xrcd A.xrcd0 fd=7 oflag=O_CREAT"),
    (("use xrc_pair",), "post_recv B.qp0 sg=B.mr0[0:8]", "post_srq_recv B.srq0 sg=B.mr0[0:8]"),
    (("use xrc_pair",), "post_recv A.qp0 sg=A.mr0[0:8]", ""),
    (WINDOW, "dereg_mr B.mr1", "dealloc_mw B.mw0"),
    (("use rc_pair", EX), "wr_send A.qx0", "wr_start A.qx0"),
    (("use rc_pair", EX, "wr_start A.qx0"), "post_send A.qx0 opcode=SEND", "wr_abort A.qx0"),
    (("use rc_pair", EX, "reset B.qp0", "connect A.qx0 B.qp0", "wr_start A.qx0", "wr_send A.qx0"),
     "post_send A.qx0 opcode=SEND", "wr_complete A.qx0"),
    (("use rc_pair",), "wr_start A.qp0",
     "create_qp_ex A.qx0 qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"),
    (("use raw_pair",), "destroy_qp A.qp0", "destroy_flow A.flow0"),
    (("alloc_pd A.pd0", "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2"), "dealloc_pd A.pd0",
     "dealloc_mw A.mw0"),
    (("alloc_pd A.pd0", "alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0"),
     "dealloc_td A.td0", "dealloc_pd A.pd1"),
    (("alloc_pd A.pd0", "alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0"),
     "dealloc_pd A.pd0", "dealloc_pd A.pd1"),
    (("device_fatal A",), "alloc_pd A.pd0", "close_device A"),
    (("close_device A",), "alloc_pd A.pd0", "open_device A"),
]  # fmt: skip


@pytest.mark.parametrize(("setup", "line", "remedy"), CASES)
def test_the_line_to_try(setup: tuple[str, ...], line: str, remedy: str) -> None:
    prompt = Prompt(*setup, width=300)
    printed = prompt.ask(line)
    assert printed[0].startswith("error:"), printed
    tries = [row.partition("try: ")[2] for row in printed if "try: " in row]
    assert tries == ([remedy] if remedy else [])
    for row in tries:
        answer = prompt.ask(row)
        assert not any(part.startswith(("error:", "not understood")) for part in answer), answer


@pytest.mark.parametrize(
    ("line", "legal", "remedy"),
    [
        ("create_qp A.x pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0", "qp_type=RC, UC or UD",
         "create_qp A.x pd=A.pd0 send_cq=A.cq0 qp_type=RC recv_cq=A.cq0"),
        ("create_qp A.x pd=A.pd0 qp_type=RAW_PACKET send_cq=A.cq0 recv_cq=A.cq0",
         "qp_type=RC, UC or UD", ""),
        ("alloc_mw A.w pd=A.pd0 type=7", "type=TYPE_1 or TYPE_2",
         "alloc_mw A.w pd=A.pd0 type=TYPE_1"),
    ],
)  # fmt: skip
def test_of_several_legal_values_the_line_to_type_has_one(
    line: str, legal: str, remedy: str
) -> None:
    prompt = Prompt("use rc_pair", width=200, profile="rxe")
    printed = prompt.ask(line)
    assert any(row.strip() == legal for row in printed)
    tries = [row.partition("try: ")[2] for row in printed if "try: " in row]
    assert tries == ([remedy] if remedy else [])
    if remedy:
        assert prompt.ask(remedy)[0].startswith("ok ")
