from pathlib import Path
from typing import Any

import pytest

from rdmalab.lab import Lab
from rdmalab.render.meanings import APPEARANCES
from rdmalab.shell.styled_text import text_of
from rdmalab.shell.tables import bar, bracketed, cut, drawn, rows_table, table
from rdmalab.views.columns import ALL, COLUMNS, Gauge, cells, fact
from rdmalab.views.queues import QueueRow
from tests.shell.prompts import Prompt


def test_columns_stand_under_each_other() -> None:
    rows = table([[("", "a"), ("", "10")], [("", "long"), ("", "5"), ("", "x")]], "<>")
    assert [text_of(row) for row in rows] == ["a     10", "long   5  x"]
    assert table([]) == []


def test_a_bar_has_a_cell_for_each_slot_or_is_scaled() -> None:
    row = QueueRow(8, used=4, free=4, posted=9, waiting=1, on_wire=1, acked=2, failed=1, name="")
    assert bar(row) == "✗■▶▪□□□□"
    row = QueueRow(
        1000, used=3, free=997, posted=3, waiting=1, on_wire=1, acked=1, failed=0, name=""
    )
    assert bar(row) == "■▶▪" + "□" * 13
    assert drawn(Gauge(4, 0)).split()[0] == "□□□□"
    assert drawn(Gauge(1000, 1)).split()[0] == "■" + "□" * 15


def test_what_was_touched_is_its_own_fragment() -> None:
    assert bracketed("+000[68 65]00") == [("", "+000"), ("class:touched", "[68 65]"), ("", "00")]


def test_cutting() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abc", 3) == "abc"


ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*/*.rdmalab.yaml"))[::8][:60]
TOPICS = (
    "qp", "cq", "srq", "mr", "mw", "ah", "channel", "events", "wire", "counters", "link", "port",
    "story", "log", "planned", "flow", "pd", "program", "device",
)  # fmt: skip


def described_rows(lab: Lab) -> list[Any]:
    found = []
    for topic in TOPICS:
        for reply in lab.do(f"show {topic}"):
            rows = getattr(reply.value, "rows", [])
            found += [row for row in rows if type(row) in COLUMNS]
    return found


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_face_of_every_row_has_the_same_cells(path: Path) -> None:
    prompt = Prompt(f'load "{path}"', *["next"] * 6)
    rows = described_rows(prompt.conversation.lab)
    assert rows
    for row in rows:
        lines = [cell.text() for cell in cells(row)]
        spoken = fact(row)
        assert spoken == ", ".join(lines)
        assert spoken.isprintable()
        table = text_of(rows_table([row], ALL)[-1])
        for cell in cells(row):
            if isinstance(cell.value, Gauge):
                assert f"{cell.value.used}/{cell.value.capacity}" in table
                continue
            assert str(cell.value) in table
            assert APPEARANCES[cell.meaning].sign in table


# ------------------------------------------------------------------ what faces said differently
FAILED = ("use rc_pair rnr_retry=0", "post_send A.qp0 opcode=SEND wr_id=5", "run")


def test_accident_1_a_plain_event_names_its_node_and_its_kind() -> None:
    prompt = Prompt("use rc_pair", "link down", plain=True)
    assert "A, PORT_ERR, A: port error" in prompt.ask("show events")


def test_accident_2_a_plain_completion_names_queue_pair_and_vendor_err() -> None:
    prompt = Prompt(*FAILED, plain=True)
    assert "wr5, RNR_RETRY_EXC_ERR, A.qp0, vendor_err=0x8d" in prompt.ask("show cq")


def test_accident_5_unsignaled_stands_once_in_a_line() -> None:
    prompt = Prompt("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:8]")
    prompt.ask("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] wr_id=1", "run")
    assert prompt.ask("show sq A.qp0")[-1].count("unsignaled") == 1


def test_accident_8_a_plain_queue_pair_says_that_no_receive_is_posted_and_its_timers() -> None:
    printed = Prompt("use rc_pair", "post_send A.qp0 opcode=SEND", plain=True).ask("show B.qp0")
    assert "B.qp0, no receive is posted: wr0 SEND 0 B of A.qp0 will need one" in printed
    assert any(line.startswith("B.qp0 timeout=14") for line in printed)
    assert any(line.startswith("B.qp0 psn: ") for line in printed)


def test_accident_7_a_plain_queue_says_whose_it_is() -> None:
    printed = Prompt("use rc_pair", plain=True).ask("show sq A.qp0")
    assert printed[0] == "A.qp0 send queue: 0 of 8 slots used"


def test_accident_10_keys_are_hexadecimal_in_every_face() -> None:
    plain = Prompt("use rc_pair", plain=True).ask("show mr")
    assert all("lkey 0x" in line and "rkey 0x" in line for line in plain if ".mr" in line)


def test_accident_14_refused_lost_and_dropped_packets_differ_on_the_wire() -> None:
    lost = Prompt("use rc_pair", "fault drop A->B nth=1", "post_send A.qp0 opcode=SEND", "run 1us")
    refused = Prompt("use rc_pair", "post_send A.qp0 opcode=SEND", "run 5us")
    assert any("lost: fault 1" in line for line in lost.ask("show wire"))
    assert any("refused: no rec" in line for line in refused.ask("show wire"))


def test_accident_15_the_wire_names_the_queue_pairs_where_there_are_several() -> None:
    prompt = Prompt("use srq_pair", width=120)
    prompt.ask("post_send A.qp0 opcode=SEND", "post_send A.qp1 opcode=SEND", "run 5us")
    printed = prompt.ask("show wire")
    assert any(" A.qp0" in line and "SEND_ONLY" in line and " B.qp0 " in line for line in printed)
    assert any(" A.qp1" in line and "SEND_ONLY" in line and " B.qp1 " in line for line in printed)


def test_accident_18_a_dropped_packet_has_its_node() -> None:
    prompt = Prompt("use ud_pair")
    prompt.ask(
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 remote_qkey=1", "run"
    )
    assert any(line.startswith("B  ! 1 dropped") for line in prompt.ask("show counters"))


def test_accident_19_a_plain_line_of_a_program_keeps_its_number_and_its_mark() -> None:
    prompt = Prompt("use rc_pair", "program A.p lines={sleep 5us; stop}", plain=True)
    printed = prompt.ask("show A.p")
    assert "line 1, next, sleep 5us" in printed
    assert "line 2, stop" in printed


def test_accident_20_a_plain_diagram_has_the_last_move() -> None:
    assert "last move RTR → RTS" in Prompt("use rc_pair", plain=True).ask("show A.qp0")


def test_accident_21_the_parts_of_a_row_are_separated() -> None:
    printed = Prompt("use rc_pair", plain=True).ask("show expr A.cq0")
    assert any(line.startswith("A.cq0.count, int, ") for line in printed)


def both(*lines: str, topic: str) -> tuple[list[str], list[str]]:
    """What the table and the plain face say about a topic."""
    return Prompt(*lines).ask(topic), Prompt(*lines, plain=True).ask(topic)


OVERRUN = (
    "use rc_pair channel=1 cqe=1", "req_notify_cq B.cq0",
    *["post_recv B.qp0 sg=B.mr0[0:8]"] * 3,
    *["post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"] * 2, "run",
)  # fmt: skip


@pytest.mark.parametrize(
    ("number", "lines", "topic", "text"),
    [
        (4, OVERRUN, "show cq", "OVERRUN: no more CQEs are added"),
        (4, ("use rc_pair channel=1", "req_notify_cq B.cq0"), "show cq", "ARMED any"),
        (6, ("use srq_pair", "post_srq_recv B.srq0 sg=B.mr0[0:8]"), "show srq", "1 posted"),
        (6, ("create_comp_channel A.ch7",), "show channel", "no CQ uses it"),
        (6, ("use srq_pair", "post_srq_recv B.srq0 wr_id=3"), "show B.srq0", "waits"),
        (11, ("use rc_pair", "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2"), "show mw", "TYPE_2"),
        (13, ("use rc_pair",), "show mr", "4096 B"),
        (17, ("use rc_pair",), "show story", "A created A.qp0"),
    ],
)
def test_accident_the_table_and_the_plain_face_use_the_same_words(
    number: int, lines: tuple[str, ...], topic: str, text: str
) -> None:
    table, plain = both(*lines, topic=topic)
    assert any(text in line for line in table), (number, table)
    assert any(text in line for line in plain), (number, plain)


def test_accident_9_the_number_of_the_peer_is_in_both_faces() -> None:
    table, plain = both("use rc_pair", topic="show A.qp0")
    assert any("→ B.qp0 (0x11)" in line for line in table)
    assert any("its peer is B.qp0 (0x11)" in line for line in plain)


def test_accident_11_a_bound_window_keeps_its_type() -> None:
    bind = "opcode=BIND_MW mw=B.mw0 bind=B.mr1[0:128] bind_access=REMOTE_READ flags=SIGNALED"
    reg = "reg_mr B.mr1 pd=B.pd0 length=256 access=LOCAL_WRITE|REMOTE_READ|MW_BIND"
    mw = "alloc_mw B.mw0 pd=B.pd0 type=TYPE_2"
    lines = ("use rc_pair", reg, mw, f"post_send B.qp0 {bind}", "run")
    for face in both(*lines, topic="show mw"):
        assert any("TYPE_2" in line and "B.mr1[0:128]" in line for line in face), face


def test_accident_12_written_bytes_in_words_without_a_drawing() -> None:
    lines = ("use rc_pair", 'write B.mr0[0:5] "hello"')
    plain = " ".join(Prompt(*lines, plain=True).ask("show B.mr0[0:8]"))
    assert " ".join(plain.split()).endswith(
        "+000 68 65 6c 6c 6f 00 00 00 00 00 00 00 00 00 00 00, text hello, written +000 to +004"
    )
    assert Prompt("use rc_pair", plain=True).ask("show B.mr0[0:8]")[-1] == "+000 zeros"


def test_accident_16_the_q_key_of_a_dropped_datagram_is_on_the_wire() -> None:
    send = "opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x5"
    lines = ("use ud_pair", "post_recv B.qp0 sg=B.mr0[0:64]", f"post_send A.qp0 {send}", "run")
    for face in both(*lines, topic="show wire"):
        assert any("Q_Key 0x5" in line for line in face), face


def test_accident_17_no_plain_line_has_two_blanks() -> None:
    for topic in ("show story", "show log"):
        assert not [
            line for line in Prompt(*OVERRUN, plain=True).ask(topic) if "  " in line.strip()
        ]


def test_json_of_a_completion_has_null_where_a_field_is_undefined() -> None:
    lab = Lab()
    for line in FAILED:
        lab.do(line)
    from rdmalab.shell.script import plain_value

    row = lab.do("show cq A.cq0")[-1].value.rows[1]
    found = plain_value(lab.session, row, 0)
    assert isinstance(found, dict)
    assert found["byte_len"] is None
    assert found["vendor_err"] == 0x8D
