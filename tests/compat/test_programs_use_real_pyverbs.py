"""The pyverbs programs use nothing that the installed pyverbs has not got.

They shall run on real devices too, so the real package is the judge, not the lab's.
"""

import ast
import json
import subprocess
from pathlib import Path

import pytest

from tests.compat import judge
from tests.compat.real import PYTHON, needs_pyverbs
from tests.compat.usage import lines_of, usage

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted((ROOT / "pyverbs_programs").glob("*.py"))
WHOLE = {path.name: path.read_text("utf-8") for path in PROGRAMS}

# An edit of a program, and a word of the complaint about it.
MISTAKES = [
    ("rc_pingpong.py", "import CQ, WC", "import CQ, WCX", "WCX"),
    ("rc_pingpong.py", "pyverbs.pd import", "pyverbs.pds import", "pyverbs.pds"),
    ("rc_pingpong.py", "e.IBV_WC_RECV", "e.IBV_WC_RECEIVE", "IBV_WC_RECEIVE"),
    ("rc_pingpong.py", "self.mr.lkey", "self.mr.l_key", "MR has no l_key"),
    ("rc_pingpong.py", "port.active_mtu", "port.mtu", "PortAttr has no mtu"),
    ("rc_pingpong.py", "wc.byte_len", "wc.length", "WC has no length"),
    ("rc_pingpong.py", "receiver.mr.read(", "receiver.mr.peek(", "MR has no peek"),
    ("rc_pingpong.py", "attr.timeout =", "attr.time_out =", "time_out"),
    ("rc_pingpong.py", "attr.dest_qp_num = qp_num", "self.qp.qp_num = qp_num", "qp_num"),
    ("rc_pingpong.py", "is_global=1", "is_globl=1", "is_globl"),
    ("rc_pingpong.py", "gr=route", "grh=route", "grh"),  # what its docstring says, wrongly
    ("rc_pingpong.py", "to_rts(attr)", "to_rts(qp_attr=attr)", "keyword"),
    ("rc_pingpong.py", "to_rts(attr)", "to_rts()", "to_rts takes 1"),
    ("rc_pingpong.py", "read(SIZE, SIZE)", "read(SIZE)", "read() takes exactly 2"),
    ("rc_pingpong.py", "Context(name=device)", "Context(device=device)", "device"),
    ("ud_address_handles.py", "ctx_b.query_gid(", "ctx_b.get_gid(", "Context has no get_gid"),
    ("ud_address_handles.py", "attr=AHAttr(", "ah_attr=AHAttr(", "ah_attr"),
    ("srq_server.py", "event.event_type", "event.type", "AsyncEvent has no type"),
    ("srq_server.py", "srq.query().srq_limit", "srq.query().limit", "SrqAttr has no limit"),
    ("srq_server.py", "client.post_send(", "client.post(", "QP has no post"),
    ("error_handling.py", "error.error_code", "error.errno", "PyverbsRDMAError has no errno"),
    ("error_handling.py", "attr.qp_state)", "attr.state)", "QPAttr has no state"),
    ("wr_api.py", "a.qp.wr_complete()", "a.qp.wr_finish()", "QPEx has no wr_finish"),
    ("wr_api.py", "wr_flags = wr_id", "flags = wr_id", "flags"),
    ("extended_cq.py", "cq.end_poll()", "cq.stop_poll()", "CQEX has no stop_poll"),
    ("xrc.py", "init.srq_type =", "init.type =", "type"),
    ("xrc.py", "queues[index].get_srq_num", "queues[index].srq_num", "SRQ has no srq_num"),
]


def complaints(source: str) -> list[str]:
    """What the installed pyverbs has not got of what a program uses."""
    found = usage(source)
    asked = list(lines_of(found))
    answer = subprocess.run(
        [PYTHON, "-I", judge.__file__],
        input=json.dumps([question for _, question in asked]),
        capture_output=True,
        text=True,
        check=True,
    )
    text = zip(asked, json.loads(answer.stdout), strict=True)
    return found.unclear + [f"line {line}: {answer}" for (line, _), answer in text if answer]


@pytest.mark.parametrize("name", WHOLE)
def test_it_is_a_program_of_one_page(name: str) -> None:
    tree = ast.parse(WHOLE[name])
    assert ast.get_docstring(tree)
    assert "main" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert 40 <= len(WHOLE[name].splitlines()) <= 110
    assert len(list(lines_of(usage(WHOLE[name])))) > 50  # few would mean that few are seen


@needs_pyverbs
@pytest.mark.parametrize("name", WHOLE)
def test_pyverbs_has_all_that_it_uses(name: str) -> None:
    assert complaints(WHOLE[name]) == []


@needs_pyverbs
@pytest.mark.parametrize(("name", "right", "wrong", "word"), MISTAKES)
def test_a_mistake_is_noticed(name: str, right: str, wrong: str, word: str) -> None:
    assert right in WHOLE[name]
    found = complaints(WHOLE[name].replace(right, wrong))
    assert found
    assert any(word in complaint for complaint in found), found


def test_an_attribute_of_something_unknown_is_noticed() -> None:
    found = usage("def of(thing):\n    return thing.qp_num\n")
    assert found.unclear == ["line 2: what is it that has .qp_num?"]


def test_arguments_that_are_not_spelled_out_are_noticed() -> None:
    found = usage("from pyverbs.cq import CQ\n\ndef of(args):\n    return CQ(*args)\n")
    assert found.unclear == ["line 4: spell out the arguments of __init__"]
