"""Wrong C programs: the cause is reported while they run, with its line, and again afterwards."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from rdmalab.compat.c.execute import Command, Execution
from rdmalab.lab import Lab
from tests.compat.c.running import PROGRAMS, compiled, execute, pair
from tests.tools import needs

pytestmark = needs("gcc")


class Case(NamedTuple):
    """A program: the slug of its cause, evidence, and the wrong call, by a part of its line.

    call: a line of the file of the program, or of pair.h, which posts and connects for it.
    """

    program: str
    cause: str
    evidence: str
    call: str
    hangs: bool = False


_POST = "return ibv_post_send("
CASES = [
    Case("wrong_rkey", "rem-access", "is the key of no MR or bound window on A", _POST),
    Case("lkey_for_rkey", "rem-access", "is the lkey of A.mr0, whose rkey is", _POST),
    Case("no_receive", "rnr-infinite", "rnr_retry=7", _POST, hangs=True),
    Case("rnr_retry", "no-rr", "A.qp0 had no receive", _POST),
    Case("unsignaled", "unsignaled", "sq_sig_all=0", _POST, hangs=True),
    Case("arm_race", "armed-after-cqe", "get_cq_event on A.channel0 would block",
         "ibv_req_notify_cq(", hangs=True),
    Case("after_dereg", "loc-prot", "was that of B.mr0, which was deregistered", "ibv_post_send("),
    Case("full_queue", "sq-full-of-unsignaled", "none of them signaled", _POST, hangs=True),
    Case("freed_buffer", "dereg-early", "deregistered A.mr1", "ibv_dereg_mr("),
    Case("peer_crash", "peer-destroyed", "destroyed A.qp0", _POST),
    Case("deadlock", "mutual-wait", "no send is under way between them", "return ibv_post_recv(",
         hangs=True),
    Case("unacked", "unacked-events", "1 event of A.cq0 taken and not acknowledged",
         "ibv_destroy_cq(", hangs=True),
    Case("wrong_order", "bring-up-attr", "not a legal transition", "ibv_modify_qp("),
    Case("wrong_gid", "ah-sgid-empty", "GID table entry 6 is empty", "ibv_modify_qp("),
]  # fmt: skip


def words_of(text: str) -> str:
    """The text without its line breaks, which depend on the width."""
    return " ".join(text.split())


def _cause(slug: str) -> str:
    """The pattern of a cause, of what is asked about or of something else."""
    return rf" {slug}(?: of (?:the call of event \d+|\S+))?: "


def lines_with(program: str, call: str) -> set[str]:
    """`file.c:17` of each line of a program and of pair.h that has this."""
    return {
        f"{name}:{number}"
        for name in (f"{program}.c", "pair.h")
        for number, line in enumerate((PROGRAMS / name).read_text("utf-8").splitlines(), 1)
        if call in line
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program)
def test_the_cause_is_reported_while_they_run_at_the_end_and_of_what_was_saved(
    case: Case, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.rdmalab"
    ended = execute("--why", "--save", str(saved), *pair(case.program, tmp_path))
    assert ended.code, ended.err
    assert "WELL" not in ended.err, ended.err
    reported = words_of(ended.err)
    # Who polls first is asked about: of the sender's completion the cause is the receive's.
    assert re.search(_cause(case.cause), reported), ended.err
    assert case.evidence in reported, ended.err
    assert ("they hang" in reported) == case.hangs, ended.err
    sources = re.findall(r"^ +(?:ev \d+:|posted at) (\S+:\d+) in \w+$", ended.err, re.MULTILINE)
    assert lines_with(case.program, case.call) & {*sources}, ended.err
    command = [sys.executable, "-m", "rdmalab", "why", str(saved)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(_cause(case.cause), words_of(done.stdout)), done.stdout


def test_the_wait_after_a_refused_post_is_named_with_it(tmp_path: Path) -> None:
    saved = tmp_path / "saved.rdmalab"
    ended = execute("--save", str(saved), *pair("ignored_refusal", tmp_path))
    command = [sys.executable, "-m", "rdmalab", "why", str(saved)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    for text in (ended.err, done.stdout):
        assert "has no completion, and none will come without another call" in words_of(text)
        assert "1. inline-too-long of the call of event" in words_of(text)


def test_a_refused_call_is_explained_after_other_trouble(tmp_path: Path) -> None:
    ended = execute(*pair("busy_after_error", tmp_path))
    assert "has polled REM_ACCESS_ERR" in ended.err
    assert "ended with 1 after dealloc_pd was refused with EBUSY" in ended.err
    assert "dealloc_pd returned EBUSY" in ended.err.partition("ended with 1")[2]


def test_the_fix_is_the_call_that_the_program_has_to_change(tmp_path: Path) -> None:
    ended = execute(*pair("wrong_rkey", tmp_path))
    fix = words_of(ended.err.partition("fix: ")[2])
    assert fix.startswith("change the program: in place of the call of event ")
    assert ": post_send B.qp0 wr_id=7 opcode=RDMA_WRITE" in fix
    assert "state=RESET" not in ended.err
    assert "causes ruled out: exec --save FILE, then rdmalab why -v FILE" in words_of(ended.err)


def test_a_report_is_as_wide_as_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = execute(*pair("wrong_rkey", tmp_path))
    folded = [row for row in ended.err.splitlines() if "[ev " in row]
    assert folded
    assert max(map(len, folded)) == 80


def test_a_right_program_ends_well(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved.rdmalab.yaml")
    ended = execute("--why", "--save", saved, *pair("right", tmp_path))
    assert (ended.code, ended.out.count("success")) == (0, 3)
    assert "WELL" in ended.err
    again = [sys.executable, "-m", "rdmalab", "run", saved]
    assert subprocess.run(again, capture_output=True, check=False).returncode == 0


def test_why_gives_the_exit_code_where_the_programs_ended_well(tmp_path: Path) -> None:
    assert execute(*pair("wrong_rkey", tmp_path)).code == 0
    assert execute("--why", *pair("wrong_rkey", tmp_path)).code == 1


def test_a_poll_in_vain_before_a_failed_end_is_reported(tmp_path: Path) -> None:
    words = pair("polls_once", tmp_path)
    ended = execute("--why", "--world", "link latency=10ms", *words)
    assert ended.code == 3
    assert "rdmalab: polls_once ended with 3: its last poll of B.cq0 found nothing" in ended.err
    assert "PENDING  B.qp0.wr[7] has no completion" in ended.err
    assert "WELL" not in ended.err


def test_a_flushed_completion_before_a_failed_end_is_explained(tmp_path: Path) -> None:
    ended = execute(*pair("flushed", tmp_path))
    assert ended.code == 4
    assert "rdmalab: flushed ended with 4: it has polled WR_FLUSH_ERR" in ended.err
    assert "why A.qp0.recv_wr[0xdeadbeef1]" in ended.err
    assert "rem-access" in ended.err.partition("has polled WR_FLUSH_ERR")[2]


def test_the_last_call_before_a_failed_end_is_reported() -> None:
    program = compiled("leaves")
    ended = execute("--why", "--", program, "4")
    where = r"alloc_pd at .*leaves\.c:\d+ in main"
    assert re.search(f"rdmalab: leaves ended with 4: its last call was {where}", ended.err)
    assert "FAILED  leaves ended with 4" in ended.err
    assert "rdmalab:" not in execute("--", program, "0").err


def test_a_hang_after_a_failure_that_was_explained_has_no_second_answer(tmp_path: Path) -> None:
    ended = execute(*pair("stays", tmp_path))
    assert "has polled REM_ACCESS_ERR" in ended.err
    assert "why: the cause that was reported above" in ended.err.partition("every program waits")[2]
    assert ended.err.count("fix:") == 1


def test_a_server_that_waits_for_the_next_client_is_no_failure() -> None:
    program = compiled("cm_serves")
    ended = execute("--why", "--", program, "serve", ":", program, "ask")
    assert ended.code == 0, ended.err
    assert "the clients have ended well, and no other program will connect" in ended.err
    assert "blocks in get_cq_event of A.channel0" in ended.err
    assert "PENDING" not in ended.err


def test_a_server_whose_client_has_failed_hangs() -> None:
    program = compiled("cm_serves")
    ended = execute("--", program, "serve", ":", program, "ask", "too many words")
    assert ended.code
    assert "the programs are ended: they hang" in ended.err
    assert "fix:" not in ended.err


def test_what_the_end_of_a_process_destroys_is_no_call_of_its_last_line(tmp_path: Path) -> None:
    ended = execute("--why", *pair("peer_crash", tmp_path))
    asked = words_of(ended.err.rpartition("FAILED")[2])
    assert re.search(r"destroyed A\.qp0, called by peer_crash \(\d+\), at its end \[", asked), asked
    told = ended.err.partition("FAILED")[2].partition("posted at")[0]
    destroyed = re.search(r"destroyed A\.qp0 +\[ev (\d+)\]", told)
    assert destroyed is not None
    assert f"ev {destroyed[1]}: " not in told, told


def test_each_call_that_blocks_is_that_of_its_program(tmp_path: Path) -> None:
    lab, program = Lab(), compiled("waits")
    commands = [
        Command((program, str(tmp_path / "s"), "serve"), "A"),
        Command((program, str(tmp_path / "s"), "ask"), "B"),
    ]
    execution = Execution(lab, commands, lambda _: None)
    execution.run(limit_s=60, end_stuck=True)

    def callers(verb: str) -> list[str]:
        events = [entry.event for entry in lab.session.journal if entry.invocation.name == verb]
        return [execution.caller_of(event).partition(",")[0] for event in events]

    assert len({*callers("get_cq_event")}) == len(commands)
    assert sorted(callers("get_cq_event")) == sorted(callers("alloc_pd"))
