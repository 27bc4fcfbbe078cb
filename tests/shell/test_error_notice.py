"""Try: why is said where there is something new to complain of, and once."""

from rdmalab.shell.error_notice import ErrorNotice
from tests.shell.talk import Talk

_SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_BAD = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x64 rkey=1"


def hinted(talk: Talk, line: str) -> bool:
    return any(row.endswith("Try: why") for row in talk.ask(line))


def test_a_completion_with_an_error_is_worth_a_question_once() -> None:
    talk = Talk("use rc_pair", _BAD, width=120)
    assert not hinted(talk, "step")
    assert hinted(talk, "run")
    assert not hinted(talk, "run")
    assert not hinted(talk, "step")


def test_where_all_is_well_nobody_is_sent_to_the_doctor() -> None:
    talk = Talk("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]", _SEND.format(2), width=120)
    assert not hinted(talk, "run")


def test_a_send_for_which_only_a_timer_runs_is() -> None:
    talk = Talk("use rc_pair", _SEND.format(3), width=120)
    assert not hinted(talk, "run 1us")
    assert hinted(talk, "run 100us")
    assert not hinted(talk, "run 10ms")


def test_going_back_is_no_news_and_another_world_has_its_own() -> None:
    talk = Talk("use rc_pair", _BAD, width=120)
    assert hinted(talk, "run")
    assert not hinted(talk, "back")
    assert not hinted(talk, "run")
    other = Talk("use rc_pair", _BAD, width=120)
    other.ask("run")
    trouble = talk.conversation.voice.trouble
    assert not trouble.is_new(talk.lab.session)
    assert trouble.is_new(other.lab.session)
    assert ErrorNotice().is_new(other.lab.session)
