"""Canonical text: what is written is read again as the same."""

import pytest
from hypothesis import given

from rdmalab.command import Command, Invocation
from rdmalab.grammar.format import render
from rdmalab.grammar.line import parse
from tests.grammar.strategies import invocations
from tests.grammar.vocabulary import ALIASES, VOCABULARY


@given(invocations)
def test_what_is_written_is_read_again_as_the_same(both: tuple[Command, Invocation]) -> None:
    command, invocation = both
    text = render(invocation, command)
    assert parse(text, VOCABULARY, file=True) == [invocation]
    assert parse(text, VOCABULARY, "A", aliases=ALIASES) == [invocation]


@given(invocations)
def test_canonical_text_is_one_visible_line_and_stays_as_it_is(
    both: tuple[Command, Invocation],
) -> None:
    command, invocation = both
    text = render(invocation, command)
    assert text.isprintable()
    (again,) = parse(text, VOCABULARY)
    assert render(again, command) == text


@pytest.mark.parametrize(
    ("line", "canonical"),
    [
        ("ibv_post_send qp0 flags=2 opcode=10", "post_send A.qp0 flags=SIGNALED opcode=TSO"),
        ("modify_qp qp0 state=3 path_mtu=3", "modify_qp A.qp0 qp_state=RTS path_mtu=1024"),
        ("modify_qp qp0 ah_attr={port_num=2}", "modify_qp A.qp0 ah_attr.port_num=2"),
        ("modify_qp qp0 ah_attr={}", "modify_qp A.qp0 ah_attr={}"),
        ("post_send qp0 {opcode=99 rkey=htonl(1)}", "post_send A.qp0 opcode=99 rkey=0x1000000"),
        ("post_send qp0 wr=[]", "post_send A.qp0 wr=[]"),
        ("until cq0.count==1 within=2000us", "until A.cq0.count == 1 within 2ms"),
        ("until (A.qp0.x == within) limit=2", "until (A.qp0.x == within) limit=2"),
        (
            "post_send qp0 opcode=0 remote_addr=4096 rkey=57005",
            "post_send A.qp0 opcode=RDMA_WRITE remote_addr=0x1000 rkey=0xdead",
        ),
        ("n", "step packet"),
        ("goto mark=30", 'goto mark=30'),
        ("goto 9.2us", "goto 9.2us"),
        ("write mr0[:5] hello", "write A.mr0[0:5] hello"),
        ("write mr0 \"a b\"", 'write A.mr0 "a b"'),
        (
            "create_qp qp0 pd=pd0 send_cq=cq0 recv_cq=cq0 sq_sig_all=on",
            "create_qp A.qp0 pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0 sq_sig_all=1",
        ),
        ("fault drop A -> B", "fault drop A->B"),
        ('mark "within" within 2s', "mark name=within within 2s"),
        ('mark name=until label=x condition=now==1', "mark until now == 1 label=x"),
        ("mark label=x", "mark label=x"),
        ("link up end=B", "link up end=B"),
        ('link up end="B"', 'link up end="B"'),
        ("link up end=left", "link up end=left"),
        ("mark a idle", "mark a idle"),
        ("mark a NULL label=b", "mark a NULL label=b"),
        ('mark ""', 'mark ""'),
        ("run condition=0", "run condition=0"),
        ("run condition=NULL", "run condition=NULL"),
    ],
)  # fmt: skip
def test_the_canonical_text(line: str, canonical: str) -> None:
    (answer,) = parse(line, VOCABULARY, "A", aliases=ALIASES)
    assert render(answer, VOCABULARY[answer.name]) == canonical
