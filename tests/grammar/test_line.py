"""Lines → Invocations: the examples of the manual, golden mistakes, and any text at all."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from rdmalab.command import Direction, Invocation, New, NotUnderstood, Noun, Ref, Span
from rdmalab.grammar.line import as_typed, commands_in, commands_of, parse
from rdmalab.vocabulary import VOCABULARY as LAB
from tests.each import each
from tests.grammar.strategies import texts
from tests.grammar.vocabulary import ALIASES, VOCABULARY

QP0, QP1 = Ref("A", "qp0"), Ref("B", "qp0")
MR0 = Ref("A", "mr0", 0, 64)
CQ0 = Ref("A", "cq0")


def read(line: str, **how: Any) -> list[Invocation]:
    return parse(line, VOCABULARY, "A", aliases=ALIASES, **how)


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("alloc_pd A.pd0   # 1", "alloc_pd", {"pd": New(Noun.PD, "A", "pd0")}),
        (
            "reg_mr mr0 pd=pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE",
            "reg_mr",
            {"mr": New(Noun.MR, "A", "mr0"), "pd": Ref("A", "pd0"), "length": 4096, "access": 3},
        ),
        (
            "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=cq0 recv_cq=cq0 sq_sig_all=0",
            "create_qp",
            {
                "qp": New(Noun.QP, "A", "qp0"),
                "pd": Ref("A", "pd0"),
                "qp_type": 2,
                "send_cq": CQ0,
                "recv_cq": CQ0,
                "sq_sig_all": False,
            },
        ),
        (
            "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
            "modify_qp",
            {
                "qp": QP0,
                "attr": {"qp_state": 1, "pkey_index": 0, "port_num": 1, "qp_access_flags": 2},
            },
        ),
        (
            "modify_qp A.qp0 state=RTR path_mtu=1024 dest_qp_num=B.qp0 rq_psn=0 ah=B",
            "modify_qp",
            {
                "qp": QP0,
                "attr": {
                    "qp_state": 2,
                    "path_mtu": 3,
                    "dest_qp_num": QP1,
                    "rq_psn": 0,
                    "ah": Ref("B"),
                },
            },
        ),
        (
            "modify_qp A.qp0 attr_mask=STATE|PORT ah_attr.port_num=2",
            "modify_qp",
            {"qp": QP0, "attr": {"ah_attr": {"port_num": 2}}, "attr_mask": 33},
        ),
        ("modify_qp A.qp0", "modify_qp", {"qp": QP0, "attr": {}}),
        ("modify_qp attr.timeout=1 qp=qp0", "modify_qp", {"qp": QP0, "attr": {"timeout": 1}}),
        (
            "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64],B.mr0[128:192]",
            "post_recv",
            {
                "qp": QP1,
                "wr": [{"wr_id": 1, "sg": [Ref("B", "mr0", 0, 64), Ref("B", "mr0", 128, 192)]}],
            },
        ),
        ("post_recv B.qp0", "post_recv", {"qp": QP1, "wr": [{}]}),
        (
            "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
            "post_send",
            {"qp": QP0, "wr": [{"wr_id": 7, "opcode": 2, "sg": [MR0], "flags": 2}]},
        ),
        (
            "ibv_post_send qp0 opcode=IBV_WR_SEND send_flags=IBV_SEND_SIGNALED",
            "post_send",
            {"qp": QP0, "wr": [{"opcode": 2, "flags": 2}]},
        ),
        (
            "post_send qp0 opcode=RDMA_WRITE sg=mr0[0:64] remote=B.mr0[100]",
            "post_send",
            {"qp": QP0, "wr": [{"opcode": 0, "sg": [MR0], "remote": Ref("B", "mr0", 100)}]},
        ),
        (
            "post_send qp0 opcode=RDMA_WRITE remote_addr=0x1064 rkey=0xdead",
            "post_send",
            {"qp": QP0, "wr": [{"opcode": 0, "remote_addr": 0x1064, "rkey": 0xDEAD}]},
        ),
        (
            "post_send qp0 opcode=SEND num_sge=3 imm_data=htonl(0x1234) ah=NULL bad_wr=NULL",
            "post_send",
            {
                "qp": QP0,
                "wr": [{"opcode": 2, "num_sge": 3, "imm_data": 0x34120000, "ah": None}],
                "bad_wr": None,
            },
        ),
        (
            "post_send qp0 wr={opcode=SEND wr_id=1} wr={opcode=SEND flags=FENCE}",
            "post_send",
            {"qp": QP0, "wr": [{"opcode": 2, "wr_id": 1}, {"opcode": 2, "flags": 1}]},
        ),
        (
            "post_send qp0 {opcode=SEND},{opcode=99}",
            "post_send",
            {"qp": QP0, "wr": [{"opcode": 2}, {"opcode": 99}]},
        ),
        (
            "post_send qp0 opcode=SEND sg={addr=0x1064 length=0 lkey=0xdead}",
            "post_send",
            {
                "qp": QP0,
                "wr": [{"opcode": 2, "sg": [{"addr": 0x1064, "length": 0, "lkey": 0xDEAD}]}],
            },
        ),
        (
            "post_recv B.qp0 sg={addr=1} sg=A.mr0[0:64]",
            "post_recv",
            {"qp": QP1, "wr": [{"sg": [{"addr": 1}, MR0]}]},
        ),
        ("poll_cq A.cq0 num_entries=4", "poll_cq", {"cq": CQ0, "num_entries": 4}),
        ('write A.mr0[0:5] "hello"', "write", {"where": Ref("A", "mr0", 0, 5), "text": "hello"}),
        ("step", "step", {}),
        ("s 5", "step", {"count": 5}),
        ("n", "step", {"kind": "packet"}),
        ("rc", "run", {"goal": "backwards"}),
        ("goto @before-nak", "goto", {"mark": "@before-nak"}),
        (
            "fault drop B->A opcode=ACKNOWLEDGE nth=1",
            "fault",
            {"what": "drop", "direction": Direction("B", "A"), "opcode": "ACKNOWLEDGE", "nth": 1},
        ),
        (
            "fault delay A->B 3us",
            "fault",
            {"what": "delay", "direction": Direction("A", "B"), "by": 3000},
        ),
        ("explain IBV_WC_RNR_RETRY_EXC_ERR", "explain", {"word": "IBV_WC_RNR_RETRY_EXC_ERR"}),
        ("explain modify_qp RTR", "explain", {"word": "modify_qp", "more": "RTR"}),
        ("show qp A.qp0", "show", {"what": "qp", "thing": QP0}),
        ("show wire last=5", "show", {"what": "wire", "last": 5}),
        ("connect A.qp0 B.qp0 mtu=1024", "connect", {"one": QP0, "other": QP1, "mtu": 3}),
        ("use rc_pair nodes=A,B", "use", {"what": "rc_pair", "nodes": [Ref("A"), Ref("B")]}),
    ],
)
def test_a_line_of_the_manual(line: str, name: str, arguments: dict[str, Any]) -> None:
    assert read(line) == [Invocation(name, arguments)]


@pytest.mark.parametrize(
    ("line", "text", "more"),
    [
        ("until A.cq0.count == 1 within 2ms", "A.cq0.count == 1", {"within": 2_000_000}),
        ("until A.cq0.count==1 within=2ms", "A.cq0.count == 1", {"within": 2_000_000}),
        ("until idle limit=3 within 5ns", "idle", {"limit": 3, "within": 5}),
        ("until within 5ns condition=cq0.count>1", "A.cq0.count > 1", {"within": 5}),
        ('until why(qp0.wr[7])=="within"', 'why(A.qp0.wr[7]) == "within"', {}),
        ("run until A.qp0.state == ERR", "A.qp0.state == ERR", {"goal": "until"}),
        ("b A.qp0.state == ERR # why", "A.qp0.state == ERR", {}),
    ],
)
def test_a_question_takes_the_rest_of_the_line(line: str, text: str, more: dict[str, Any]) -> None:
    (answer,) = read(line)
    assert answer.arguments.pop("condition").text == text
    assert answer.arguments == more


def test_several_commands() -> None:
    line = "post_send qp0 opcode=SEND ; link down\n\nstep # ; step\n;"
    assert [i.name for i in read(line)] == ["post_send", "link", "step"]
    assert [i.line for i in read(line)] == ["post_send qp0 opcode=SEND", "link down", "step"]
    assert read("") == read(" # nothing") == []


def test_places_lead_to_the_values() -> None:
    line = "step; modify_qp qp0 state=RTS ah_attr.port_num=2"
    _, answer = read(line)
    shown = {key: line[place.start : place.stop] for key, place in answer.places.items()}
    assert shown == {
        "": "modify_qp",
        "qp": "qp0",
        "state": "RTS",
        "qp_state": "RTS",
        "attr.qp_state": "RTS",
        "ah_attr.port_num": "2",
        "port_num": "2",
        "attr.ah_attr.port_num": "2",
    }


def test_each_record_of_a_list_has_a_place() -> None:
    line = "post_send qp0 wr={opcode=SEND} wr={opcode=TSO}"
    (answer,) = read(line)
    place = answer.places["wr[1]"]
    assert line[place.start : place.stop] == "{opcode=TSO}"


def test_aliases_and_default_nodes_are_for_people_not_for_files() -> None:
    with pytest.raises(NotUnderstood, match='no verb "s"'):
        read("s", file=True)
    with pytest.raises(NotUnderstood, match='whose "qp0"') as wrong:
        parse("modify_qp qp0", VOCABULARY, file=True)
    assert wrong.value.hint == "write A.qp0 or B.qp0"


OPCODES = (
    "; legal for opcode: RDMA_WRITE, RDMA_WRITE_WITH_IMM, SEND, SEND_WITH_IMM, RDMA_READ, "
    "ATOMIC_CMP_AND_SWP, …"
)
MISTAKES = [
    # line; the caret under it; message | hint
    "post_sned qp0 opcode=SEND",
    "^^^^^^^^^",
    'no verb "post_sned" | did you mean post_send?',
    "ibv_post_sned qp0",
    "^^^^^^^^^^^^^",
    'no verb "ibv_post_sned" | did you mean post_send?',
    "poll",
    "^^^^",
    'no verb "poll" | did you mean poll_cq?',
    "leave",
    "^^^^^",
    'no verb "leave" | quit leaves; new leaves a lab or a lesson only',
    "find timeout",
    "^^^^",
    'no verb "find" | / in a pane finds a text; explain WORD explains a term, '
    "help WORD a verb or a key",
    "theme light",
    "^^^^^",
    'no verb "theme" | settings theme NAME chooses the colours; F3 changes to the next theme',
    "frobnicate",
    "^^^^^^^^^^",
    'no verb "frobnicate" | help all lists the verbs',
    '"step"',
    "^^^^^^",
    'a verb is wanted here, not ""step"" | help all lists them',
    "step ; modify_qp qp0 state=RTSS",
    "                           ^^^^",
    '"RTSS" is no QP state | did you mean RTS?',
    "post_send A.qp0 opcode=SEND wr_id=7 flag=SIGNALED",
    "                                    ^^^^",
    'no key "flag" | did you mean flags?',
    "post_send A.qp0 opcode=SEND qqqq=1",
    "                            ^^^^",
    'no key "qqqq" | legal here: bad_wr, wr_id, sg, num_sge, flags, imm_data, …',
    "post_send",
    "^^^^^^^^^",
    f"post_send needs qp, opcode | add qp=… opcode=…{OPCODES}",  # they have no docstrings
    "post_send A.qp0",
    "^^^^^^^^^",
    f"post_send also needs opcode | add opcode=…{OPCODES}",
    "reg_mr A.mr0",
    "^^^^^^",
    "reg_mr also needs pd, length | add pd=… length=…",
    "modify_qp A.qp0 timeout=14 timeout=15",
    "                           ^^^^^^^",
    "timeout is given twice | leave one out",
    "modify_qp A.qp0 state=RTS qp_state=RTS",
    "                          ^^^^^^^^",
    "state is given twice | leave one out",
    "modify_qp A.qp0 qp=B.qp0",
    "                ^^",
    "qp is given twice | leave one out",
    "post_send qp0 wr={opcode=SEND} wr_id=3",
    "                               ^^^^^",
    "wr and wr_id give parts of one record in two ways | write all of it in the braces, or none",
    "post_send qp0 wr_id=3 wr={opcode=SEND}",
    "                      ^^",
    "wr_id and wr give parts of one record in two ways | write all of it in the braces, or none",
    "modify_qp A.qp0 timeout= port_num=1",
    "                ^^^^^^^",
    "timeout has no value | write 12 or 0x1f",
    "until idle within",
    "           ^^^^^^",
    "within has no value | write 10us or 2ms",
    "until A.cq0.count = 1",
    "                  ^",
    '"=" does not compare | did you mean ==?',
    "until A.qp0.state ==",
    "                    ",
    "a name or a value is missing here | write A.qp0.state or 12",
    "until idle condition=idle",
    "           ^^^^^^^^^",
    "condition is given twice | leave one out",
    "poll_cq A.cq0 num",
    "              ^^^",
    'unexpected "num" | did you mean num_entries=?',
    "alloc_pd A.pd0 a=b",
    "               ^",
    'no key "a" | leave it out',
    "alloc_pd A.pd0 {a=b}",
    "               ^^^^^",
    'unexpected "{…}" | leave it out',
    "step pakcet",
    "     ^^^^^^",
    '"pakcet" means nothing here | did you mean packet?',
    "step foo",
    "     ^^^",
    '"foo" means nothing here | legal here: event, packet, cqe',
    "step 1x",
    "     ^^",
    '"1x" is not a number | write 12 or 0x1f',
    "fault drpo B->A",
    "      ^^^^",
    '"drpo" means nothing here | did you mean drop?',
    "run 100",
    "    ^^^",
    '"100" has no unit | did you mean 100us?',
    "run utnil idle",
    "    ^^^^^",
    '"utnil" means nothing here | did you mean until?',
    'write A.mr0 "a\\q"',
    "              ^^",
    r"no such escape | write \n \t or \x41",
    "post_send qp0 wr={opcode=SEND",
    "                 ^",
    'this "{" is never closed | end it with }',
    "post_send qp0 {opcode=SENT}",
    "                      ^^^^",
    '"SENT" is no opcode of a work request | did you mean SEND?',
]


@pytest.mark.parametrize(
    ("line", "carets", "text"),
    list(zip(MISTAKES[::3], MISTAKES[1::3], MISTAKES[2::3], strict=True)),
)
def test_a_mistake_is_shown_where_it_is(line: str, carets: str, text: str) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        read(line)
    place = wrong.value.place
    assert f"{wrong.value.message} | {wrong.value.hint}" == text
    assert " " * place.start + "^" * (place.stop - place.start) == carets
    assert wrong.value.line == line


@given(texts)
def test_any_text_is_understood_or_not(text: str) -> None:
    refusal: NotUnderstood | None = None
    try:
        answer = read(text)
    except NotUnderstood as wrong:
        answer, refusal = [], wrong
    assert all(invocation.places[""] != Span(0, 0) for invocation in answer)
    assert refusal is None or is_useful(refusal, text)


def is_useful(refusal: NotUnderstood, text: str) -> bool:
    is_inside = 0 <= refusal.place.start <= refusal.place.stop <= len(text)
    return is_inside and bool(refusal.hint) and refusal.line == text


@pytest.mark.parametrize(
    ("line", "wrong", "hint"),
    [
        ("ibv_post_send(qp, &wr, &bad_wr);", "ibv_post_send", "write post_send"),
        ("ibv_modify_qp(qp, &attr, IBV_QP_STATE)", "ibv_modify_qp", "write modify_qp A.qp0 "),
        ("int rc = ibv_poll_cq(cq, 1, &wc);", "ibv_poll_cq", "write poll_cq A.cq0 "),
        ("post_recv(A.qp0)", "post_recv", "write post_recv "),
    ],
)
def test_a_pasted_call_of_c_gets_the_form_of_the_lab(line: str, wrong: str, hint: str) -> None:
    with pytest.raises(NotUnderstood, match="is a call in C, not a line of rdmalab") as caught:
        parse(line, LAB, "A")
    assert line[slice(*caught.value.place)] == wrong
    assert caught.value.hint.startswith(hint)
    assert parse(caught.value.hint.removeprefix("write "), LAB, "A")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "ibv_modify_qp(A.qp0, {.qp_state=IBV_QPS_RESET}, IBV_QP_STATE)",
            "write modify_qp A.qp0 qp_state=IBV_QPS_RESET",
        ),
        (
            "ibv_post_send(A.qp0, {.opcode = IBV_WR_RDMA_WRITE, .wr_id = 3}, &bad_wr);",
            "write post_send A.qp0 opcode=IBV_WR_RDMA_WRITE wr_id=3",
        ),
    ],
)
def test_what_a_pasted_call_sets_is_in_the_line_that_is_offered(line: str, hint: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        parse(line, LAB, "A")
    assert caught.value.hint == hint


@each("verb", [name for name, command in LAB.items() if command.changes_world])
def test_a_pasted_call_of_c_is_never_answered_with_a_line_that_tears_down(verb: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        parse(f"ibv_{verb}(qp, &attr)", LAB, "A")
    tears_down = r"write .*(destroy|dealloc|dereg|close|detach)_|state=(ERR|RESET)"
    assert re.search(tears_down, caught.value.hint) is None


def test_a_call_of_a_function_that_the_lab_lacks() -> None:
    with pytest.raises(NotUnderstood, match='no verb "ibv_get_device_list"'):
        parse("ibv_get_device_list(&n)", LAB, "A")


def test_parentheses_after_a_space_are_no_call() -> None:
    assert parse("until (now > 3us)", LAB, "A")[0].name == "until"


def test_lines_of_a_text() -> None:
    assert commands_of("a\n\nb wr={x=1\n y=2}\nc") == [(1, "a"), (3, "b wr={x=1\n y=2}"), (5, "c")]
    assert commands_of("a {") == [(1, "a {")]
    assert commands_of("") == []
    assert commands_of("\n\na {\n\n  b\n") == [(3, "a {\n\n  b")]
    assert commands_of("a }\nb {x\n}\nc") == [(1, "a }"), (2, "b {x\n}"), (4, "c")]


def test_a_command_is_there_as_soon_as_its_last_brace_is_closed() -> None:
    read: list[str] = []

    def lines() -> Iterator[tuple[int, str]]:
        for number, line in enumerate(["a {", "}", "b"], 1):
            read.append(line)
            yield number, line

    assert next(commands_in(lines())) == (1, "a {\n}")
    assert read == ["a {", "}"]


@pytest.mark.parametrize("line", ["{}\n", "a b c\n", "{\n"])
def test_each_line_in_open_braces_is_scanned_once(line: str) -> None:
    start = time.process_time()
    assert len(commands_of("program A.x lines={\n" + line * 10_000)) == 1
    assert time.process_time() - start < 2  # it took more than 200 s


def test_a_verb_that_is_not_emulated_is_no_misspelling() -> None:
    with pytest.raises(NotUnderstood) as wrong:
        read("modify_cq A.cq0 moder_cnt=4")
    assert wrong.value.message.startswith("modify_cq is not emulated: completion events")
    assert wrong.value.hint == "rdmalab capabilities lists what is emulated"


def test_letters_that_begin_several_keys_list_these() -> None:
    """The list of all keys is cut after six, before pkey_index and port_num."""
    with pytest.raises(NotUnderstood) as wrong:
        parse("modify_qp B.qp0 state=INIT p", LAB)
    hint = wrong.value.hint
    assert {"pkey_index=", "port_num="} <= set(hint.removeprefix("legal here: ").split(", "))
    assert "attr_mask" not in hint


def test_a_loop_under_the_name_of_another_language_is_led_to_it() -> None:
    with pytest.raises(NotUnderstood) as wrong:
        parse("program B.rx lines={repeat 4; stop}", LAB)
    assert wrong.value.hint == "did you mean loop?"


LINES = {
    "ibv_modify_qp(A_qp0, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | "
    "IBV_QP_ACCESS_FLAGS);":
        "modify_qp A.qp0 state=INIT qp_access_flags=REMOTE_WRITE pkey_index=0 port_num=1",
    "if (ibv_modify_qp(B_qp1, &attr, IBV_QP_STATE|IBV_QP_AV|IBV_QP_PATH_MTU|IBV_QP_DEST_QPN"
    "|IBV_QP_RQ_PSN|IBV_QP_MAX_DEST_RD_ATOMIC|IBV_QP_MIN_RNR_TIMER))":
        "modify_qp B.qp1 state=RTR path_mtu=512 rq_psn=0 dest_qp_num=A.qp0 ah=A "
        "max_dest_rd_atomic=1 min_rnr_timer=12",
    "ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)":
        "modify_qp A.qp0 state=RTS sq_psn=0 timeout=14",
    "ret = ibv_poll_cq(B_cq1, 16, wc);": "poll_cq B.cq1 num_entries=16",
    "A_mr1 = ibv_reg_mr(A_pd0, (void *)0x10000000, 4096, IBV_ACCESS_LOCAL_WRITE | "
    "IBV_ACCESS_REMOTE_WRITE);":
        "reg_mr A.mr1 pd=A.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE",
    "ibv_create_cq(ctx, 64, NULL, channel, 0)": "create_cq A.cq1 cqe=64 comp_vector=0",
    "ibv_req_notify_cq(A_cq0, 1)": "req_notify_cq A.cq0 solicited_only=1",
    "ibv_ack_cq_events(cq, n)": "ack_cq_events A.cq1 nevents=1",
    "ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init)":
        "query_qp A.qp0 attr_mask=STATE|CAP",
}  # fmt: skip


@pytest.mark.parametrize("call", LINES)
def test_a_call_is_answered_with_its_line(call: str) -> None:
    with pytest.raises(NotUnderstood, match="is a call in C") as caught:
        parse(call, LAB, "A")
    assert caught.value.hint == f"write {LINES[call]}"
    assert parse(LINES[call], LAB, "A")


@each("copied, typed", [
    ("post_send A.qp0 opcode=SEND\n    sg=A.mr0[0:64]\n    flags=SIGNALED\nrun",
     "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED\nrun"),
    ("A> poll_cq A.cq0\n B> run 1ms", "poll_cq A.cq0\nrun 1ms"),
    ("run\nwhy A.qp0\n", "run\nwhy A.qp0\n"),
    ("break A.qp0.state == ERR\nrun", "break A.qp0.state == ERR\nrun"),
    ("wait A.x\n\nA.qp0.sq.used==1", "wait A.x\n\nA.qp0.sq.used==1"),
])  # fmt: skip
def test_a_line_that_was_copied_from_a_screen_has_neither_prompt_nor_folds(
    copied: str, typed: str
) -> None:
    assert as_typed(copied) == typed
