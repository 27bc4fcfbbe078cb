"""Rules: what is not allowed is skipped, named, and changes nothing."""

from rdmalab.classroom.goals import judge
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.model import Goal
from rdmalab.classroom.playing import begun, play
from rdmalab.classroom.rules import Rulebook
from rdmalab.doctor.consultation import consult
from rdmalab.session.lines import Reply, replies
from tests.classroom.labs import RECV, SEND, loaded, text_of
from tests.each import each

TASK = "  - {id: a, points: 1, goal: [A.cq0.count == 0]}\n"
RULES = "rules: {lock: [B.qp0], forbid: [connect], allow: [link], past: never, doctor: shut}\n"


@each(
    "line, foul",
    [
        (SEND, ""),
        ("fault drop A->B nth=1", "fault is not allowed in this lab"),
        ("link latency=5us", ""),
        ("connect A.qp0 B.qp0", "connect is not allowed in this lab"),
        ("post_recv B.qp0 sg=B.mr0[0:64]", "B.qp0 is locked in this lab"),
        ("modify_qp B.qp0 state=ERR", "B.qp0 is locked in this lab"),
        ("modify_qp A.qp0 state=SQD", ""),
        ("to_rts A.qp0 B.qp0", ""),  # it names B.qp0 only as the peer
        ("to_rts B.qp0 A.qp0", "B.qp0 is locked in this lab"),
        ("use ud_pair", "B.qp0 is locked in this lab"),
        ("back 1", "back: the past of this lab cannot be changed"),
        ("why", "why is not allowed in this lab"),
        ("program B.x lines={ post_recv qp0 sg=mr0[0:8] }", "B.qp0 is locked in this lab"),
        (
            "program A.x lines={ post_recv B.qp0 }",
            "not understood: B.qp0 is not on A, where this program runs",
        ),
        ("program B.x lines={ sleep 1us }", ""),
        ("program B.x lines={ wait B.qp0.rq.used > 0 }", ""),  # looking is free
        ("program A.x lines={ sleep 1us; fault clear }", "fault is not allowed in this lab"),
        ("program A.x lines={ loop 2; link latency=1us; end }", ""),
        ("post_sned A.qp0", 'not understood: no verb "post_sned"'),
        ("load x; save y", ""),  # files are not touched, and nothing is said of them
    ],
)
def test_a_line_is_allowed_or_not(line: str, foul: str) -> None:
    world = begun(loaded(text_of(TASK, RULES)))
    rules = Rulebook(world.lab.document.rules, world.session, world.start)
    assert [part.foul for part in rules.parts(line) if part.foul] == ([foul] if foul else [])


GRADED = "  - {id: a, points: 2, goal: [A.cq0.total(status=SUCCESS) >= 1]}\n"
STUCK = (SEND, "run 2ms")  # B has no receive; the fix posts one


def test_apply_is_shut_where_tasks_are_worth_points() -> None:
    shut = "apply is not allowed in this lab: type the lines of the fix yourself"
    for more in ("", "rules: {doctor: shut, apply: open}\n"):
        world = play(loaded(text_of(GRADED, more)), [*STUCK, "apply"])
        assert [foul.why for foul in world.fouls] == [shut]
    free = GRADED.replace("points: 2", "points: 0")
    for text in (text_of(GRADED, "rules: {apply: open}\n"), text_of(free)):
        world = play(loaded(text), [*STUCK, "apply"])
        assert (world.fouls, world.applied) == ([], 1)


@each(
    "rules, foul",
    [
        ("lock: [B]", "B.qp0 is locked in this lab"),
        ("forbid: [post_recv]", "post_recv is not allowed in this lab"),
    ],
)
def test_each_line_of_a_fix_obeys_the_rules(rules: str, foul: str) -> None:
    """For the grader and at a prompt; no line of such a fix is run."""
    why = f"post_recv B.qp0 sg=B.mr0[0:16]: {foul}"
    text = text_of(GRADED, f"rules: {{apply: open, {rules}}}\n")
    world = play(loaded(text), [*STUCK, "apply"])
    assert [foul.why for foul in world.fouls] == [f"this is not allowed here: {why}"]
    assert [qp.rq.used for qp in world.session.world.nodes["B"].qps.items.values()] == [0]
    lab = LabSession(text, "x", "s1")
    last = [reply for line in (*STUCK, "apply") for reply in finished(lab, line)][-1]
    assert last.error is not None
    assert last.error.message == f"this is not allowed here: {why}"


def finished(lab: LabSession, line: str) -> list[Reply]:
    done = []
    for reply in replies(lab.session, line):
        if reply.travel is not None:
            reply.travel.finish()
        done.append(reply)
    return done


def test_a_fault_that_the_lab_made_is_not_cleared_by_a_fix() -> None:
    text = text_of(GRADED, "rules: {apply: open}\n").replace(
        "- use rc_pair", "- use rc_pair timeout=14 retry_cnt=7\n  - fault drop A->B"
    )
    world = play(loaded(text), [RECV, *STUCK, "apply"])
    assert "fault is not allowed in this lab" in world.fouls[-1].why


def test_a_foul_is_skipped_and_the_rest_is_played() -> None:
    lab = loaded(text_of(TASK, "rules: {lock: [B]}\n"))
    world = play(lab, ["post_recv B.qp0 sg=B.mr0[0:8]", SEND, f"{RECV}; poll_cq A.cq0"])
    assert [(foul.line, foul.why) for foul in world.fouls] == [
        (1, "B.qp0 is locked in this lab"),
        (3, "B.qp0 is locked in this lab"),
    ]
    assert bool(world.session.world.nodes["A"].qps.items)


def test_the_setup_cannot_be_changed() -> None:
    """Going back before its end is looking; a world made there would not be that of the lab."""
    lab = loaded(text_of(TASK))
    world = play(lab, ["goto start", "alloc_pd A.pd0", "use ud_pair", "step 3", "alloc_pd A.pd1"])
    assert [foul.line for foul in world.fouls] == [2, 3, 5]
    assert "alloc_pd: the setup of this lab cannot be changed" in world.fouls[0].why
    again = play(lab, ["goto start", "goto @start", RECV, SEND, "run 1ms"])
    assert again.fouls == []
    assert [goal.met for goal in judge(
        again.session, [Goal.model_validate("A.cq0.total(status=SUCCESS) == 1")], again.start, {}
    )] == [True]  # fmt: skip


def test_nothing_is_read_or_written(tmp_path: object) -> None:
    lab = loaded(text_of(TASK))
    world = play(lab, ["save /nowhere/x", "load /etc/passwd", "quit", SEND])
    assert world.fouls == []
    assert world.session.world.event > world.start.event


def test_fix_of_one_end_where_the_rules_lock_the_other() -> None:
    rules = "rules: {lock: [B.qp0], forbid: [connect]}\n"
    write = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED"
    lines = [write, write, "run", "modify_qp A.qp0 state=RESET", "to_rts A.qp0 B.qp0", write, "run"]
    report = consult(play(loaded(text_of(TASK, rules)), lines).session)
    assert report.slug == "local-recovery-one-side"
    assert report.remedy is not None
    assert report.remedy.works
    assert not any(line.startswith("modify_qp B.qp0") for line in report.remedy.cure.lines)
