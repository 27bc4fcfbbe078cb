import pytest

from rdmalab.shell.show import render_rows
from rdmalab.shell.styled_text import text_of
from rdmalab.workbench.show import View
from tests.shell.prompts import Prompt


def printed(prompt: Prompt, line: str) -> list[str]:
    view = prompt.lab.do(line)[-1].value
    assert isinstance(view, View)
    return [text_of(line).rstrip() for line in render_rows(view.rows, 80)]


def test_an_empty_receive_queue_alarms_when_a_message_needs_a_receive() -> None:
    prompt = Prompt("use rc_pair")
    for topic in ("show qp", "show B.qp0"):
        assert not any("!" in row for row in printed(prompt, topic))
    prompt.ask("post_send A.qp0 wr_id=1 opcode=SEND")
    for topic in ("show qp", "show B.qp0"):
        need = "B.qp0  ! no receive is posted: wr1 SEND 0 B of A.qp0 will need one"
        assert printed(prompt, topic)[-1] == need
    prompt.ask("post_recv B.qp0 sg=B.mr0[0:8]")
    assert "RQ ▪□□□□□□□ 1/8  1 waiting" in printed(prompt, "show B.qp0")
    assert not any("!" in row for row in printed(prompt, "show B.qp0"))


def test_a_request_that_failed_is_not_done_and_err_is_red() -> None:
    prompt = Prompt("use rc_pair rnr_retry=0", "post_send A.qp0 opcode=SEND wr_id=5", "run")
    assert "SQ ✗□□□□□□□ 1/8  1 failed" in printed(prompt, "show A.qp0")
    view = prompt.lab.do("show A.qp0")[-1].value
    assert isinstance(view, View)
    boxes = render_rows(view.rows, 80)[0]
    assert [style for style, text in boxes if text == "[ERR]"] == ["class:bad bold"]


def test_an_error_leaves_fields_undefined() -> None:
    prompt = Prompt("use rc_pair rnr_retry=0", "post_send A.qp0 opcode=SEND wr_id=5", "run")
    assert any(
        row.split()[:4] == ["5", "-", "✗", "RNR_RETRY_EXC_ERR"]
        for row in printed(prompt, "show cq")
    )


def test_a_queue_shows_done_and_not_given_back() -> None:
    prompt = Prompt("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:8]")
    prompt.ask("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] wr_id=1", "run")
    rows = printed(prompt, "show sq A.qp0")
    assert rows[0].strip() == "■□□□□□□□ 1/8  1 done"
    assert rows[1].split() == ["wr1", "SEND", "8", "B", "✓", "ACKED", "unsignaled", "psn", "0"]


def test_show_cq_has_arm_and_channel() -> None:
    prompt = Prompt("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0")

    def cq(name: str) -> str:
        return next(row for row in printed(prompt, "show cq") if row.startswith(name))

    assert cq("A.cq0").endswith("0 so far  not armed  channel: ch0")
    assert cq("B.cq0").endswith("0 so far  ARMED any  channel: ch0")
    prompt.ask("post_send A.qp0 opcode=SEND", "run")
    assert cq("B.cq0").endswith("not armed  channel: ch0  ! 1 event")
    prompt.ask("get_cq_event B.ch0")
    assert cq("B.cq0").endswith("not armed  channel: ch0  ! 1 unacked")


def test_an_open_region_is_seen_on_its_queue_pair() -> None:
    prompt = Prompt("use rc_pair", width=120)
    assert not any("send_ops_flags" in row for row in prompt.ask("show qp A.qp0"))
    prompt.ask(
        "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND",
        "wr_start A.qx0",
        "wr_send A.qx0",
    )
    printed = prompt.ask("show qp A.qx0")
    assert "send_ops_flags=SEND" in printed
    assert "wr_start … 1 built, not posted; thread 1 holds the lock" in printed
    prompt.ask("wr_rdma_write A.qx0 remote=B.mr0")
    assert any("wr_complete will return crash-builder" in r for r in prompt.ask("show qp A.qx0"))


@pytest.mark.parametrize(
    ("pair", "qp", "there", "not_there"),
    [
        ("ud_pair", "A.qp0", ["each datagram says its destination"], ["timeout", "expects"]),
        ("raw_pair", "A.qp0", ["each frame says its destination"], ["psn", "qkey", "timeout"]),
        ("uc_pair", "A.qp0", ["→ B.qp0", "psn: next WR 0"], ["timeout", "unacked"]),
        ("xrc_pair", "A.qp0", ["SQ □□□□□□□□ 0/8", "retry_cnt=7"], ["RQ", "min_rnr_timer"]),
        ("xrc_pair", "B.qp0", ["RQ → the SRQs of B.xrcd0", "min_rnr_timer=12"],
         ["SQ ", "FULL", "retry_cnt", "sq_sig_all", "next WR"]),
    ],
)  # fmt: skip
def test_show_qp_has_only_fields_of_its_type(
    pair: str, qp: str, there: list[str], not_there: list[str]
) -> None:
    text = "\n".join(printed(Prompt(f"use {pair}"), f"show {qp}")[2:])  # behind the states
    assert [words for words in there if words not in text] == []
    assert [words for words in not_there if words in text] == []


def test_the_overview_of_all_types_fits_into_80_columns() -> None:
    prompt = Prompt(*(f"use {what}_pair" for what in ("rc", "uc", "ud", "raw", "srq", "xrc")))
    rows = printed(prompt, "show qp")
    assert len(rows) == 14
    assert max(map(len, rows)) <= 80
    assert [row.split()[-1] for row in rows if row.startswith("A.qp6")] == ["0/8"]  # no RQ


_SENDS = "post_send {} opcode=SEND sg=A.mr0[0:8]"


def test_show_srq_has_receives_and_its_qps() -> None:
    prompt = Prompt("use srq_pair")
    assert printed(prompt, "show srq") == ["B.srq0  SRQ □□□□□□□□ 0/8  empty  0x31  2 QPs on it"]
    prompt.ask("checkpoint begin", _SENDS.format("A.qp0"), "run 3us")
    assert printed(prompt, "show B.srq0")[-1].startswith(
        "B.qp0  ! no receive is posted: a message found"
    )
    prompt.ask("goto @begin")
    prompt.ask(*(f"post_srq_recv B.srq0 wr_id={n} sg=B.mr0[0:64]" for n in (1, 2, 3)))
    prompt.ask(_SENDS.format("A.qp1"), "run", "modify_srq B.srq0 srq_limit=1")
    first, taken, *waiting = printed(prompt, "show B.srq0")
    assert first.startswith("B.srq0  SRQ ■▪▪□□□□□ 3/8  1 taken  2 posted  limit 1 armed")
    assert taken.split()[:8] == ["wr1", "RECV", "64", "B", "taken", "by", "B.qp1", "ev"]
    assert [row.split()[-1] for row in waiting] == ["waits", "waits"]


def test_an_xrc_queue_says_its_domain() -> None:
    (row,) = printed(Prompt("use xrc_pair"), "show srq")
    assert row.startswith("B.srq0  SRQ □□□□□□□□ 0/8  XRC")
    assert row.endswith("in B.xrcd0")


def test_show_mw_has_its_binding() -> None:
    bind = "bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE"
    reg = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND"
    prompt = Prompt("use rc_pair", reg, "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1")
    (free,) = printed(prompt, "show mw")
    assert free.split()[:3] == ["B.mw0", "TYPE_1", "FREE"]
    assert "mr" not in free
    prompt.ask(bind, "run")
    (bound,) = printed(prompt, "show mw")
    assert bound.split()[2] == "BOUND"
    assert bound.endswith("B.mr1[8:64]  REMOTE_WRITE")


def test_show_channel_has_waiting_and_unacked_events() -> None:
    prompt = Prompt("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0")
    assert printed(prompt, "show B.ch0") == ["B.ch0  0 events wait  0 unacked  of B.cq0"]
    prompt.ask("post_send A.qp0 opcode=SEND", "run")
    assert printed(prompt, "show B.ch0") == ["B.ch0  ! 1 event waits  0 unacked  of B.cq0"]
    prompt.ask("get_cq_event B.ch0")
    assert printed(prompt, "show B.ch0") == ["B.ch0  0 events wait  ! 1 unacked  of B.cq0"]
