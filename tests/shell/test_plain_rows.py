from rdmalab.shell.value_text import facts
from rdmalab.workbench.show import View
from tests.shell.prompts import Prompt


def printed(prompt: Prompt, line: str) -> list[str]:
    view = prompt.lab.do(line)[-1].value
    assert isinstance(view, View)
    return [fact for row in view.rows for fact in facts(row)]


def test_a_pair_in_sentences() -> None:
    prompt = Prompt("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "step")
    found = printed(prompt, "show A.qp0")
    assert "state RTS" in found
    assert "A.qp0 is RC 0x11 in RTS, its peer is B.qp0 (0x11)" in found
    assert "A.qp0 send queue: 1 of 8 slots used, 1 in progress" in found
    assert printed(prompt, "show link")[0].startswith("the link is up, latency 1 us, rate 100Gbps")
    assert printed(prompt, "show A.mr0[0:8]")[0].startswith("A.mr0, 4096 B, at 0x10000000, lkey 0x")
    assert printed(prompt, "show counters")[0] == "A sent_pkts 1"


def test_an_open_region_is_a_fact() -> None:
    prompt = Prompt("use rc_pair", plain=True)
    ex = "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    prompt.ask(ex, "wr_start A.qx0", "wr_send A.qx0")
    printed = prompt.ask("show qp A.qx0")
    assert any("A.qx0 critical region: 1 built, not posted" in row for row in printed)


def test_a_queue_that_a_type_has_not_is_not_spoken_of() -> None:
    prompt = Prompt("use xrc_pair", width=200, plain=True)
    sender, receiver = (" ".join(prompt.ask(f"show {node}.qp0")) for node in "AB")
    assert "send queue" in sender
    assert "receive" not in sender
    assert "send queue" not in receiver
    assert "uses the receives of the SRQs of B.xrcd0" in receiver


def test_a_window_in_a_sentence() -> None:
    reg = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND"
    make = "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1"
    prompt = Prompt("use rc_pair", reg, make, width=200, plain=True)
    assert "B.mw0, TYPE_1, FREE" in prompt.ask("show mw")[-1]
    prompt.ask("bind_mw B.qp0 B.mw0 bind=B.mr1[8:64] bind_access=REMOTE_WRITE", "run")
    assert "B.mr1[8:64], REMOTE_WRITE" in prompt.ask("show mw")[-1]
