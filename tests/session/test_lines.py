"""Lines: nothing of what is not understood happens, and what is refused changes nothing."""

import pytest

from rdmalab.command import aliases
from rdmalab.lab import Lab
from rdmalab.session.lines import Script, replies
from rdmalab.spec.records import B, Kind
from rdmalab.vocabulary import VOCABULARY
from tests.labs import (
    BUSY,
    RECV,
    SEND,
    everything,
    fingerprint,
    lab_of,
    misread,
    refusal,
    still,
    well,
)

NONSENSE = [
    "post_sned A.qp0 opcode=SEND",
    "post_send A.qp0",
    "post_send A.qp0 opcode=SND",
    "post_send A.qp9 opcode=SEND",
    "post_send A.mr0 opcode=SEND",
    "post_send A.qp0 opcode=SEND sg=A.mr9",
    "post_send A.qp0 opcode=SEND sg=A.mr0[9:5]",
    "post_send A.qp0 opcode=SEND imm_data=0x100000000",
    "post_send A.qp0 wr={opcode=SEND} opcode=SEND",
    "post_send A.qp0 opcode=SEND opcode=SEND",
    "create_cq A.cq0 cqe=16",
    "create_cq C.cq0 cqe=16",
    "modify_qp A.qp0 state=RTZ",
    'write A.mr0[0:2] "hello"',
    "fill A.mr0[4095:4097]",
    "fill A.mr0 256",
    "read A.mr0[0:4097]",
    "fault drop A->C",
    "fault lose A->B",
    "fault corrupt bit=8",
    "link mtu=1000",
    "link rate=0bps",
    "run 5",
    "until",
    "until A.qp0.stat == ERR",
    "to_rts A.qp0 B.qp0",
    "show sq",
    "show packet 3",
    "node C",
    "use rc_pear",
    '"',
    "= = =",
    "step }",
]


@pytest.fixture(scope="module")
def pair() -> Lab:
    return lab_of(*BUSY, "run 3us")


@pytest.mark.parametrize("line", NONSENSE)
def test_what_is_not_understood_changes_nothing(pair: Lab, line: str) -> None:
    before = everything(pair)
    error = misread(pair, line)
    assert everything(pair) == before
    assert error.message
    assert error.line in line
    assert 0 <= error.place.start <= error.place.stop <= len(line)


# In the setup of `worn`: a full send queue on A, destroyed things, QPs in every state.
WORN = (
    "alloc_pd A.pd1",
    "create_cq A.cq1 cqe=1",
    "create_qp A.reset pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "create_qp A.init pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "modify_qp A.init state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "create_qp A.err pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "modify_qp A.err state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "modify_qp A.err state=ERR",
    "create_qp A.gone pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "destroy_qp A.gone",
    "create_cq A.gonecq cqe=1",
    "destroy_cq A.gonecq",
    "reg_mr A.gonemr pd=A.pd0 length=8 access=0",
    "dereg_mr A.gonemr",
    "alloc_pd A.gonepd",
    "dealloc_pd A.gonepd",
    "link down",
    *[SEND] * 8,
    "run 3us",
)
_INIT = "state=INIT pkey_index=0 port_num=1 qp_access_flags=0"
REFUSED = {
    "reg_mr A.mr1 pd=A.pd0 length=0 access=0": "mr-length",
    "reg_mr A.mr1 pd=A.pd0 length=8 access=REMOTE_WRITE": "mr-access",
    "reg_mr A.mr1 pd=A.pd0 length=8 access=0x400": "mr-access-unknown",
    "reg_mr A.mr1 pd=A.pd0 length=8 access=0 addr=5": "mr-unmapped",
    "reg_mr A.mr1 pd=B.pd0 length=8 access=0": "other-node",
    "reg_mr A.mr1 pd=A.gonepd length=8 access=0": "use-after-destroy",
    "create_cq A.cq2 cqe=0": "cqe-range",
    "create_cq A.cq2 cqe=1 comp_vector=-1": "comp-vector",
    "create_qp A.qp2 pd=A.pd0 qp_type=77 send_cq=A.cq0 recv_cq=A.cq0": "qp-type-unknown",
    "create_qp A.qp2 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=9999999": "qp-cap",
    "create_qp A.qp2 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=B.cq0": "other-node",
    "create_qp A.qp2 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.gonecq": "use-after-destroy",
    f"modify_qp A.qp0 {_INIT}": "transition",
    "modify_qp A.reset state=RTR": "transition",
    "modify_qp A.reset state=INIT": "attr-missing",
    f"modify_qp A.reset {_INIT} timeout=1": "attr-surplus",
    f"modify_qp A.reset {_INIT.replace('num=1', 'num=9')}": "attr-range",
    "modify_qp A.init state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah_attr={port_num=1}": "ah-global",
    "modify_qp A.gone state=ERR": "use-after-destroy",
    "query_qp A.gone": "use-after-destroy",
    "destroy_qp A.gone": "use-after-destroy",
    "poll_cq A.gonecq": "use-after-destroy",
    "destroy_cq A.cq0": "in-use",
    "destroy_cq A.gonecq": "use-after-destroy",
    "dereg_mr A.gonemr": "use-after-destroy",
    "dealloc_pd A.pd0": "in-use",
    "dealloc_pd A.gonepd": "use-after-destroy",
    SEND: "queue-full",
    f"post_send A.reset {SEND.partition('A.qp0')[2]}": "send-state",
    f"post_send A.init {SEND.partition('A.qp0')[2]}": "send-state",
    "post_send B.qp0 opcode=99": "opcode-unknown",
    "post_send B.qp0 opcode=BIND_MW": "crash-mw",
    f"post_send B.qp0 opcode=SEND sg={','.join(['B.mr0'] * 40)}": "send-sges",
    "post_send B.qp0 opcode=SEND flags=0x40": "send-flags",
    "post_send B.qp0 opcode=SEND sg=B.mr0 flags=INLINE": "inline-length",
    "post_send B.qp0 opcode=RDMA_READ sg=B.mr0[0:8] flags=INLINE": "inline-opcode",
    "post_send B.qp0 opcode=SEND sg=A.gonemr": "use-after-destroy",
    "post_send B.qp0 opcode=RDMA_READ sg=B.mr0[0:8] remote=A.gonemr": "use-after-destroy",
    "post_recv A.reset wr_id=1": "recv-state",
    f"post_recv B.qp0 sg={','.join(['B.mr0'] * 40)}": "recv-sges",
    "post_recv A.gone wr_id=1": "use-after-destroy",
    "fill A.gonemr": "use-after-destroy",
    'write A.gonemr "x"': "use-after-destroy",
}


@pytest.fixture(scope="module")
def worn() -> Lab:
    return lab_of(*WORN)


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_refused_leaves_its_call_in_the_log_and_nothing_else(worn: Lab, line: str) -> None:
    session, world = worn.session, worn.session.world
    before, names = still(world), repr((session.names.thing_of, session.names.retired))
    event, records, journal = world.event, len(world.trace.records), len(session.journal)
    refused = refusal(worn, line)
    assert refused.rule == REFUSED[line]
    assert still(world) == before
    assert repr((session.names.thing_of, session.names.retired)) == names
    assert (world.event, len(session.journal)) == (event + 1, journal + 1)
    why, call = world.trace.records[records:]
    verb, node = line.partition(" ")[0], line.split()[1][0]
    spoken_to = call[5]  # the number of the thing; 0 if it does not exist, or not yet
    head = (event + 1, world.now_ns, -1)
    assert why == (*head, Kind.REFUSED, node, spoken_to, refused.rule, refused.message)
    assert call == (*head, Kind.CALLED, node, spoken_to, verb, refused.errno)


def test_most_rules_are_met_above() -> None:
    assert len(set(REFUSED.values())) >= 25


def test_looking_at_what_was_destroyed_is_refused_and_no_event() -> None:
    lab = lab_of("dereg_mr A.mr0")
    before = everything(lab)
    for line in ("read A.mr0", "hexdump A.mr0", "show A.mr0"):
        assert refusal(lab, line).rule == "use-after-destroy"
    assert everything(lab) == before


def test_use_after_destroy_says_so() -> None:
    lab = lab_of("destroy_qp A.qp0")
    refused = refusal(lab, SEND)
    assert refused.errno == 14
    assert refused.message == "this qp was destroyed; in C this is a segmentation fault"
    assert lab.session.world.trace.records[-1][B] == 14


# --------------------------------------------------------------------------- short forms
def test_a_short_form_is_the_same_as_its_lines() -> None:
    short, spelled = lab_of(), Lab()
    script = Lab().do("use rc_pair")[0].value
    assert isinstance(script, Script)
    for line in script.lines:
        well(spelled, line)
    assert everything(short) == everything(spelled)
    assert [entry.invocation.name for entry in short.session.journal[:4]] == [
        "alloc_pd",
        "reg_mr",
        "create_cq",
        "create_qp",
    ]


def test_a_short_form_that_fails_halfway_ends_there() -> None:
    lab = lab_of("create_cq B.mine cqe=1", "reset A.qp0")
    replies = lab.do("connect A.qp0 B.qp0")
    assert [reply.failed for reply in replies] == [False, False, True]
    assert replies[-1].depth == 1
    assert lab.look("A.qp0.state == INIT")


def test_commands_after_a_failed_short_form_are_not_carried_out() -> None:
    lab = lab_of()
    assert lab.do("use rc_pair cqe=0; alloc_pd A.pd7")[-1].failed
    assert lab.session.names.find("A.pd7") is None


@pytest.mark.parametrize("short", aliases(VOCABULARY))
def test_short_words_are_for_fingers_and_not_for_files(short: str) -> None:
    lab = lab_of(RECV, SEND)
    what = " idle" if short == "b" else ""  # the only one that needs to be told more
    (reply,) = replies(lab.session, short + what)
    (spelled,) = replies(lab.session, lab.session.aliases[short] + what)
    assert reply.invocation is not None
    assert reply.invocation == spelled.invocation
    (reply,) = replies(lab.session, short + what, file=True)
    assert reply.error is not None


def test_a_file_has_full_names() -> None:
    lab = lab_of()
    (reply,) = replies(lab.session, "query_qp qp0", file=True)
    assert reply.error is not None
    assert reply.error.hint == "write A.qp0 or B.qp0"


@pytest.mark.parametrize("line", ["", "   ", "# only a remark", ";;", "\n\n"])
def test_silence_is_no_mistake(line: str) -> None:
    lab = lab_of()
    assert lab.do(line) == []


def test_reply_has_the_number_of_its_first_record() -> None:
    lab = lab_of()
    first = len(lab.session.world.trace.records)
    reply = well(lab, 'write A.mr0[0:5] "hello"')
    assert reply.first_record == first
    assert reply.event == lab.session.world.event


def test_spellings_of_one_thing_are_one_world() -> None:
    one = lab_of("post_send A.qp0 wr_id=0x1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    two = lab_of(
        "ibv_post_send qp0 flags=IBV_SEND_SIGNALED sg_list=mr0[:64] opcode=ibv_wr_send wr_id=1"
    )
    assert fingerprint(one) == fingerprint(two)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("reg_mr A.pd0 length=4096", "reg_mr A.mr1 pd=A.pd0 length=4096 access=…"),
        ("reg_mr pd0 length=64 access=0", "reg_mr A.mr1 pd=A.pd0 length=64 access=0"),
        (
            "create_qp A.pd0 send_cq=A.cq0 recv_cq=A.cq0 qp_type=RC",
            "create_qp A.qp1 pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0 qp_type=RC",
        ),
        ("create_qp A.cq0 pd=A.pd0", "create_qp A.qp1 send_cq=A.cq0 pd=A.pd0 qp_type=…"),
        ("create_cq A.channel0 cqe=16", "create_cq A.cq1 channel=A.channel0 cqe=16"),
        ("create_ah A.pd0 to=B", "create_ah A.ah0 pd=A.pd0 to=B"),
        ("alloc_mw A.pd0 type=1", "alloc_mw A.mw0 pd=A.pd0 type=1"),
    ],
)
def test_the_name_of_a_parent_is_not_taken_for_the_name_of_the_new_object(
    line: str, meant: str
) -> None:
    wrong = misread(lab_of(), line)
    assert wrong.message.endswith(
        tuple(f"the new {noun}" for noun in ("MR", "QP", "CQ", "AH", "MW"))
    )
    assert wrong.hint == f"write {meant}"
    assert wrong.place.start == line.index(" ") + 1


def test_the_first_free_name_is_offered_and_what_is_offered_is_legal() -> None:
    lab = lab_of("reg_mr A.mr1 pd=A.pd0 length=64 access=0")
    hint = misread(lab, "reg_mr A.pd0 length=4096 access=0").hint
    well(lab, hint.removeprefix("write "))
    assert "A.mr2" in hint
