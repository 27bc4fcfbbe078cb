"""The recording of a session: what asciinema version 2 wants, at virtual times."""

import json
from itertools import pairwise

from rdmalab.export.cast import is_recording, recording, transcript
from rdmalab.lab import Lab
from tests.labs import RECV, SEND, lab_of


def _busy() -> Lab:
    lab = lab_of()
    lab.do("fault drop A->B nth=1")
    lab.do(RECV)
    lab.do(SEND)
    lab.run()
    return lab


def test_the_file_has_a_header_and_events_in_order() -> None:
    lab = _busy()
    head, *events = map(json.loads, recording(lab.session, "a title").splitlines())
    assert head == {"version": 2, "width": 100, "height": 30, "title": "a title"}
    assert all(kind == "o" and text.endswith("\r\n") for _, kind, text in events)
    times = [at_s for at_s, _, _ in events]
    assert times == sorted(times)
    assert len(events) == len(lab.session.journal) + lab.session.world.event + 1


def test_lines_and_events_come_at_their_virtual_times() -> None:
    lab = _busy()
    shown = list(transcript(lab.session))
    typed = [each.text for each in shown if each.is_typed]
    assert typed[-1].startswith("post_send A.qp0")
    sent = next(each for each in shown if "lost SEND_ONLY" in each.text)
    assert sent.at_ns == 100
    last = shown[-1]
    assert last.at_ns == lab.session.world.now_ns
    assert "completed" in last.text


def test_long_waits_are_short_in_the_recording() -> None:
    events = [json.loads(line) for line in recording(_busy().session, "t").splitlines()[1:]]
    waits = [after[0] - before[0] for before, after in pairwise(events)]
    assert max(waits) <= 3.0 + 2 * 0.4


def test_the_session_stays_as_it_is() -> None:
    lab = _busy()
    before = lab.session.world.event, lab.session.world.now_ns
    assert recording(lab.session, "t") == recording(lab.session, "t")
    assert (lab.session.world.event, lab.session.world.now_ns) == before


def test_a_recording_is_recognised() -> None:
    assert is_recording(recording(Lab().session, "t").encode())
    assert not is_recording(b"{}")
