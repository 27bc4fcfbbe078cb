import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.owner import given
from rdmalab.cli.schemas import schema_of
from rdmalab.lab import Lab
from rdmalab.shell import face_requests
from rdmalab.shell.script import ScriptLine, play, play_json, script_lines, speaks_unicode
from rdmalab.workbench.files import Next
from tests.classroom.labs import RECV, TEMPLATE, loaded


def test_lines_know_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "f"
    file.write_text("one\n\ntwo {\n} \n")
    assert list(script_lines(["a"], str(file))) == [
        ScriptLine("-c 1", 1, "a"),
        ScriptLine(f"{file}:1", 1, "one"),
        ScriptLine(f"{file}:3", 3, "two {\n} "),
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("a\nb {\n}\n\nc"))
    assert [s.place for s in script_lines([], None)] == ["stdin:1", "stdin:2", "stdin:5"]


def test_results_and_talk_go_apart(capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(
        [
            ScriptLine("x:1", 1, "alloc_pd A.pd0"),
            ScriptLine("x:2", 2, "bad"),
            ScriptLine("x:3", 3, "step"),
        ]
    )
    assert play(Lab(), lines, plain=False) == 2
    done = capsys.readouterr()
    assert done.out == "ok [ev 0]  A.pd0 created.\n"
    assert done.err.startswith("x:2: not understood (nothing happened): no verb")


# --------------------------------------------------------------------------- as JSON
def printed_json(capsys: pytest.CaptureFixture[str], *lines: str) -> tuple[int, Lab, list[Any]]:
    """The exit code, the lab afterwards, the replies."""
    lab = Lab()
    code = play_json(lab, (ScriptLine(f"-c {n}", n, line) for n, line in enumerate(lines, 1)))
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema_of("repl"))
    return code, lab, document["replies"]


LESSON = "load scenarios/err/rnr-retry-exceeded.rdmalab.yaml"


def test_json_of_a_scenario_that_is_walked_through(capsys: pytest.CaptureFixture[str]) -> None:
    code, lab, (loaded, *walked) = printed_json(capsys, LESSON, "next", "next", "next", "next")
    assert code == 0
    assert loaded["said"][0] == "A SEND meets an empty receive queue"
    assert any("RNR_NAK psn=0" in line for line in walked[0]["said"])
    assert not any(line.startswith("  ") for line in loaded["said"])  # the rest of a folded line
    assert lab.look("A.cq0.next.status == RNR_RETRY_EXC_ERR")
    assert walked[-1]["at_ns"] == lab.session.world.now_ns > loaded["at_ns"]
    assert all(reply["error"] is None for reply in (loaded, *walked))


def test_json_of_a_word_that_leaves_the_world(capsys: pytest.CaptureFixture[str]) -> None:
    code, lab, replies = printed_json(capsys, "use rc_pair", "share", "new", "show qp")
    assert code == 0
    assert replies[1]["value"] == "A.pd0"
    assert replies[-2]["said"][0].startswith("Empty world: nodes A (strict), B (strict)")
    assert replies[-1]["value"]["rows"] == []
    code, lab, (opened,) = printed_json(capsys, f"open {replies[-3]['value']['text']}")
    assert code == 0
    assert opened["said"] == ["15 steps; it is 0.000 us, event 13"]
    assert lab.look("A.qp0.state == RTS")


def test_the_rules_of_a_lab_hold_and_its_lines_are_handed_in_as_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x.lab.yaml").write_text(TEMPLATE)
    load = f"load {tmp_path}/x.lab.yaml student=s1"
    code, lab, (_, reply) = printed_json(capsys, load, "post_recv B.qp0; fault clear")
    assert code == 2
    assert reply["error"]["message"] == "fault is not allowed in this lab"
    assert (reply["error"]["kind"], reply["said"]) == ("not understood", [])
    assert lab.look("B.qp0.rq.used == 0")
    size = loaded(TEMPLATE, "s1").params["size"]
    lines = f"{RECV}; post_send A.qp0 opcode=SEND sg=A.mr0[0:{size}]; run 1ms"
    work = tmp_path / "work.yaml"
    code, _, replies = printed_json(capsys, load, "b", lines, f"submit {work}")
    assert code == 0
    assert any(line.startswith("met  deliver: ") for reply in replies for line in reply["said"])
    assert grade_submission(Item(TEMPLATE, "x", work.read_text(), "w", given("s1"))).score == 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("load none", "cannot be read"),
        ("next", "no scenario is loaded"),
        ("continue", "scripts keep no session"),
        ("open rdmalab:1:x", "the text is damaged"),
    ],
)
def test_json_of_a_word_that_is_not_granted(
    capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    code, _, (reply,) = printed_json(capsys, line)
    assert code == 2
    assert reply["error"]["kind"] == "not understood"
    assert message in reply["error"]["message"]
    assert reply["said"] == []


def test_json_of_a_word_that_raises(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def raises(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    monkeypatch.setitem(face_requests.REQUEST_HANDLERS, Next, raises)
    code, lab, (*_, reply) = printed_json(capsys, "use rc_pair", "next", "show")
    assert code == 3
    assert reply["error"]["kind"] == "bug"
    assert reply["line"] == "next"
    assert lab.look("A.qp0.state == RTS")


def test_a_line_of_json_is_carried_out_though_one_before_it_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each line has an end of its own."""
    lines = [ScriptLine("", 1, "alloc_pd A.pd0 ; alloc_pd A.pd0")]
    lines += [ScriptLine("", 2, "alloc_pd A.pd1 ; alloc_pd A.pd2")]
    assert play_json(Lab(), iter(lines), keep_going=True) == 2
    replies = json.loads(capsys.readouterr().out)["replies"]
    assert [each["line"] for each in replies[2:]] == ["alloc_pd A.pd1", "alloc_pd A.pd2"]


def test_what_a_stream_can_write() -> None:
    assert speaks_unicode(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert not speaks_unicode(io.TextIOWrapper(io.BytesIO(), encoding="ascii"))


_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=1 rkey=2 flags=SIGNALED"


@pytest.mark.parametrize(("last", "code"), [
    ("why", 1), ("why A.qp0.wr[3]", 1), ("why; show qp", 0), ("why; apply", 0),
    ("poll_cq A.cq0", 0),
])  # fmt: skip
def test_a_script_fails_if_its_last_line_asked_why_something_failed(last: str, code: int) -> None:
    lines = ["use rc_pair", _BAD, "run", last]
    assert play(Lab(), script_lines(lines, None), plain=True) == code
    assert play_json(Lab(), script_lines(lines, None)) == code


def test_a_script_that_asked_why_nothing_failed_is_well() -> None:
    assert play(Lab(), script_lines(["use rc_pair", "why"], None), plain=True) == 0
