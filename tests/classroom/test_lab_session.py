"""A lab that is open at a prompt: its live goals. The words are in shell/test_lab_requests.py."""

from rdmalab.classroom.lab_session import LabSession
from rdmalab.session.lines import replies
from rdmalab.vocabulary import VOCABULARY
from tests.classroom.labs import RECV, SEND, text_of


def test_a_goal_is_live_where_a_task_has_this_world_only() -> None:
    """A public task may fix a value that a hidden one varies; then its goals are asked as usual."""
    tasks = (
        "  - {id: a, points: 1, vary: {far: [1us]}, goal: [A.cq0.count == 1]}\n"
        "  - {id: b, points: 1, vary: {far: [1us, 2us]}, goal: [A.cq0.count == 1]}\n"
    )
    text = text_of(tasks).replace("- use rc_pair", '- use rc_pair\n  - "link latency=%{far}"')
    lab = LabSession(text, "x", VOCABULARY, "s1")
    assert lab.turned(lab.session) == []
    for line in (RECV, SEND, "run 1ms"):
        for reply in replies(lab.session, line):
            if reply.travel is not None:
                reply.travel.finish()
    assert lab.turned(lab.session) == [("a: A.cq0.count == 1", True)]
