"""why, apply and checklist as words of the prompt."""

import pytest

from rdmalab.command import NothingToDo
from rdmalab.doctor.checklist_report import ChecklistReport
from rdmalab.doctor.diagnosis.diagnose import LISTS
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.report.report import Report
from rdmalab.doctor.report.rows import RowPart
from rdmalab.lab import Lab
from tests.labs import misread

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_BAD = "post_send A.qp0 wr_id=8 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=1 rkey=1 flags=SIGNALED"


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.do("use rc_pair")
    return lab


def asked(lab: Lab, line: str) -> Report:
    reply = lab.do(line)[0]
    assert isinstance(reply.value, Report), reply
    return reply.value


def not_understood(lab: Lab, line: str) -> str:
    reply = lab.do(line)[0]
    assert reply.error is not None
    return reply.error.message


def test_asking_changes_nothing_and_is_not_journaled(lab: Lab) -> None:
    lab.do(_SEND)
    lab.do("run 1ms")
    world, session = lab.session.world, lab.session
    before = (world.event, world.now_ns, len(session.journal), len(world.trace.records))
    assert asked(lab, "why A.qp0.wr[7]").slug == "rnr-infinite"
    assert asked(lab, "why").question == ""
    lab.do("checklist no-completion")
    assert (world.event, world.now_ns, len(session.journal), len(world.trace.records)) == before
    assert list(session.history.branches) == ["main"]


def test_why_completes_a_name_with_the_current_node(lab: Lab) -> None:
    lab.do(_SEND)
    assert asked(lab, "why qp0.wr[7]").question == "A.qp0.wr[7]"
    assert asked(lab, "why qp0").question == "A.qp0"


def test_where_nothing_is_wrong(lab: Lab) -> None:
    report = asked(lab, "why")
    assert report.outcome.kind is Status.WELL
    assert report.looked.startswith("2 queue pairs")
    assert asked(lab, "why B").looked.startswith("1 queue pair,")
    assert asked(lab, "why B").name == "B"


def test_apply_runs_the_lines_of_the_fix(lab: Lab) -> None:
    lab.do(_BAD)
    lab.do("run")
    report = asked(lab, "why")
    assert report.remedy is not None
    assert report.remedy.works
    script, *done = lab.do("apply")
    assert script.value.lines == report.remedy.cure.lines
    assert [reply.text for reply in done if reply.depth == 1] == report.remedy.cure.lines
    lab.do("run")
    assert asked(lab, "why A.qp0.wr[8]").outcome.kind is Status.COMPLETED


def test_nothing_to_apply(lab: Lab) -> None:
    assert not_understood(lab, "apply") == "nothing to apply: there is no error"
    assert not_understood(lab, "apply A.qp0") == "nothing to apply: there is no error"
    answer = not_understood(lab, "apply A.qp0.wr[99]")
    assert answer.startswith("the fix is a change of the program: ")


def test_apply_of_work_that_needs_time_says_so(lab: Lab) -> None:
    lab.do("post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED")
    assert asked(lab, "why").needs_time
    reply = lab.do("apply")[0]
    assert isinstance(reply.error, NothingToDo)
    assert (reply.error.message, reply.error.hint) == (
        "nothing to apply: the work needs time", "type run"
    )  # fmt: skip


@pytest.mark.parametrize("title", LISTS)
def test_checklists(lab: Lab, title: str) -> None:
    lab.do(_SEND)
    reply = lab.do(f"checklist {title} A.qp0.wr[7]")[0]
    assert isinstance(reply.value, ChecklistReport)
    assert reply.value.title == title


def test_why_names_the_line_of_the_checklist(lab: Lab) -> None:
    lab.do(_SEND)
    lab.do("run 2ms")
    named = next(row.text for row in asked(lab, "why -v").rows if row.part is RowPart.RULED_OUT)
    assert named.endswith("more: checklist no-completion A.qp0.wr[7]")
    assert isinstance(lab.do(named.partition(": ")[2])[0].value, ChecklistReport)
    lab.do("post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]")
    receive = asked(lab, "why B.qp0.recv_wr[1]")
    assert receive.checklist == "checklist no-receive B.qp0.recv_wr[1]"


def test_a_list_that_there_is_not_is_no_question(lab: Lab) -> None:
    assert not_understood(lab, "checklist foo") == '"foo" means nothing here'
    assert not_understood(lab, "checklist A.qp0") == '"A.qp0" means nothing here'


def test_questions_are_compared_with_the_cause(lab: Lab) -> None:
    lab.do(_BAD)
    lab.do("run")
    assert lab.look('why(A.qp0.wr[8]) == "rem-access"')
    assert lab.look('why() == "rem-access" and why(A) == "rem-access"')
    assert lab.look('why(B.cq0) != "rem-access"')


@pytest.mark.parametrize("line", ["no completion", "A.qp0 B.qp0", "A.qp0.wr[1] B.cq0"])
def test_why_takes_one_object(lab: Lab, line: str) -> None:
    error = misread(lab, f"why {line}")
    assert (error.message, error.hint) == ("why takes one object", "write why A.qp0.wr[3]")
    assert f"why {line}"[slice(*error.place)] == line
