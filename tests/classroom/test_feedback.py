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
