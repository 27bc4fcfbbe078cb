from rdmalab.shell.show_parts import way
from tests.shell.talk import Talk
from tests.shell.test_show_objects import said

SEND = "post_send {} opcode=SEND sg=A.mr0[0:8]"


def test_an_srq_tells_what_waits_and_who_took_what() -> None:
    talk = Talk("use srq_pair")
    assert said(talk, "show srq") == ["B.srq0  SRQ □□□□□□□□ 0/8  ! EMPTY  0x31, 2 QPs on it"]
    talk.ask(*(f"post_srq_recv B.srq0 wr_id={n} sg=B.mr0[0:64]" for n in (1, 2, 3)))
    talk.ask(SEND.format("A.qp1"), "run", "modify_srq B.srq0 srq_limit=1")
    first, taken, *waiting = said(talk, "show B.srq0")
    assert first.startswith("B.srq0  SRQ ■▪▪□□□□□ 3/8  1 taken, 2 posted  limit 1 armed")
    assert taken.split()[:8] == ["wr1", "RECV", "64", "B", "taken", "by", "B.qp1", "ev"]
    assert [row.split()[-1] for row in waiting] == ["waits", "waits"]


def test_an_xrc_queue_says_its_domain() -> None:
    (row,) = said(Talk("use xrc_pair"), "show srq")
    assert row.startswith("B.srq0  XRC SRQ □□□□□□□□ 0/8")
    assert row.endswith("in B.xrcd0")


def test_a_window_tells_what_it_opens() -> None:
    bind = "bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE"
    reg = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND"
    talk = Talk("use rc_pair", reg, "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1")
    (free,) = said(talk, "show mw")
    assert free.split()[:3] == ["B.mw0", "TYPE_1", "FREE"]
    assert "mr" not in free
    talk.ask(bind, "run")
    (bound,) = said(talk, "show mw")
    assert bound.split()[2] == "BOUND"
    assert bound.endswith("B.mr1[8:64]  REMOTE_WRITE")


def test_a_channel_tells_what_waits_in_it() -> None:
    talk = Talk("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0")
    assert said(talk, "show B.ch0") == ["B.ch0  0 events wait  0 unacked  of B.cq0"]
    talk.ask("post_send A.qp0 opcode=SEND", "run")
    assert said(talk, "show B.ch0") == ["B.ch0  1 event waits  0 unacked  of B.cq0"]
    talk.ask("get_cq_event B.ch0")
    assert said(talk, "show B.ch0") == ["B.ch0  0 events wait  1 unacked  of B.cq0"]


def test_a_way_in_a_few_words() -> None:
    talk = Talk("use ud_pair", "create_ah A.ah1 pd=A.pd0 port_num=1 is_global=1 sgid_index=1 "
                "dgid=224.0.0.9", "use raw_pair")  # fmt: skip
    rows = [*talk.lab.do("show ah")[-1].value.rows, *talk.lab.do("show flow")[-1].value.rows]
    assert [way(row) for row in rows if row.node == "A"] == [
        "ah0 → B", "ah1 → 224.0.0.9", "flow2 dst_mac=02:00:0a:00:00:01 → qp2",
    ]  # fmt: skip
