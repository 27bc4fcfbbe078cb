"""A lost datagram that its client repeated: nothing is wrong. Without an answer it is lost."""

import pytest

from tests.doctor import tidying
from tests.doctor.asking import played, why

_TO_A = "ah=B.ah0 remote_qpn=A.qp0 remote_qkey=0x11111111 flags=SIGNALED"
_TO_B = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"
_ASKS = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[512:520] " + _TO_B
_SERVER = (
    "program B.srv lines={sleep 20us; post_recv B.qp0 wr_id=2 sg=B.mr0[0:128]; poll B.cq0; "
    f"post_send B.qp0 wr_id=3 opcode=SEND sg=B.mr0[512:520] {_TO_A}; poll B.cq0}}"
)


@pytest.mark.parametrize("first", ["", " flags=SIGNALED; poll A.cq0"])
def test_a_client_that_asked_again_and_got_its_answer_has_lost_nothing(first: str) -> None:
    again = f"{_ASKS.format(5)} flags=SIGNALED; poll A.cq0; poll A.cq0"
    lab = played("use ud_pair", "post_recv A.qp0 wr_id=1 sg=A.mr0[0:128]", _SERVER,
                 f"program A.cli lines={{{_ASKS.format(4)}{first}; sleep 30us; {again}}}",
                 "run")  # fmt: skip
    assert not why(lab).is_trouble
    tidying.destroy_all(lab.session)
    assert not why(lab).is_trouble


def test_a_client_that_asks_something_else_has_lost_the_first() -> None:
    again = f'write A.mr0[512:520] "another!"; {_ASKS.format(5)} flags=SIGNALED'
    lab = played("use ud_pair", "post_recv A.qp0 wr_id=1 sg=A.mr0[0:128]", _SERVER,
                 f"program A.cli lines={{{_ASKS.format(4)}; sleep 30us; {again}; poll A.cq0; "
                 "poll A.cq0}", "run")  # fmt: skip
    assert why(lab).slug == "no-rr"


def test_a_thread_that_only_sends_two_of_a_kind_has_lost_the_first() -> None:
    sent = _ASKS.format(4) + " flags=SIGNALED; poll A.cq0"
    lab = played("use ud_pair", f"program A.tx lines={{{sent}; sleep 30us; {sent}}}",
                 "program B.rx lines={sleep 20us; post_recv B.qp0 wr_id=2 sg=B.mr0[0:128]; "
                 "poll B.cq0}", "run")  # fmt: skip
    assert why(lab).slug == "no-rr"


def test_a_call_repeats_after_a_receive_was_posted() -> None:
    sent = _ASKS + " flags=SIGNALED"
    calls = ("use ud_pair", sent.format(4), "run", "poll_cq A.cq0")
    lab = played(*calls, sent.format(5), "run")
    assert why(lab).slug == "no-rr"
    lab = played(*calls, "post_recv B.qp0 wr_id=2 sg=B.mr0[0:128]", sent.format(5), "run")
    assert not why(lab).is_trouble
