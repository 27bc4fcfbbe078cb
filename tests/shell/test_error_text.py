from tests.shell.prompts import TRANSCRIPTS, Prompt, check, played, sections

RESET = ("use rc_pair", "reset A.qp0", "reset B.qp0")
SETUPS = {"refused: bring-up": RESET, "refused: objects": RESET}


def test_the_transcript_of_mistakes() -> None:
    path = TRANSCRIPTS / "mistakes.txt"
    found = list(sections(path))
    lines = [played(title, typed, *SETUPS.get(title, RESET[:1])) for title, typed in found]
    assert sum(len(typed) for _, typed in found) >= 70
    check(path, "\n".join(lines) + "\n")


def test_a_typing_mistake_is_no_event() -> None:
    prompt = Prompt("use rc_pair")
    before = prompt.lab.session.world.event
    assert prompt.ask("post_sned A.qp0")[0].startswith("not understood (nothing happened)")
    assert prompt.lab.session.world.event == before


def test_refusal_of_wr_complete_says_that_the_batch_is_discarded() -> None:
    made = "qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    prompt = Prompt("use rc_pair", f"create_qp_ex A.qx0 {made}", "wr_start A.qx0", "wr_send A.qx0")
    assert prompt.ask("wr_complete A.qx0")[0].endswith("the batch is discarded]")
    assert prompt.lab.look("A.qx0.region.open") is False


def test_soft_roce_keeps_what_it_refuses_before_rts_and_says_so() -> None:
    parts = "qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0"
    early = "post_send A.lone opcode=SEND sg=A.mr0[0:8]"
    for profile, left in (("rxe", "it stays in the ring]"), ("strict", "nothing changed]")):
        prompt = Prompt("use rc_pair", f"create_qp A.lone {parts}", profile=profile)
        assert prompt.ask(early)[0].endswith(left)


def test_every_message_is_at_most_eight_lines_of_eighty() -> None:
    for title, typed in sections(TRANSCRIPTS / "mistakes.txt"):
        prompt = Prompt(*SETUPS.get(title, RESET[:1]))
        for line in typed:
            printed = prompt.ask(line)
            assert len(printed) <= 8, printed
            assert all(len(row) <= 80 for row in printed), printed


def test_the_caret_stands_under_what_is_wrong_in_a_paste() -> None:
    printed = Prompt("use rc_pair").ask("step\npost_send qp0 opcode=SND\nstep")
    line = printed.index("  post_send qp0 opcode=SND")
    assert printed[line + 1].index("^") == printed[line].index("SND")
    assert printed[-1] == "stopped at line 2 of 3."


def test_a_long_line_is_shown_around_the_caret() -> None:
    line = "modify_qp A.qp0 state=INIT " + "pkey_index=0 " + "q" * 100 + "=1"
    printed = Prompt("use rc_pair", width=60).ask(line)
    assert all(len(row) <= 60 for row in printed)
    assert "…" in printed[1]


def test_control_characters_are_shown_not_sent() -> None:
    printed = Prompt().ask("bad\x1b[31m")
    assert all("\x1b" not in row for row in printed)


def test_a_plain_page_names_the_column_and_draws_no_caret() -> None:
    prompt = Prompt("use rc_pair", plain=True)
    assert prompt.ask("modify_qp A.qp0 state=INIT")[1:4] == [
        "  modify_qp A.qp0 state=INIT",
        "  at column 23: INIT",
        "  RTS → INIT is not a legal transition",
    ]
    assert prompt.ask("post_sned A.qp0")[1:] == [
        "  post_sned A.qp0", "  at column 1: post_sned", "  did you mean post_send?",
    ]  # fmt: skip
