"""Bytes beside which a message landed, or beside which the data lay that were to be sent."""

import pytest

from tests.doctor.asking import played, warning, why

_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:6] remote=B.mr0[64] flags=SIGNALED"


def test_wrong_place_names_the_bytes_that_a_write_filled() -> None:
    lab = played("use rc_pair", 'write A.mr0[0:6] "result"', _WRITE, "run")
    report = why(lab, "B.mr0[0:6]")
    assert report.slug == "wrong-place"
    assert any("A.qp0.wr[1] wrote B.mr0[64:70]" in line for line in report.lines)
    assert why(lab, "B.mr0[64:70]").slug == "well"


@pytest.mark.parametrize(
    "lines",
    [
        [_WRITE],  # still under way
        ["post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", _WRITE, "run"],  # what a receive waits for
        ['write B.mr0[64:70] "result"'],  # no message
    ],
)
def test_bytes_that_wait_for_something_else_are_not_in_a_wrong_place(lines: list[str]) -> None:
    lab = played("use rc_pair", *lines)
    assert "wrong-place" not in warning(lab, "B.mr0[0:6]")


def test_wrong_place_of_a_message_from_unfilled_bytes() -> None:
    send = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    lab = played("use rc_pair", 'write A.mr0[40:48] "the data"', send, "run")
    assert warning(lab, "B.mr0[0:8]") == ["wrong-place"]
    lab = played("use rc_pair", 'write A.mr0[4:12] "the data"', send, "run")
    assert warning(lab, "B.mr0[0:4]") == warning(lab, "B.mr0[0:8]") == []
    lab = played("use rc_pair", send, "run")
    assert warning(lab, "B.mr0[0:8]") == []


@pytest.mark.parametrize(
    ("later", "when"), [((), "never filled"), (("fill B.mr0[0:8] 1",), "filled only later")]
)
def test_wrong_place_names_the_message_that_filled_other_bytes(
    later: tuple[str, ...], when: str
) -> None:
    back = "post_send B.qp0 wr_id=2 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0[512]"
    lab = played("use rc_pair", 'write A.mr0[0:6] "result"', _WRITE, "run", back, "run", *later)
    report = why(lab, "A.mr0[512:520]")
    assert "A.qp0.wr[1] wrote B.mr0[64:70]" in report.text
    assert f"which was {when}" in report.text


def test_ud_40_bytes_before_the_datagram() -> None:
    send = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0"
    lab = played("use ud_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
                 f"{send} remote_qkey=0x11111111 flags=SIGNALED", "run")  # fmt: skip
    assert why(lab, "B.mr0[0:8]").slug == why(lab, "B.mr0[16:24]").slug == "ud-40-bytes"
    assert warning(lab, "B.mr0[32:40]") == ["ud-40-bytes"]
    assert any("begins at B.mr0[40]" in line for line in why(lab, "B.mr0[0:8]").lines)
    assert why(lab, "B.mr0[40:48]").slug == why(lab, "B.mr0[32:48]").slug == "well"


_DATAGRAM = (
    "fill A.mr0[0:64] {}",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED", "run 1ms",
)  # fmt: skip


@pytest.mark.parametrize("profile", ["strict", "mlx5"])
@pytest.mark.parametrize(
    ("byte", "wait", "says", "change"),
    [
        ("1", "B.mr0[0] == 0x45", "over IPv4 the header begins at B.mr0[20]",
         "read the header at B.mr0[20]"),
        ("0x45", "B.mr0[0] == 0x45", "the datagram begins at B.mr0[40]", "read the datagram 40"),
        ("1", "B.mr0[0] == 1", "the datagram begins at B.mr0[40]", "read the datagram 40"),
        ("1", "B.mr0[20] == 1", "the datagram begins at B.mr0[40]", "read the datagram 40"),
    ],
)  # fmt: skip
def test_a_wait_in_the_room_before_a_datagram(
    profile: str, byte: str, wait: str, says: str, change: str
) -> None:
    lab = played("use ud_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
                 f"program B.rx lines={{wait {wait}}}", _DATAGRAM[0].format(byte), *_DATAGRAM[1:],
                 profile=profile)  # fmt: skip
    report = why(lab, "B.rx")
    assert (report.slug, report.is_trouble) == ("ud-40-bytes", True)
    assert says in report.text
    assert report.remedy is not None
    assert report.remedy.cure.program.startswith(change)


def test_the_header_before_a_datagram_is_not_wrong() -> None:
    lab = played("use ud_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]", *_DATAGRAM[1:])
    report = why(lab, "B.mr0[20:40]")
    assert not report.is_trouble
    assert "these bytes are the header before a datagram" in report.text
    assert why(lab, "B.mr0[0:20]").is_trouble


def test_a_program_that_is_done_waited_for_a_value_of_the_round_before() -> None:
    rounds = "wait B.mr0[0] == 1; {}sleep 1us; wait B.mr0[0] == 1"
    for clear, found in (("", ["flag-already-set"]), ('write B.mr0[0:1] "\\0"; ', [])):
        lab = played("use rc_pair", r'write A.mr0[0:1] "\x01"',
                     f"program B.rx lines={{{rounds.format(clear)}}}",
                     _WRITE.replace("0:6", "0:1").replace("[64]", "[0]"), "run")  # fmt: skip
        assert warning(lab, "B.rx") == found


@pytest.mark.parametrize(("source", "warned"), [("0:64", True), ("64:128", False)])
def test_a_list_in_which_two_requests_send_the_same_bytes(source: str, *, warned: bool) -> None:
    """What was prepared beside them, and no request sends, shows that it is a mistake."""
    writes = ('write A.mr0[0:4] "page"', 'write A.mr0[64:68] "line"')
    one = "wr={{wr_id={} opcode=RDMA_WRITE sg=A.mr0[{}] remote=B.mr0[{}]}}"
    both = f"{one.format(1, '0:64', 0)} {one.format(2, source, 64)}"
    lab = played("use rc_pair", *writes, f"post_send A.qp0 {both}", "run")
    report = why(lab, "B.mr0[64:68]")
    assert [each.check.slug for each in report.warnings] == ["wrong-place"] * warned
    if warned:
        assert "wr1 and A.qp0.wr[2] of one list both send A.mr0[0:64]" in report.text
        assert "no request sends A.mr0[64:68]" in report.text


def test_the_same_bytes_may_be_sent_to_two_places() -> None:
    both = " ".join(f"wr={{wr_id={n} opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[{n * 64}]}}"
                    for n in (1, 2))  # fmt: skip
    lab = played("use rc_pair", 'write A.mr0[0:4] "page"', f"post_send A.qp0 {both}", "run")
    assert not why(lab, "B.mr0[64:68]").warnings
