"""Feedback: the lab's words for the first cause that `why` names, else its `else`."""

from rdmalab.classroom.feedback import feedback
from rdmalab.classroom.playing import play
from tests.classroom.labs import SEND, loaded, text_of


def test_the_words_are_those_for_the_cause_or_for_no_cause() -> None:
    task = "  - id: a\n    points: 1\n    goal: [B.cq0.count == 1]\n    else: look\n"
    for words, expected in ((" {rnr-infinite: post one}", "post one"), (" {loss: no}", "look")):
        lab = loaded(text_of(f"{task}    when_wrong:{words}\n"))
        cause = feedback(play(lab, [SEND]).session, lab.document.tasks[0], {})
        assert (cause.id, cause.help) == ("rnr-infinite", expected)


def test_a_warning_is_the_cause_only_where_the_lab_has_words_for_it() -> None:
    """A message of the wrong length is not wrong since a late receive has delayed it."""
    task = "  - id: a\n    points: 1\n    goal: [now < 0]\n"
    lines = [SEND, "run 3ms", "post_recv B.qp0 sg=B.mr0[0:64]", "run"]
    for more, expected in (("", ""), ("    when_wrong: {slow: post it first}\n", "slow")):
        lab = loaded(text_of(task + more))
        cause = feedback(play(lab, lines).session, lab.document.tasks[0], {})
        assert cause.id == expected
