"""The programs that called, by the events of their branch."""

from rdmalab.lab import Lab


def test_a_caller_belongs_to_the_events_of_its_branch() -> None:
    lab = Lab()
    for line in ("alloc_pd A.pd0", "alloc_pd A.pd1", "alloc_pd A.pd2"):
        lab.do(line)
    session, programs = lab.session, ["a (1)", "b (2)", "a (1), at client.c:7 in main"]
    for event, text in enumerate(programs):
        session.callers.note(event, text)
    assert [session.caller_of(event) for event in range(3)] == programs
    assert session.caller_of(3) == ""
    lab.do("goto 1")
    lab.do("alloc_pd A.pd3")  # another branch begins after event 1
    assert [session.caller_of(event) for event in range(3)] == [*programs[:2], ""]
