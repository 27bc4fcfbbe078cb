"""The caption: every kind of record has its sentence; the most important record decides."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.records import KINDS, MEANINGS, Kind
from rdmalab.views import story
from rdmalab.views.caption import Caption, caption, endings, last_act
from rdmalab.views.columns import Meaning
from tests.each import each
from tests.pairs import Pair
from tests.views.looking import names_of
from tests.views.test_story import VALUES

WRONG_KEY = (
    "use rc_pair",
    "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead",
    "post_send A.qp0 wr_id=8 opcode=RDMA_WRITE sg=A.mr0[8:16] remote=B.mr0[8]",
)


def lab_after(*lines: str) -> Lab:
    lab = Lab()
    for line in lines:
        lab.do(line)
    return lab


def now(lab: Lab) -> Caption:
    session = lab.session
    return caption(session.world, session.names, session.world.event)


def all_of(lab: Lab, since: int = -1) -> list[tuple[Meaning, str]]:
    world, names = lab.session.world, lab.session.names
    return [tuple(caption(world, names, event)) for event in range(since, world.event + 1)]  # type: ignore[misc]


def of_kind(kind: Kind) -> Caption:
    pair = Pair()
    values = {**VALUES, "packet": pair.b.incoming("SEND_ONLY", 3, bytes(64))}
    pair.world.begin_event()
    row = KINDS[kind]
    pair.world.trace.record(kind, "A", 1, values[MEANINGS[row.a]], values[MEANINGS[row.b]])
    if kind is Kind.REFUSED:
        pair.world.trace.record(Kind.CALLED, "A", 1, "post_recv", 22)
    return caption(pair.world, names_of(pair), pair.world.event)


@each("kind", Kind)
def test_every_kind_of_record_has_a_caption(kind: Kind) -> None:
    text = of_kind(kind).text
    assert text[0].isupper()
    assert not text.endswith(".")
    assert not {"{", "None"}.intersection(text.split())


def test_no_two_kinds_of_record_have_the_same_caption() -> None:
    kinds: dict[str, list[str]] = {}
    for kind in Kind:
        kinds.setdefault(of_kind(kind).text, []).append(kind.name)
    assert [names for names in kinds.values() if len(names) > 1] == []


def test_a_completion_that_is_polled_is_shown_as_its_request_ended() -> None:
    lab = lab_after(*WRONG_KEY, "until A.qp0.state == ERR", "poll_cq A.cq0")
    assert now(lab) == (Meaning.FAILED, "A.cq0 returned wr7 REM_ACCESS_ERR")
    lab.do("poll_cq A.cq0")
    assert now(lab) == (Meaning.FLUSHED, "A.cq0 returned wr8 WR_FLUSH_ERR")
    sent = "post_send A.qp0 opcode=SEND sg=A.mr0[0:5] flags=SIGNALED"
    well = lab_after("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:5]", sent, "run", "poll_cq A.cq0")
    assert now(well).meaning is Meaning.OK


def test_a_move_without_several_attributes_is_refused_in_a_sentence() -> None:
    lab = lab_after("use rc_pair", "modify_qp A.qp0 state=RESET", "modify_qp A.qp0 state=INIT")
    lacking = "qp_access_flags pkey_index port_num"
    wrong = f"A refused modify_qp with EINVAL: this transition also needs {lacking}"
    assert now(lab) == (Meaning.REFUSED, wrong)


def test_a_wrong_rkey_is_named_by_the_caption_of_the_refusal() -> None:
    lab = lab_after(*WRONG_KEY, "until A.qp0.state == ERR")
    answer = all_of(lab)
    went = "A.qp0 went to ERR: wr7 RDMA_WRITE 5 B ended with REM_ACCESS_ERR; wr8 was flushed"
    assert answer[-1] == (Meaning.FAILED, went)
    sent = "B.qp0 went to ERR: B.qp0 sent NAK_REMOTE_ACCESS psn=0 to A"
    assert answer[-2] == (Meaning.FAILED, sent)
    assert answer[-3][0] is Meaning.REFUSED
    assert answer[-3][1].startswith(
        "B.qp0 dropped RDMA_WRITE_ONLY psn=1 8 B from A: the QP is in err"
    )
    lab = lab_after(*WRONG_KEY, "step 3")
    reason = "rkey 0xdead is the key of no MR or bound window on B"
    assert now(lab) == (Meaning.REFUSED, f"B.qp0 refused RDMA_WRITE psn 0: {reason}")


@each("change, reason", (
    ("rereg_mr B.mr0 flags=CHANGE_ACCESS access=LOCAL_WRITE|REMOTE_READ",
     "for LOCAL_WRITE|REMOTE_READ; REMOTE_WRITE is missing"),
    ("rereg_mr B.mr0 flags=CHANGE_PD pd=B.pd1", "opens B.mr0 in B.pd1, B.qp0 is in B.pd0"),
))  # fmt: skip
def test_the_caption_names_the_test_that_a_key_fails(change: str, reason: str) -> None:
    post = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[0]"
    lab = lab_after("use rc_pair", "alloc_pd B.pd1", change, post, "step 2")
    assert now(lab).text.endswith(reason)


def test_a_key_that_has_changed_since_then_is_not_judged_by_what_it_is_now() -> None:
    lab = lab_after(*WRONG_KEY, "step 3")
    event = lab.session.world.event
    lab.do("reg_mr B.mr1 pd=B.pd0 length=8 access=0")
    lab.do("dereg_mr B.mr1")
    text = caption(lab.session.world, lab.session.names, event).text
    assert text.endswith(": the R_Key, its PD, rights or range do not allow it")


def test_the_last_act_is_no_query() -> None:
    lab = lab_after(*WRONG_KEY, "run")
    event = lab.session.world.event
    for line in ("query_qp A.qp0", "show qp", "query_gid A index=99", "show nothing"):
        lab.do(line)
    assert lab.session.world.event > event
    assert last_act(lab.session.world, lab.session.world.event) == event
    lab.do("poll_cq B.cq0")
    assert last_act(lab.session.world, lab.session.world.event) == lab.session.world.event
    assert last_act(lab_after().session.world, -1) == -1


def test_caption_of_rnr_wait_and_retransmission_has_time_and_psn() -> None:
    lab = lab_after("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:4]", "step 5")
    wait = (
        Meaning.ATTENTION,
        "A.qp0 waits 640 us, then sends psn 0 again, without limit (rnr_retry=7)",
    )
    again = (Meaning.WAITING, "A.qp0 retransmits from psn=0: RNR wait over")
    assert all_of(lab)[-2:] == [wait, again]
    nak = "B.qp0 sent RNR_NAK psn=0 timer=12 (640 us) to A"
    assert all_of(lab)[-3] == (Meaning.REFUSED, nak)


def test_a_wait_with_retries_left_has_a_limit() -> None:
    lab = lab_after(
        "use rc_pair rnr_retry=1", "post_send A.qp0 opcode=SEND sg=A.mr0[0:4]", "step 4"
    )
    assert now(lab) == (Meaning.WAITING, "A.qp0 waits 640 us, then sends psn 0 again")


def test_a_nak_of_the_sequence_is_a_failure_as_on_the_wire() -> None:
    lab = lab_after("use rc_pair mtu=256", "fault drop A->B psn=1 nth=1",
                    "post_recv B.qp0 sg=B.mr0", "post_send A.qp0 opcode=SEND sg=A.mr0[0:1024]",
                    "until wire.any(syndrome=NAK_SEQUENCE)")  # fmt: skip
    assert now(lab)[0] is Meaning.FAILED


def test_caption_of_a_lost_packet_is_its_loss() -> None:
    lab = lab_after("use rc_pair", "fault drop A->B nth=1",
                    "post_send A.qp0 opcode=SEND sg=A.mr0[0:4]", "step")  # fmt: skip
    lost = "The cable lost SEND_ONLY psn=0 4 B to B: fault 1: drop A->B nth=1"
    assert now(lab) == (Meaning.LOST, lost)


def test_caption_of_success_has_request_and_completion() -> None:
    send = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:4] flags={}"
    lab = lab_after("use rc_pair", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]",
                    "post_recv B.qp0 sg=B.mr0[64:128]",
                    send.format(1, "SIGNALED"), "run", send.format(3, "0"), "run")  # fmt: skip
    answer = all_of(lab)
    assert (Meaning.OK, "B.qp0 wrote 4 bytes at B.mr0[0]; B.cq0 added wr2 RECV SUCCESS") in answer
    assert (Meaning.OK, "A.qp0 completed wr1 SEND 4 B: SUCCESS, CQE in A.cq0") in answer
    assert (Meaning.OK, "A.qp0 completed wr3 SEND 4 B: SUCCESS, unsignaled: no CQE") in answer


@each("line, text", (
    ("modify_qp A.qp0 state=RTR",
     "A refused modify_qp with EINVAL: RTS → RTR is not a legal transition"),
    ("poll_cq A.cq0", "A: poll_cq found no completion"),
    ("link latency=2us", "The link's latency became 2 us"),
))  # fmt: skip
def test_a_command_has_a_caption_too(line: str, text: str) -> None:
    assert now(lab_after("use rc_pair", line)).text == text


def test_before_the_first_event_the_caption_says_so() -> None:
    assert now(Lab()) == (Meaning.PLAIN, "No event yet")


def test_the_endings_of_a_run_are_joined() -> None:
    lab = lab_after(*WRONG_KEY, "run")
    found = endings(lab.session.names, lab.session.world.trace.records)
    request = "wr7 RDMA_WRITE 5 B ended with REM_ACCESS_ERR; wr8 was flushed"
    assert (found.text, found.moves) == (request, {"B.qp0": "ERR", "A.qp0": "ERR"})


@pytest.mark.parametrize("count", [1, 2, 5])
def test_many_flushed_requests_are_counted(count: int) -> None:
    posts = [f"post_send A.qp0 wr_id={n} opcode=SEND sg=A.mr0[0:4]" for n in range(1, count + 1)]
    lab = lab_after("use rc_pair", *posts, "modify_qp A.qp0 state=ERR", "run")
    by_name = {
        1: "wr1 was flushed",
        2: "wr1, wr2 were flushed",
        5: "wr1, wr2 and 3 more were flushed",
    }
    assert any(by_name[count] in text for _, text in all_of(lab))


@pytest.mark.parametrize("opcode", ["ATOMIC_FETCH_AND_ADD", "ATOMIC_CMP_AND_SWP swap=1"])
def test_an_atomic_that_comes_again_is_called_a_duplicate(opcode: str) -> None:
    lost = (
        f"post_send A.qp0 wr_id=1 opcode={opcode} sg=A.mr0[0:8] remote=B.mr0[0] compare_add=5",
        "fault drop B->A nth=1",
        "until wire.count(from=B) == 2",
    )
    lab = lab_after("use rc_pair", *lost)
    session = lab.session
    first, again = [event for event in range(session.world.event)
                    if now_at(lab, event).text.startswith("B.qp0 received")]  # fmt: skip
    text = ", a duplicate: does not execute it again, and returns the stored result"
    assert now_at(lab, again).text.endswith(text)
    assert story.event_row(session.world, session.names, again).text.endswith(text)
    assert "duplicate" not in now_at(lab, first).text


def now_at(lab: Lab, event: int) -> Caption:
    return caption(lab.session.world, lab.session.names, event)
