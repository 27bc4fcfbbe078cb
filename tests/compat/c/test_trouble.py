"""Wrong C programs: the cause is told while they run, and is the same of what was saved."""

from pathlib import Path
from typing import NamedTuple

import pytest

from rdmalab import cli
from tests.compat.c.running import execute, pair
from tests.tools import needs


class Case(NamedTuple):
    """A program; the word of its cause, and what the evidence has; whether it hangs."""

    program: str
    cause: str
    evidence: str
    hangs: bool = False


CASES = [
    Case("wrong_rkey", "rem-access", "is the key of no MR or bound window on A"),
    Case("lkey_for_rkey", "rem-access", "is the lkey of A.mr0, whose rkey is"),
    Case("no_receive", "rnr-infinite", "rnr_retry=7", hangs=True),
    Case("rnr_retry", "no-rr", "A.qp0 had no receive"),
    Case("unsignaled", "unsignaled", "sq_sig_all=0", hangs=True),
    Case("arm_race", "armed-after-cqe", "get_cq_event on A.channel0 would block", hangs=True),
    Case("after_dereg", "loc-prot", "was that of B.mr0, which was deregistered"),
    Case("full_queue", "sq-full-of-unsignaled", "none of them signaled", hangs=True),
    Case("freed_buffer", "dereg-early", "deregistered A.mr1"),
    Case("peer_crash", "peer-destroyed", "destroyed A.qp0"),
    Case("deadlock", "no-remote-send", "has sent nothing yet", hangs=True),
]
REFUSED = [
    Case("wrong_order", "bring-up-attr", "not a legal"),
    Case("wrong_gid", "ah-sgid-empty", "GID table entry 6 is"),
]  # told by `why`: the program itself sees the errno


@needs("gcc")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program)
def test_cause_of_a_running_program_and_of_its_saved_scenario(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "saved.rdmalab.yaml")
    ended = execute("--save", saved, *pair(case.program, tmp_path))
    lines = " ".join(ended.err.split())
    assert case.cause in lines
    assert " ".join(case.evidence.split()) in lines
    assert ("they hang" in lines) == case.hangs
    if case.program != "deadlock":  # nobody sends: nothing is wrong with the adapters
        cli.main(["why", saved])
        assert case.cause in capsys.readouterr().out


@needs("gcc")
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.program)
def test_why_at_the_end_names_a_refused_call(case: Case, tmp_path: Path) -> None:
    ended = execute("--why", *pair(case.program, tmp_path))
    assert ended.code
    lines = " ".join(ended.err.split())
    assert case.cause in lines
    assert case.evidence in lines


@needs("gcc")
def test_a_right_program_ends_well(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved.rdmalab.yaml")
    ended = execute("--why", "--save", saved, *pair("right", tmp_path))
    assert (ended.code, ended.out.count("success")) == (0, 3)
    assert "WELL" in ended.err
    assert cli.main(["run", saved]) == 0


@needs("gcc")
def test_why_gives_the_exit_code_where_the_programs_ended_well(tmp_path: Path) -> None:
    assert execute(*pair("wrong_rkey", tmp_path)).code == 0
    assert execute("--why", *pair("wrong_rkey", tmp_path)).code == 1
