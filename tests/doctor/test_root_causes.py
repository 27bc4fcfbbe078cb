"""Every root cause of the checklist: found in its scenario, also in disguise, and cured there."""

from functools import cache
from pathlib import Path

import pytest

from rdmalab.doctor.diagnosis.diagnose import CHECKS
from rdmalab.lab import open_session
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import Scenario, load
from rdmalab.scenario.result import Stop
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from tests.doctor.asking import played, why
from tests.doctor.masks import asked, disguised, judge
from tests.each import a_third, each

FOLDER = Path(__file__).parents[2] / "scenarios" / "why"
FILES = sorted(path.name for path in FOLDER.glob(f"*{SUFFIX}"))


@cache
def loaded(file: str) -> Scenario:
    return load(str(FOLDER / file), VOCABULARY)


@pytest.mark.parametrize("file", a_third(FILES))
def test_root_cause_with_other_names_and_pairs(file: str) -> None:
    scenario = loaded(file)
    (step,) = asked(scenario)
    session, mask = disguised(scenario)
    try:
        judge(session, step, mask.line)
    except Stop as wrong:
        pytest.fail("\n".join([wrong.failure.what, *wrong.failure.lines]))


@each("check", CHECKS)
def test_every_suspicion_has_a_scenario(check: object) -> None:
    slug = check.slug  # type: ignore[attr-defined]
    steps = [step.step for file in FILES for step in asked(loaded(file))]
    assert any(slug in (step.cause, step.station) for step in steps)


@pytest.mark.parametrize("file", a_third(FILES))
def test_a_consultation_leaves_no_trace(file: str) -> None:
    """Whoever asked and whoever did not see the same world, and the same past."""
    runner = Runner(loaded(file), open_session)
    while (step := runner.coming) is not None and step.step.why is None:
        runner.next_step()
    session = runner.session
    before = (session.history.here, session.history.live, list(session.world.trace.records))
    branches = dict(session.history.branches)
    runner.next_step()
    after = (session.history.here, session.history.live, list(session.world.trace.records))
    assert before == after
    assert session.history.branches == branches


def test_a_refused_modify_qp_of_rnr_retry_is_why_no_retry_was_left() -> None:
    lab = played(
        "use rc_pair rnr_retry=0", "modify_qp A.qp0 state=RTS rnr_retry=7",
        "program B.rx lines={sleep 50us; post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]; poll B.cq0}",
        "post_send A.qp0 wr_id=6 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run 2ms",
    )  # fmt: skip
    report = why(lab)
    assert report.slug == "no-rr"
    text = "modify_qp with rnr_retry=7 was refused: A.qp0 kept rnr_retry=0"
    assert report.causes[0].finding.evidence[0].text == text
    assert report.remedy is not None
    assert report.remedy.works
    assert any("rnr_retry=7" in line for line in report.remedy.cure.lines)


@pytest.mark.parametrize("asked", ["", "B.rx"])
def test_a_refused_create_ah_is_why_the_handle_is_null(asked: str) -> None:
    to_b = "remote_qpn=B.qp0 remote_qkey=0x11111111 flags=SIGNALED"
    lab = played(
        "use ud_pair", "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=::ffff:10.0.0.2 sgid_index=0",
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]", "program B.rx lines={poll B.cq0}",
        f"post_send A.qp0 wr_id=4 opcode=SEND sg=A.mr0[0:8] ah=NULL {to_b}", "run 1ms",
    )  # fmt: skip
    report = why(lab, asked)
    assert report.slug == "segfault-class"
    assert report.causes[0].finding.evidence[0].text.startswith("create_ah returned EINVAL: dgid")


def test_a_refused_attach_mcast_is_why_a_queue_pair_is_in_no_group() -> None:
    to_group = "remote_qpn=0xffffff remote_qkey=0x11111111 flags=SIGNALED"
    lab = played(
        "use ud_pair", "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0 "
        "max_recv_wr=4", "modify_qp B.qp1 state=INIT qkey=0x11111111 pkey_index=0 port_num=1",
        "modify_qp B.qp1 state=RTR", "post_recv B.qp1 wr_id=8 sg=B.mr0[0:104]",
        "attach_mcast B.qp0 gid=224.0.0.9", "attach_mcast B.qp1 gid=10.0.0.1",
        "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=224.0.0.9 sgid_index=1 hop_limit=1",
        f"post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:8] ah=A.ah1 {to_group}", "run",
    )  # fmt: skip
    report = why(lab, "B.qp1.recv_wr[8]")
    assert report.slug == "mcast"
    assert "is not attached to that group: attach_mcast returned EINVAL" in report.text
