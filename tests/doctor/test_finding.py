"""What a finding is put in order by."""

from rdmalab.doctor.finding import NA, Verdict, fact, fail, ok, unknown, wait, warn


def test_a_cause_is_as_old_as_its_earliest_fact_or_as_it_says() -> None:
    facts = (fact("now"), fact("late", 9), fact("early", 4))
    assert fail(*facts).origin == 4
    assert fail(*facts, since=2).origin == 2
    assert fail(fact("only now")).origin == -1


def test_each_word_has_its_verdict() -> None:
    found = [fail(), warn(), wait(), unknown("gone"), ok(), NA]
    assert [each.verdict for each in found] == list(Verdict)
    assert ok().evidence == []
    assert ok("it is signaled", 3).evidence == [fact("it is signaled", 3)]
