"""What explain adds in a session: a section `now`, and commands with the names of today."""

import pytest

from rdmalab.guide.article import Article
from rdmalab.guide.entry import Sort
from rdmalab.lab import Lab
from rdmalab.views import occurrences
from rdmalab.workbench.help_pages import FINDERS


def asked(lab: Lab, line: str) -> Article:
    reply = lab.do(line)[-1]
    if reply.error is not None:
        raise reply.error
    assert isinstance(reply.value, Article)
    return reply.value


def section(article: Article, heading: str) -> list[str]:
    return next((s.lines for s in article.sections if s.heading == heading), [])


@pytest.fixture
def lab() -> Lab:
    """A pair with other names than the guide uses, and a SEND that met no receive."""
    made = Lab()
    made.do("use rc_pair")
    made.do("use rc_pair rnr_retry=1")
    made.do("post_send B.qp1 wr_id=7 opcode=SEND sg=B.mr1[0:64] flags=SIGNALED")
    made.run()
    return made


def test_every_sort_of_word_has_its_finder() -> None:
    assert set(FINDERS) == set(Sort)


def test_a_status_says_which_completion_ended_so_and_how_the_peer_stands(lab: Lab) -> None:
    now = section(asked(lab, "explain IBV_WC_RNR_RETRY_EXC_ERR"), "now")
    assert now[0].startswith("B.qp1 wr7 completed with it on B.cq1 (ev ")
    assert now[1] == "A.qp1 is in RTS and has 0 receives"


def test_the_commands_name_who_posted_and_who_answers(lab: Lab) -> None:
    assert section(asked(lab, "explain IBV_WC_RNR_RETRY_EXC_ERR"), "look at")[:3] == [
        "1. the peer posted no receive, or too few (no-rr): show rq A.qp1",
        "2. rnr_retry is too small: the peer posts its receives later (rnr-retry-exc): "
        "query_qp B.qp1",
        "3. the peer's min_rnr_timer is too short (rnr-retry-exc): query_qp A.qp1",
    ]


def test_what_the_responder_did_names_it_as_the_peer(lab: Lab) -> None:
    answer = asked(lab, "explain RNR_NAK")
    assert section(answer, "now")[0].startswith("A.qp1 sent RNR_NAK")
    assert section(answer, "look at")[0].endswith("show rq A.qp1")


@pytest.mark.parametrize("word", ["RNR_RETRY_EXC_ERR", "RNR_NAK", "no-receive", "ERR", "EINVAL"])
def test_every_command_of_look_at_is_accepted(lab: Lab, word: str) -> None:
    lab.do("modify_qp A.qp1 state=INIT")  # refused: else there is no why EINVAL
    for line in section(asked(lab, f"explain {word}"), "look at"):
        for command in line.split(": ")[-1].split(" · "):
            assert not any(reply.failed for reply in lab.do(command)), command


def test_the_answer_on_a_status_fits_a_screen(lab: Lab) -> None:
    lines = asked(lab, "explain IBV_WC_RNR_RETRY_EXC_ERR").lines(80)
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "status 13" in lines[0]
    for wanted in (
        "RNR retry counter exceeded", "HCA that sends", "RNR NAKs", "ERR (RC", "1. ", "2. ", "3. ",
        "load err/rnr-retry-exceeded", "ibv_poll_cq(3)",
    ):  # fmt: skip
        assert wanted in text


def test_explain_now_without_any_use(lab: Lab) -> None:
    assert section(asked(lab, "explain FENCE"), "now") == ["nothing of it in this session"]


def test_a_long_past_is_not_claimed_to_be_known(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "REACH", 2)
    assert section(asked(lab, "explain FENCE"), "now") == ["nothing of it in the last 2 records"]


def test_explain_now_is_cut_after_three_uses() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    for _ in range(5):
        lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    now = section(asked(lab, "explain IBV_WR_SEND"), "now")
    assert len(now) == 4
    assert now[-1] == "and more"
    assert now[0].endswith("(ev 18)")  # the newest first


def test_where_nothing_is_met_the_first_of_its_kind_is_named() -> None:
    lab = Lab()
    lab.do("alloc_pd B.pd0")
    lab.do("reg_mr B.mr7 pd=B.pd0 length=64 access=LOCAL_WRITE")
    answer = asked(lab, "explain REM_ACCESS_ERR")
    assert section(answer, "look at")[0].endswith("show mr B.mr7")
    assert section(answer, "look at")[2].endswith("(rkey-rotated): show mw")  # B has none
    assert section(answer, "look at")[5].endswith("show qp")


def test_a_word_of_the_trade_has_no_now(lab: Lab) -> None:
    assert not section(asked(lab, "explain psn"), "now")


def test_a_pasted_line_is_read_and_looked_for(lab: Lab) -> None:
    answer = asked(lab, "explain got completion with status=13 vendor err 135")
    assert answer.sections[0].heading == "read"
    assert section(answer, "now")[0].startswith("B.qp1 wr7 completed with it")


def test_the_doctor_is_asked_about_the_very_work_request(lab: Lab) -> None:
    answer = asked(lab, "explain IBV_WC_RNR_RETRY_EXC_ERR")
    assert section(answer, "look at")[-1] == "or ask: why B.qp1.wr[7]"
    lab.do(
        "reset B.qp1 ; reset A.qp1 ; connect A.qp1 B.qp1 ; post_recv A.qp1 wr_id=3 sg=A.mr1[0:8]"
    )
    lab.do("post_send B.qp1 wr_id=7 opcode=SEND sg=B.mr1[0:64] flags=SIGNALED")
    lab.run()
    answer = asked(lab, "explain LOC_LEN_ERR")
    assert section(answer, "look at")[-1] == "or ask: why A.qp1.recv_wr[3]"
    assert not lab.do("why A.qp1.recv_wr[3]")[-1].failed


def test_a_lab_without_a_doctor_names_none(lab: Lab) -> None:
    words = dict(lab.session.vocabulary)
    del words["why"]
    lab.session.vocabulary = words
    answer = asked(lab, "explain IBV_WC_RNR_RETRY_EXC_ERR")
    assert not any("why" in line for line in section(answer, "look at"))


def test_a_rule_names_the_calls_it_refused(lab: Lab) -> None:
    lab.do("modify_qp A.qp1 state=INIT")
    answer = asked(lab, "explain rule transition")
    assert "RTS → INIT is not a legal transition" in section(answer, "now")[0]
    assert section(answer, "look at") == ["why EINVAL"]


def test_explain_is_no_event(lab: Lab) -> None:
    before = lab.session.world.event
    asked(lab, "explain ERR")
    assert lab.session.world.event == before
