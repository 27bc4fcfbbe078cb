"""Findings: the event of their origin, and the functions that make them."""

from rdmalab.doctor.check import NA, Verdict, fact, fail, ok, unknown, wait, warn  # fmt: skip


def test_origin_of_a_finding() -> None:
    facts = (fact("now"), fact("late", 9), fact("early", 4))
    assert fail(*facts).origin == 4
    assert fail(*facts, since=2).origin == 2
    assert fail(fact("only now")).origin == -1


def test_verdict_functions() -> None:
    found = [fail(), warn(), wait(), unknown("gone"), ok(), NA]
    assert [each.verdict for each in found] == list(Verdict)
    assert ok().evidence == []
    assert ok("it is signaled", 3).evidence == [fact("it is signaled", 3)]
