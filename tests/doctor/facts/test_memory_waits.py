"""Waits for a value in memory: which were over at once, and on what."""

import pytest

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.facts.memory_waits import Early, early_waits
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.doctor.asking import answer, played
from tests.labs import lab_of

_WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[8]"
_ROUNDS = "program A.m lines={fill A.mr0[0:1] 1; " + _WRITE + "; sleep 20us; " + _WRITE + "}"


def early(*lines: str) -> list[Early]:
    lab = lab_of(*lines, "run")
    thing = lab.session.names.find("B.w")
    assert thing is not None
    return early_waits(case_of(lab), thing)


def case_of(lab: Lab) -> Case:
    log = Log(lab.session)
    (subject,) = subjects(lab.session, log, parse_expression("B.w", "A").node)
    return Case(lab.session, subject, log, asked=True)


def waiting(*lines: str) -> str:
    return f"program B.w lines={{{'; '.join(lines)}; fill B.mr0[9:10] 1}}"


_WAIT = "wait B.mr0[8] == 1"


def test_early_wait_not_if_it_waited_for_the_message() -> None:
    assert early(waiting(_WAIT), _ROUNDS) == []


def test_early_wait_not_after_the_message() -> None:
    assert early(waiting("sleep 9us", _WAIT), _ROUNDS) == []


def test_the_next_wait_needs_the_next_message() -> None:
    (found,) = early(waiting(_WAIT, _WAIT), _ROUNDS)
    assert found.passed.line.number == 2
    assert found.written is not None
    assert found.came is not None
    assert found.written < found.passed.event < found.came
    assert early(waiting(_WAIT, "sleep 30us", _WAIT), _ROUNDS) == []


def test_early_wait_on_bytes_written_by_the_program() -> None:
    (found,) = early(waiting("fill B.mr0[8:9] 1", _WAIT))
    assert (found.written, found.came) == (None, None)


def test_early_wait_on_bytes_from_before_the_program() -> None:
    assert len(early("fill B.mr0[8:9] 1", waiting(_WAIT))) == 1


def test_another_thread_may_bring_the_news() -> None:
    assert early(waiting("sleep 1us", _WAIT), "program B.o lines={fill B.mr0[8:9] 1}") == []


def test_bytes_are_looked_at_where_a_question_names_them() -> None:
    lab = lab_of(waiting(_WAIT))
    mr = lab.session.world.nodes["B"].mrs.items[1]

    def looked_at(text: str) -> object:
        return watched(lab.session, parse_expression(text, "B").node)

    assert looked_at("B.mr0[8] == 1") == (mr.addr + 8, 1)
    assert looked_at("now > 5 and B.mr0[0:4] == 1") == (mr.addr, 4)
    assert looked_at("B.cq0.count == 1") is None
    assert looked_at("B.qp0.wr[1].status == 1") is None
    assert watched(lab.session, None) is None


def test_a_wait_for_bytes_has_a_cause_where_the_peer_of_another_connection_is_destroyed() -> None:
    make = "create_qp {0}.qp9 pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0"
    waits = "program B.rx lines={wait B.mr0[1000] == 7}"
    lab = played("use rc_pair", make.format("A"), make.format("B"), "connect A.qp9 B.qp9",
                 "destroy_qp A.qp9", waits, "run 10us")  # fmt: skip
    assert answer(lab, "why B.rx").slug == "condition-false"


_KEYLESS = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8]"


@pytest.mark.parametrize("question", ["why", "why B.rx"])
@pytest.mark.parametrize(
    ("pair", "place"),
    [
        ("rc_pair", "remote_addr=0 rkey=0"),  # the peer never read the address and the key
        ("rc_pair", "remote_addr=0 rkey=0x9999"),
        ("rc_pair", "remote_addr=B.mr0[1000] rkey=0x9999"),
        ("uc_pair", "remote_addr=B.mr0[1000] rkey=0x9999"),
        ("uc_pair", "remote_addr=0 rkey=0"),
    ],
)
def test_a_write_with_the_key_of_no_region_was_to_bring_the_bytes(
    question: str, pair: str, place: str
) -> None:
    lab = played(f"use {pair}", "program B.rx lines={wait B.mr0[1000] == 7}",
                 f"{_KEYLESS} {place} flags=SIGNALED", "run 100us")  # fmt: skip
    report = answer(lab, question)
    assert report.slug == "rem-access"
    assert "condition-false" not in [cause.check.slug for cause in report.chain]


def test_a_write_with_the_key_of_no_region_that_names_other_bytes() -> None:
    lab = played("use rc_pair", "program B.rx lines={wait B.mr0[1000] == 7}",
                 f"{_KEYLESS} remote_addr=B.mr0[2000] rkey=0x9999 flags=SIGNALED",
                 "run 100us")  # fmt: skip
    assert answer(lab, "why B.rx").slug == "condition-false"


@pytest.mark.parametrize(("flag", "place"), [(80, 64), (63, 71)])
def test_what_is_awaited_is_named_at_its_first_place_or_in_its_slot(flag: int, place: int) -> None:
    lab = played("use rc_pair", "fill A.mr0[0:8] 0x77",
                 f"program B.rx lines={{wait B.mr0[{flag}] == 0x77}}", "post_send A.qp0 wr_id=1 "
                 "opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[64]", "run 100us")  # fmt: skip
    text = " ".join(answer(lab, "why B.rx").text.split())
    assert f"with what is awaited at B.mr0[{place}]" in text


_TO_OTHER = (
    "use rc_pair", "reg_mr B.mr1 pd=B.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE",
    "program B.rx lines={wait B.mr1[0] == 0x77}", "fill A.mr0[0:1024] 0x77",
)  # fmt: skip
_BULK = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:1024] remote="


@pytest.mark.parametrize("question", ["why", "why B.rx", "why B.mr1[0:64]"])
def test_a_write_to_another_region_left_there_what_is_awaited(question: str) -> None:
    report = answer(played(*_TO_OTHER, f"{_BULK}B.mr0[1024]", "run 100us"), question)
    text = " ".join(report.text.split())
    assert report.is_trouble
    assert "A.qp0.wr[1] wrote B.mr0[1024:2048], with what" in text
    assert "B.mr0[1024] [ev" in text


@pytest.mark.parametrize(
    "lines",
    [
        (f"{_BULK}B.mr1[8]", "fill A.mr0[0:2] 1", f"{_BULK}B.mr0[1024]"),  # one to its region
        ("fill A.mr0[0:2] 1", "fill A.mr0[1022:1024] 1", f"{_BULK}B.mr0[0]"),  # in the middle
        ("program B.two lines={wait B.mr0[4] == 0x77}", f"{_BULK}B.mr0[0]"),  # for another wait
        ("post_recv B.qp0 wr_id=2 sg=B.mr0[0:1024]", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"),
    ],
)
def test_a_message_to_another_region_that_holds_the_byte_by_chance(lines: tuple[str, ...]) -> None:
    report = answer(played(*_TO_OTHER, *lines, "run 100us"), "why B.rx")
    assert report.slug == "condition-false"
    assert "is awaited at B.mr0" not in " ".join(report.text.split())


_ECHO = (
    "program B.echo lines={{post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]; poll B.cq0; post_send B.qp0 "
    "wr_id=2 opcode=SEND sg=B.mr0[{sent}] ah=B.ah0 remote_qpn=A.qp0 remote_qkey=0x11111111 "
    "flags=SIGNALED; poll B.cq0}}"
)
_PING = (
    "program A.ping lines={{post_recv A.qp0 wr_id=1 sg=A.mr0[512:768]; fill A.mr0[0:64] {byte}; "
    "sleep 500ns; post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED; poll A.cq0; poll A.cq0; wait A.mr0[552] == 0x5a}}"
)


@pytest.mark.parametrize("question", ["why", "why A.ping", "why A.mr0[552:616]"])
def test_a_datagram_that_was_sent_on_with_the_bytes_before_it(question: str) -> None:
    lab = played("use ud_pair", _ECHO.format(sent="0:104"), _PING.format(byte="0x5a"), "run 3ms")
    report = answer(lab, question)
    assert (report.slug, report.is_trouble) == ("ud-40-bytes", True)
    assert "what is awaited came to A.mr0[592:593], 40 bytes too far" in report.text
    assert report.remedy is not None
    assert report.remedy.cure.program == "send from B.mr0[40:104] in B.qp0.wr[2]"


@pytest.mark.parametrize(("sent", "byte"), [("40:104", "0x5a"), ("40:104", "0x5b"), ("0:104", "1")])
def test_a_datagram_that_was_sent_on_and_is_not_the_one_that_is_awaited(
    sent: str, byte: str
) -> None:
    lab = played("use ud_pair", _ECHO.format(sent=sent), _PING.format(byte=byte), "run 3ms")
    assert answer(lab, "why A.mr0[552:616]").slug != "ud-40-bytes"
    assert answer(lab, "why").is_trouble is (byte != "0x5a")
