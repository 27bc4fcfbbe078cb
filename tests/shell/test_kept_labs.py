"""The tour: from RESET to a cause, kept over sessions, also where nothing can be kept."""

from functools import cache
from pathlib import Path

import pytest

from rdmalab.classroom.lab_file import load
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.next_line import next_line
from rdmalab.cli.labs import labs
from rdmalab.recovery.recovered_sessions import offer
from rdmalab.recovery.user_paths import STATE
from rdmalab.scenario.files import found
from rdmalab.scenario.reading import last_sentence
from rdmalab.shell import kept_labs
from rdmalab.shell.lab_requests import TOUR
from rdmalab.shell.output_format import NOTE_PAGE
from rdmalab.shell.styled_text import paragraphs, text_of
from tests.logs import HEAD, close_all, opened
from tests.shell.prompts import Prompt

INIT = [f"modify_qp {n}.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0" for n in "AB"]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE, str(tmp_path))
    return tmp_path


def typed(prompt: Prompt, line: str) -> str:
    return "\n".join(prompt.ask(line))


def files(state: Path) -> list[str]:
    return sorted(path.name for path in state.glob("tour-*"))


@cache
def shown_lines() -> tuple[str, ...]:
    """What the tour asks to be typed: the lines of its first accepted solution."""
    solutions = load(found(TOUR), "1").document.solutions
    assert solutions is not None
    return tuple(solutions.accept[0].lines)


def test_from_reset_to_the_end(state: Path) -> None:
    prompt = Prompt("tour", width=200)
    done = []
    for line in shown_lines():
        if line == "goto @before":
            assert "b) an RNR NAK" in typed(prompt, "task")
            done += typed(prompt, "answer no-receive 2").splitlines()
            assert "rnr-infinite" in typed(prompt, "why A.qp0.wr[2]")
            done += typed(prompt, "answer cause rnr-infinite").splitlines()
        done += typed(prompt, line).splitlines()
    lines = [line for line in done if line.startswith(("done", "All tasks"))]
    assert lines == [
        "done  1. RESET to INIT", "done  2. A receive for B",
        "done  3. INIT to RTR: ready to receive", "done  4. RTR to RTS: ready to send",
        "done  5. A message", "done  6. Poll the completions", "done  7 of 9 tasks",
        "done  8 of 9 tasks", "done  9. Go back and do better", "All tasks are done.",
    ]  # fmt: skip
    assert "load labs/by-hand student=ID" in done[-1]
    assert "1. RESET to INIT" in "\n".join(Prompt("tour", width=200).ask("task"))


def test_a_question_of_the_tour_ends_its_text(state: Path) -> None:
    tasks = exercise(Prompt("tour")).lab.document.tasks
    asked = [last_sentence(paragraphs(task.ask or "")[0]) for task in tasks if task.is_asked]
    assert len(asked) == 2
    assert all(sentence.endswith("?") for sentence in asked)  # the row below the tasks is the last


def test_a_wrong_answer_gets_its_words_and_a_hint_its_line(state: Path) -> None:
    prompt = Prompt("tour", width=200)
    assert typed(prompt, "hint").endswith(INIT[1])
    for line in shown_lines()[:13]:
        typed(prompt, line)
    early = typed(prompt, "answer no-receive 2")
    assert early == "carry out the lines of this task first, and answer what you have seen"
    typed(prompt, "step 3")
    assert "An ACK came for the first message." in typed(prompt, "answer no-receive 1")
    assert "now   7." in typed(prompt, "task")


def test_the_next_line_can_be_taken_until_only_answers_are_left(state: Path) -> None:
    prompt = Prompt("tour", width=200)
    taken = []
    for answer in ("answer no-receive 2", "answer cause rnr-infinite", ""):
        while exercise(prompt).open_task and (line := next_line(exercise(prompt))):
            taken.append(line)
            typed(prompt, line)
        typed(prompt, answer)
    shown = [*shown_lines()]
    shown.insert(shown.index("goto @before"), "why A.qp0.wr[2]")
    assert taken == shown
    assert exercise(prompt).open_task is None
    assert next_line(exercise(prompt)) == "load labs/by-hand student="  # it leads on
    assert "student has no value" in typed(prompt, "load labs/by-hand student=")


def test_a_line_that_was_refused_is_offered_when_its_turn_comes(state: Path) -> None:
    lines = shown_lines()
    send = next(line for line in lines if line.startswith("post_send"))
    prompt = Prompt("tour", *lines[:3], send, width=200)
    assert next_line(exercise(prompt)) == lines[3]
    prompt.ask(lines[3].replace("RTR", "RTS"), *lines[3:7])
    assert next_line(exercise(prompt)) == send


def test_what_to_rts_has_done_is_not_offered_again(state: Path) -> None:
    lines = shown_lines()
    prompt = Prompt("tour", *lines[:3], "to_rts A.qp0 B.qp0", width=200)
    assert next_line(exercise(prompt)) == lines[4]
    typed(prompt, lines[4])
    assert next_line(exercise(prompt)) == lines[6]


def test_a_send_without_signaled_is_explained_and_the_advice_ends_the_task(state: Path) -> None:
    lines = shown_lines()
    recv, send = lines[2], lines[7]
    prompt = Prompt("tour", *lines[:7], "modify_qp A.qp0 state=RTR", width=200)  # refused, and past
    prompt.ask(send.removesuffix(" flags=SIGNALED"))
    assert "It was posted without flags=SIGNALED" in " ".join(prompt.ask("run"))
    typed(prompt, send)
    assert "B has no receive for this SEND" in " ".join(prompt.ask("run 10000s"))
    limit = typed(prompt, recv)
    assert "goto 22 returns to the moment before the newest line" in limit
    prompt.ask("goto 22", recv)
    assert "done  5. A message" in typed(prompt, "run")


def test_a_hint_can_be_read_again(state: Path) -> None:
    prompt = Prompt("tour", "hint")
    assert INIT[1] in typed(prompt, "hint")


def test_no_mistake_is_named_after_the_right_lines(state: Path) -> None:
    lines = shown_lines()
    at = lines.index("goto @before")
    prompt = Prompt("tour", *lines[:at], "b", "answer rnr-infinite", "goto @before", width=200)
    assert "RNR NAK" not in " ".join(prompt.ask(*lines[at + 1 : at + 3]))


def test_a_lab_does_not_tell_a_cause_before_anything_was_typed(state: Path) -> None:
    prompt = Prompt("load labs/no-completion", width=200)
    answer = typed(prompt, "task")
    assert "✗ cure" in answer
    assert "→" not in answer


def test_why_offers_apply_only_where_the_lab_allows_it(state: Path) -> None:
    prompt = Prompt("load labs/no-completion", width=200)
    answer = typed(prompt, "why")
    assert "it works; type these lines:" in answer
    assert "apply" not in answer
    lines = shown_lines()
    prompt.ask("tour", *lines[: lines.index("goto @before")])
    assert "apply carries it out" in typed(prompt, "why")


def test_what_is_offered_after_a_mistake_is_what_the_lab_allows(state: Path) -> None:
    prompt = Prompt("load labs/by-hand student=me", width=200)  # it forbids connect and to_rts
    send = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    init = "pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC"
    assert f"try: modify_qp A.qp0 state=INIT {init}" in typed(prompt, send)
    answer = prompt.ask("why -v")
    fix = answer[next(at for at, row in enumerate(answer) if row.startswith("fix:")) + 1 :]
    assert fix[0].strip() == f"modify_qp A.qp0 state=INIT {init}"
    assert [row.split()[0] for row in fix] == [*["modify_qp"] * 6, "post_send"]
    for row in fix:
        assert "not allowed" not in typed(prompt, row.strip())
    assert typed(prompt, "show qp").count("[RTS]") == 2


def test_a_fix_that_the_lab_does_not_allow_is_not_offered(state: Path) -> None:
    prompt = Prompt("load labs/rnr-budget student=me", width=200)  # it forbids post_recv
    prompt.ask("post_send A.qp0 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED", "run 1ms")
    for line in ("why", "why -v"):
        answer = typed(prompt, line)
        assert "fix: none that is allowed here: post_recv B.qp0" in answer
        assert "\n  post_recv" not in answer


def test_a_line_that_was_typed_on_another_day_is_not_offered_again(state: Path) -> None:
    typed(Prompt("tour"), INIT[0])
    assert next_line(exercise(Prompt("tour"))) == INIT[1]


def test_in_a_lab_with_marks_only_hints_that_were_taken_are_offered() -> None:
    prompt = Prompt(f"load {found('labs/sq-full')} student=s1")
    typed(prompt, "answer explain a")  # the only try
    assert next_line(exercise(prompt)) == ""
    typed(prompt, "hint see")
    assert next_line(exercise(prompt)) == "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"


def test_beside_a_page_only_titles_are_printed(state: Path) -> None:
    prompt = Prompt(width=200)
    prompt.conversation.output.notes_beside = NOTE_PAGE
    opened_with = typed(prompt, "tour")
    assert "now   1. RESET to INIT" in opened_with
    assert "A new queue pair is in RESET." not in opened_with
    text = typed(prompt, "; ".join(INIT))
    assert "now   2. A receive for B" in text
    assert "post_recv" not in text


def exercise(prompt: Prompt) -> LabSession:
    assert prompt.conversation.exercise is not None
    return prompt.conversation.exercise


def test_it_goes_on_where_it_was_left(state: Path) -> None:
    prompt = Prompt("tour", width=200)
    typed(prompt, INIT[0])
    again = Prompt("tour", width=200)
    assert again.lab.session.world.event == prompt.lab.session.world.event
    assert "done  1. RESET to INIT" in typed(again, INIT[1])
    assert "now   2. A receive for B" in typed(Prompt("tour", width=200), "task")
    assert "now   1. RESET to INIT" in typed(Prompt("tour again", width=200), "task")
    for _ in range(12):
        Prompt("tour again")
    assert len(files(state)) <= 12  # those of sessions that may still be restored


def test_work_of_another_version_or_damaged_is_left(state: Path) -> None:
    typed(Prompt("tour"), INIT[0])
    newest = state / files(state)[-1]
    newest.write_text(newest.read_text().replace("lab: tour", "lab: tour 0"))
    assert "now   1." in typed(Prompt("tour", width=200), "task")
    (state / files(state)[-1]).write_text("kind: submission\nrdmalab: [")
    assert "now   1." in typed(Prompt("tour", width=200), "task")


def test_where_nothing_can_be_kept_the_tour_goes_on(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = Prompt("tour", width=200)
    monkeypatch.setattr(kept_labs, "_write", _full)
    found = typed(prompt, "; ".join(INIT))
    assert "the lab is not kept any more: No space left" in found
    assert "now   2." in found
    (state / "file").write_text("")
    monkeypatch.setenv(STATE, str(state / "file"))
    prompt = Prompt("tour", width=200)
    assert "the lab is not kept: File exists" in "\n".join(map(text_of, prompt.printed))
    assert "now   2." in typed(prompt, "; ".join(INIT))


def test_a_crash_loses_nothing(state: Path) -> None:
    typed(Prompt("tour"), INIT[0])  # another day
    lost = Prompt("tour", INIT[1], width=200, log=opened(state))
    close_all()
    again = Prompt("continue", width=200, log=opened(state))
    assert again.lab.session.world.event == lost.lab.session.world.event
    assert "now   2. A receive for B" in typed(again, "task")


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


# --------------------------------------------------------------------------- every lab
POLL = "poll_cq A.cq0"


def person(state: Path, *lines: str) -> Prompt:
    """Somebody at a prompt: what is typed there is kept."""
    return Prompt(*lines, width=200, log=opened(state))


def text(prompt: Prompt) -> str:
    return "\n".join(map(text_of, prompt.printed))


def test_each_lab_goes_on_where_it_was_left_and_is_offered(state: Path) -> None:
    prompt = person(state, "load labs/sq-full student=s1", "answer see ENOMEM", POLL, "step")
    prompt.conversation.log.begin_empty(HEAD)
    assert kept_labs.offer() == (
        "Your work in labs/sq-full (s1), 1 of 7 points, is kept: lab goes on there."
    )
    again = person(state, "lab")
    assert exercise(again).lines == [POLL, "step"]
    assert exercise(again).answers == {"see": "ENOMEM"}
    assert "Your work of 2 lines goes on." in text(again)
    assert exercise(person(state, "load labs/sq-full student=s1")).lines == [POLL, "step"]


def test_a_lesson_in_between_keeps_the_lab_and_says_one_line(state: Path) -> None:
    prompt = person(state, "load labs/sq-full student=s1", POLL)
    printed = prompt.ask("load rc/send")
    assert [line for line in printed if "labs/sq-full" in line] == [
        "Your work in labs/sq-full is kept: lab returns to it."
    ]
    assert prompt.conversation.exercise is None
    prompt.ask("lab")
    assert exercise(prompt).lines == [POLL]
    for leave in ("new", "tour", "load labs/drain student=s1"):
        assert "Your work in labs/sq-full is kept: lab" in typed(prompt, leave)
        prompt.ask("lab sq-full")
        assert exercise(prompt).lines == [POLL]


def test_lab_goes_on_in_a_lab_that_is_not_finished(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = person(state, "load labs/sq-full student=s1", "answer see ENOMEM", POLL)
    before.conversation.log.begin_empty(HEAD)
    older = kept_labs.kept()
    tour = kept_labs.KeptLab(state, "", TOUR, "", "9 of 9 points", is_open=False)
    monkeypatch.setattr(kept_labs, "kept", lambda: [tour, *older])
    assert exercise(person(state, "lab")).lines == [POLL]


def test_labs_are_kept_apart_by_name_and_student(state: Path) -> None:
    for name, student in (("sq-full", "s1"), ("sq-full", "s2"), ("drain", "s1")):
        person(
            state, f"load labs/{name} student={student}", f"answer see {name}-{student}", "run 1ns"
        )
    assert exercise(person(state, "load labs/sq-full student=s2")).answers == {"see": "sq-full-s2"}
    assert exercise(person(state, "lab sq-full s1")).answers == {"see": "sq-full-s1"}
    assert exercise(person(state, "lab")).student == "s1"
    assert exercise(person(state, "lab drain")).lab.document.id == "drain"
    answer = typed(person(state), "lab dran")
    assert answer.startswith('no work in a lab "dran" is kept. kept: ')
    assert "labs/sq-full (s2), 0 of 7 points" in answer
    assert set(kept_labs.OF_THE_SHELL) == set(labs.commands)
    for word in ("new", "check"):
        assert f"rdmalab lab {word} is a command of the shell" in typed(
            person(state), f"lab {word}"
        )


def test_a_lab_can_be_begun_again_and_the_old_work_stays_in_its_file(state: Path) -> None:
    person(state, "load labs/sq-full student=s1", POLL)
    again = person(state, "load labs/sq-full again student=s1")
    assert exercise(again).lines == []
    assert any(POLL in file.read_text() for file in state.glob("lab-*"))


def test_a_crash_in_a_lab_loses_nothing_either_way(state: Path) -> None:
    first = person(state, "load labs/sq-full student=s1", POLL)
    lost = person(state, "lab", "step", "modify_qp A.qp0 state=ERR", "back 1")
    del first
    close_all()
    assert exercise(person(state, "lab")).lines == exercise(lost).lines == [POLL, "step"]
    close_all()
    (offered,) = {line for line in (offer(state),) if line}
    assert "was interrupted" in offered
    again = person(state, "continue")
    assert exercise(again).work.all == exercise(lost).work.all
    assert again.lab.session.world.event == lost.lab.session.world.event


def test_no_lab_is_kept_says_how_one_is_opened(state: Path) -> None:
    assert typed(person(state), "lab") == ("no lab is kept. load labs/by-hand student=ID opens one")
    prompt = person(state, "load labs/drain student=s1")
    assert typed(prompt, "lab") == "a lab is open: task lists its tasks"
    assert kept_labs.offer() == ""  # nothing was done yet


def test_what_is_not_ours_is_not_offered_and_lines_of_a_script_are_not_kept(state: Path) -> None:
    (state / "lab-x-00000000-0.yaml").write_text("kind: submission\n")
    (state / "tour-9.yaml").mkdir()
    assert kept_labs.kept() == []
    Prompt("load labs/drain student=s1", POLL)
    assert kept_labs.kept() == []


def test_only_the_newest_labs_are_kept(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_labs, "_LABS", 2)
    for student in ("s1", "s2", "s3"):
        person(state, f"load labs/drain student={student}", POLL)
    person(state, "load labs/drain student=s3")
    assert {each.student for each in kept_labs.kept()} == {"s2", "s3"}


def test_work_that_is_named_goes_on_and_is_kept_from_then_on(state: Path) -> None:
    prompt = person(state, "load labs/sq-full student=s7", POLL, f"submit {state}/work.yaml")
    del prompt
    person(state, f"load labs/sq-full work={state}/work.yaml", "step")
    (lab,) = kept_labs.kept()
    assert (lab.student, lab.title) == ("s7", "labs/sq-full (s7), 0 of 7 points")
    assert exercise(person(state, "lab")).lines == [POLL, "step"]


# --------------------------------------------------------------------------- mistakes in the tour
def test_a_receive_without_a_buffer_is_noticed_at_once_and_passes_nothing(state: Path) -> None:
    prompt = Prompt("tour", *INIT, width=200)
    answer = typed(prompt, "post_recv B.qp0")
    assert "→ The first receive of B.qp0 must have wr_id=1 and room for 64 bytes" in answer
    assert "now   3." not in answer
    assert "→ The first receive of B.qp0" in typed(prompt, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]")
    prompt.ask("back 2")
    assert "now   3." in typed(prompt, "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]")


def test_the_text_of_a_mistake_is_shown_once(state: Path) -> None:
    lines = shown_lines()
    prompt = Prompt("tour", *lines[: lines.index("step")], "run", "answer no-receive b", width=200)
    prompt.ask("answer cause rnr-infinite", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]")
    assert typed(prompt, "run").count("A SEND without a receive got an RNR NAK") == 1


def test_half_of_a_task_is_confirmed(state: Path) -> None:
    prompt = Prompt("tour", width=200)
    assert "1 of 2 done; left: B.qp0.state == INIT" in typed(prompt, INIT[0])
    assert "left:" not in typed(prompt, "back; show A.qp0")


def test_err_is_noticed_with_a_way_back(state: Path) -> None:
    lines = shown_lines()
    prompt = Prompt("tour", *lines[: lines.index("run") - 1], "checkpoint ok", width=200)
    at = prompt.lab.session.world.event
    answer = typed(prompt, "modify_qp B.qp0 state=ERR")
    assert f"B.qp0 is in ERR. goto {at} returns to the moment before this line." in answer
    assert "in ERR" not in typed(prompt, f"goto {at}")
    assert "now   6." in typed(
        prompt, "; ".join(lines[lines.index("run") - 1 : lines.index("run") + 1])
    )


def test_a_checkpoint_without_its_sign_is_a_moment(state: Path) -> None:
    prompt = Prompt("tour", "checkpoint before")
    at = prompt.lab.session.world.event
    typed(prompt, "modify_qp A.qp0 state=ERR")
    assert "back." in typed(prompt, "goto before")
    assert prompt.lab.session.world.event == at


def test_a_message_into_a_receive_without_room_is_explained_with_the_way_on(state: Path) -> None:
    lines = shown_lines()
    at = lines.index("run")
    prompt = Prompt("tour", *lines[: at - 1], width=200)
    answer = typed(prompt, f"{lines[at - 1].replace('[0:64]', '[0:65]')}; run")
    assert "→ A receive without room took the message. Begin again with tour again." in answer
    assert "A.qp0 and B.qp0 are in ERR. goto " in answer


def test_a_student_with_a_name_that_no_submission_can_have_is_refused(state: Path) -> None:
    answer = typed(person(state), 'load labs/drain student="A B"')
    assert answer == 'student "A B": an id has letters, digits, - _ and . only'


def test_a_line_to_type_that_is_folded_hangs(state: Path) -> None:
    lines = typed(Prompt("tour", *shown_lines()[:3], width=80), "hint").splitlines()
    first = next(
        at for at, row in enumerate(lines) if row.startswith("  modify_qp A.qp0 state=RTR")
    )
    assert lines[first + 1].startswith(" " * 6)
    assert lines[first + 2].startswith("  modify_qp B.qp0")
