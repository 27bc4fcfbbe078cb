"""What a student reads while he works: signs, one task in full, the cause after the line."""

from pathlib import Path

import pytest

from rdmalab.shell.lab_text import overview, share, signs
from rdmalab.shell.styled_text import text_of
from tests.classroom.labs import plain_lab
from tests.classroom.labs import text_of as lab_of
from tests.shell.prompts import Prompt

A_UP = (
    "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "modify_qp A.qp0 state=RTR path_mtu=1024 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=B",
    "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=1 rnr_retry=7 sq_psn=5 max_rd_atomic=1",
)
GOALS = "  - {id: made, points: 1, goal: [B.cq0.count == 9]}\n"
SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"


@pytest.fixture
def talk(tmp_path: Path) -> Prompt:
    return Prompt(f"load {plain_lab(tmp_path, 'by-hand')} student=anna", width=200)


def typed(talk: Prompt, *lines: str) -> str:
    return "\n".join(talk.ask(*lines))


def marks(talk: Prompt) -> str:
    assert talk.conversation.exercise is not None
    return " ".join(map("".join, signs(talk.conversation.exercise)))


def test_each_task_has_its_sign_and_the_share_is_known(talk: Prompt) -> None:
    lab = talk.conversation.exercise
    assert lab is not None
    assert marks(talk) == "●attributes ·up ·hello ?back"
    talk.ask("answer 1")
    assert marks(talk) == "✗attributes ·up ·hello ?back"
    talk.ask("answer 2")
    assert (marks(talk), share(lab)) == ("✓attributes ●up ·hello ?back", "14 %")
    talk.ask(*A_UP, SEND, "run")
    assert marks(talk) == "✓attributes ✗up ✗hello ?back"
    assert text_of(overview(lab, 80)).strip() == ("14 %  ✓ attributes  ✗ up  ✗ hello  ? back")
    assert text_of(overview(lab, 30)) == "14 %  ✓✗✗?  up"


def test_every_task_can_be_read_and_answered_before_its_turn(tmp_path: Path) -> None:
    prompt = Prompt(f"load {plain_lab(tmp_path, 'sq-full')} student=s1", width=200)
    page = typed(prompt, "task explain")
    assert "● explain  0/2  open" in page
    assert "  a) " in page
    assert "  a, b or c answers" in page
    assert "hint" not in page
    assert "  hint see: 1 hint left" in typed(prompt, "task see")
    assert "explain          2/2  done" in typed(prompt, "answer explain 2")
    assert "  your answer: b) " in typed(prompt, "task explain")
    assert "no task is called nix" in typed(prompt, "task nix")
    hidden = marks(prompt).split("?")[1]
    assert "No post is refused after the repair" in typed(prompt, f"task {hidden}")


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("2", True), ("b", True), ("dest_qp_num", True), ("DEST_QP_NUM.", True), ("1", False),
        ("attributes 2", True), ("attributes dest_qp_num", True), ("attributes timeout", False),
        ("retry_cnt", False),
    ],
)  # fmt: skip
def test_an_answer_is_a_number_a_letter_or_a_word(talk: Prompt, word: str, *, right: bool) -> None:
    answer = typed(talk, f"answer {word}")
    assert ("✓ attributes       1/1  done" in answer) is right
    assert ("✗ That is not the answer." in answer) is not right


def test_what_is_no_answer_is_not_judged_as_a_wrong_one(talk: Prompt) -> None:
    assert typed(talk, "answer foo") == "foo is none of the answers of attributes: a, b or c"
    assert "_ names more than one" not in typed(talk, "answer 4")
    assert marks(talk) == "●attributes ·up ·hello ?back"


def test_a_later_question_is_answered_while_the_open_task_asks_for_none(tmp_path: Path) -> None:
    """The first task has goals: `answer 2` means the first question, not the first task."""
    path = plain_lab(tmp_path, "by-hand", ("tasks:\n", f"tasks:\n{GOALS}"))
    prompt = Prompt(f"load {path} student=anna", width=200)
    assert marks(prompt) == "●made ·attributes ·up ·hello ?back"
    assert "✓ attributes" in typed(prompt, "answer 2")
    assert typed(prompt, "answer 2") == "no question is open: task lists the tasks"


def test_the_words_of_the_lab_stand_after_the_line_that_shows_the_cause(talk: Prompt) -> None:
    talk.ask("answer 2")
    refused = talk.ask("modify_qp A.qp0 state=RTS")
    assert refused[-1] == "→ up: A move was refused. Read which attribute is missing or too much."
    talk.ask(*A_UP, SEND)
    *_, answer, back = talk.ask("run")
    assert answer == "→ up: B is not in RTR, so it drops what A sends."
    assert back.startswith("A.qp0 is in ERR. goto ")
    assert "→ up" not in typed(talk, "show A.qp0", "run 1us")  # once for each cause
    event = back.partition("goto ")[2].partition(" ")[0]
    talk.ask(f"goto {event}")
    assert typed(talk, "run").count("→ up: B is not in RTR") == 1
    assert "→ B is not in RTR" in typed(talk, "task")
    assert "→ B is not in RTR" in typed(talk, "submit")


RTR = (
    "modify_qp {}.qp0 state=RTR path_mtu=1024 dest_qp_num={}.qp0 rq_psn={} max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah={}"
)
RTS = "modify_qp {}.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn={} max_rd_atomic=1"


def test_without_a_cause_the_words_for_all_else_stand_after_the_line_that_shows_it(
    talk: Prompt,
) -> None:
    """A run is over, nothing fails, and the message is not the one that is wanted."""
    lab = talk.conversation.exercise
    assert lab is not None
    psn, words = lab.lab.params["psn"], "→ hello: The bytes have to arrive at B.mr0[0] with a rec"
    talk.ask("answer 2", A_UP[0], A_UP[0].replace("A.", "B."), RTR.format("A", "B", 0, "B"))
    talk.ask(RTR.format("B", "A", psn, "A"), RTS.format("A", psn), RTS.format("B", 0))
    assert "→" not in typed(talk, "post_recv B.qp0 sg=B.mr0[64:128]")
    assert "→" not in typed(talk, SEND, "step")
    answer = typed(talk, "run")
    assert "met  up: A.cq0.total(status=SUCCESS, opcode=SEND) >= 1" in answer
    assert answer.count(words) == 1
    assert words not in typed(talk, "run 1us", "show B.qp0")  # once
    assert "hello" not in typed(talk, "back 2", "step", "step")  # what is seen again


REUSED = "The buffer was written before the device had read it."


def reuse(tmp_path: Path) -> tuple[Prompt, str]:
    """The lab `reuse`, and the second text that it wants in the buffer."""
    prompt = Prompt(f"load {plain_lab(tmp_path, 'reuse')} student=s1", width=300)
    lab = prompt.conversation.exercise
    assert lab is not None
    return prompt, str(lab.lab.params["second"])


def test_words_that_answer_a_question_come_after_its_answer(tmp_path: Path) -> None:
    """The first task shows what the second one asks for: the lab must not say it in between."""
    prompt, second = reuse(tmp_path)
    first = "post_send A.qp0 opcode=SEND sg=A.buf[0:64] flags=SIGNALED"
    assert REUSED not in typed(prompt, first, f'write A.buf[0:5] "{second}"', "run 1ms", "task")
    assert REUSED not in typed(prompt, "task records")
    prompt.ask(f"answer see {second}", "answer copied a")
    assert REUSED in typed(prompt, "task records")


def test_an_open_question_is_reported_once_then_the_words_about_a_later_task_are_shown(
    talk: Prompt,
) -> None:
    move = "modify_qp A.qp0 state=RTS"
    words = "→ up: A move was refused. Read which attribute is missing or too much."
    told = typed(talk, move)
    assert "A move was refused" not in told
    assert "→ attributes is not answered yet, and words about up may contain the answer." in told
    assert words in typed(talk, move)
    assert "is not answered yet" not in typed(talk, *A_UP, SEND, "run")


def test_the_words_wait_for_each_question_that_is_open(tmp_path: Path) -> None:
    prompt, second = reuse(tmp_path)
    send = "post_send A.qp0 opcode=SEND sg=A.buf[0:16] flags=SIGNALED"
    lines = (send, f'write A.buf[0:5] "{second}"', "run 1ms")
    shown = typed(prompt, *lines)
    assert "→ see is not answered yet, and words about records may" in shown
    assert "the program wrote A.buf[0:5]" not in shown
    assert "  cause  not shown before the open question is answered" in shown
    prompt.ask(f"answer see {second}")
    shown = typed(prompt, *lines)
    assert REUSED not in shown
    assert "→ copied is not answered yet" in shown
    assert "the program wrote A.buf[0:5]" not in shown
    shown = typed(prompt, *lines, "task records")
    assert REUSED in shown
    assert "  cause  the program wrote A.buf[0:5]" in shown


LOC_LEN = "The message is longer than the receive that it took."


@pytest.mark.parametrize("size", ["receive", "message"])
def test_a_wrong_size_is_named_as_one(talk: Prompt, size: str) -> None:
    lab = talk.conversation.exercise
    assert lab is not None
    psn, wanted = lab.lab.params["psn"], lab.lab.params["size"]
    talk.ask("answer 2", A_UP[0], A_UP[0].replace("A.", "B."), RTR.format("A", "B", 0, "B"))
    talk.ask(RTR.format("B", "A", psn, "A"), RTS.format("A", psn), RTS.format("B", 0))
    room, sent = (8, wanted) if size == "receive" else (4096, int(wanted) + 1)
    talk.ask(f"post_recv B.qp0 sg=B.mr0[0:{room}]")
    talk.ask(f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{sent}] flags=SIGNALED")
    words = LOC_LEN if size == "receive" else f"Compare byte_len in show cq B.cq0 with {wanted}."
    assert words in typed(talk, "run")


def test_a_refused_call_is_no_failure_any_more_after_one_that_succeeds(talk: Prompt) -> None:
    talk.ask("answer 2")
    assert "A move was refused" in typed(talk, "modify_qp A.qp0 state=RTS")
    assert marks(talk) == "✓attributes ✗up ·hello ?back"
    talk.ask(A_UP[0])
    assert marks(talk) == "✓attributes ●up ·hello ?back"
    assert "A move was refused" not in typed(talk, "task")
    talk.ask("modify_qp A.qp0 state=RTS")
    assert marks(talk) == "✓attributes ✗up ·hello ?back"


def test_words_about_a_refused_call_do_not_return_after_lines_that_were_accepted(
    talk: Prompt,
) -> None:
    talk.ask("answer 2")
    assert typed(talk, SEND).endswith("→ up: Sends are posted in RTS. In which state is A.qp0?")
    assert "→ up: B is not in RTR" in typed(talk, *A_UP, SEND.replace("wr_id=1", "wr_id=2"), "run")
    b_up = [
        line.replace("A.qp0", "B.qp0")
        .replace("ah=B", "ah=A")
        .replace("=B.qp0 rq_psn=0", "=A.qp0 rq_psn=5")
        for line in A_UP
    ]
    again = ("modify_qp A.qp0 state=RESET", *A_UP, *b_up, "post_recv B.qp0 sg=B.mr0[0:64]")
    answer = typed(talk, *again, "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:8]", "run")
    assert "A.qp0 received ACK psn=5 from B" in answer
    assert "Sends are posted in RTS" not in answer


def test_a_goal_about_what_does_not_exist_yet_says_what_it_is_about(talk: Prompt) -> None:
    answer = typed(talk, "answer 2", "task")
    assert "not yet: A.cq0.last.qp.state == RTS: there is no A.cq0.last.qp yet" in answer
    assert "%{" not in answer


def test_a_goal_about_a_queue_pair_of_the_work_is_not_called_met_before_it_is(talk: Prompt) -> None:
    page = typed(talk, "answer 2", *A_UP, SEND, "run", "task up")  # A.qp0 is in ERR
    assert "not yet: A.qp0.state == RTS (now ERR)" in page
    assert "state == RTS" not in "".join(row for row in page.splitlines() if "met:" in row)


def test_a_goal_that_no_later_event_can_meet_is_not_called_open(talk: Prompt) -> None:
    page = typed(talk, "answer 2", *A_UP, SEND, "run", "task hello")
    lost = "never A.cq0.total(status=SUCCESS) < A.cq0.total: true at event "
    assert f"  not met any more: {lost}" in page
    assert 'not yet: B.mr0[0:5] == "hello"' in page


def test_the_tour_says_how_an_answer_in_words_is_typed() -> None:
    prompt = Prompt("load tour", width=200)
    assert "type: answer TEXT" in typed(prompt, "task cause")
    assert "write the answer after the name of the task" in typed(prompt, "answer cause")


def test_a_shut_doctor_says_nothing_about_causes(tmp_path: Path) -> None:
    path = plain_lab(tmp_path, "by-hand", ("rules:\n", "rules:\n  doctor: shut\n"))
    prompt = Prompt(f"load {path} student=anna", width=200)
    assert "→ up" not in typed(prompt, "modify_qp A.qp0 state=RTS")


def test_the_submission_says_how_it_is_handed_in(talk: Prompt) -> None:
    talk.conversation.copy = lambda _: "copied"
    *_, how, word = talk.ask("submit")
    assert how == "copied. Hand in this word; submit anna.yaml writes a file instead."
    assert word.startswith("rdmalab-work:1:")


def test_a_question_whose_answers_are_used_up_is_not_the_open_task_any_more(tmp_path: Path) -> None:
    path = plain_lab(tmp_path, "by-hand", ("    choice:\n", "    tries: 1\n    choice:\n"))
    prompt = Prompt(f"load {path} student=anna", width=200)
    answer = typed(prompt, "a")
    assert "✗ attributes       0/1  wrong" in answer
    assert "● up" in answer
    assert "a) " not in answer
    assert marks(prompt) == "✗attributes ●up ·hello ?back"


def test_a_task_that_is_done_before_time_has_moved_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.lab.yaml").write_text(
        lab_of("  - {id: made, points: 1, goal: [B.cq0.count == 1]}\n")
    )
    talk = Prompt(f"load {tmp_path / 'x.lab.yaml'} student=anna", width=200)
    says = "judged as if your lines ended with: run 100ms"
    assert says not in typed(talk, "post_recv B.qp0 sg=B.mr0[0:64]", "task")
    assert says in typed(talk, SEND, "task")
    assert says not in typed(talk, "run", "task")


def test_an_error_that_the_task_asked_for_needs_no_way_back(tmp_path: Path) -> None:
    (tmp_path / "x.lab.yaml").write_text(
        lab_of("  - {id: made, points: 1, goal: [A.qp0.state == ERR]}\n")
    )
    talk = Prompt(f"load {tmp_path / 'x.lab.yaml'} student=anna", width=200)
    answer = typed(talk, "modify_qp A.qp0 state=ERR")
    assert "All tasks are done" in answer
    assert "is in ERR. goto" not in answer
