"""Help and explain, said at a prompt; and every example there is, run."""

from pathlib import Path

import pytest

from rdmalab.command import Command, NotUnderstood, command
from rdmalab.guide.article import Article
from rdmalab.guide.manual import PAGES, titles
from rdmalab.lab import Lab
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.views.query import fields
from rdmalab.workbench.help_pages import MOST_USED, TOPICS
from tests.guide.saying import WORDS
from tests.workbench.examples import check_examples, failures


def fresh() -> Session:
    session = Lab(default_node="A").session
    session.vocabulary = WORDS
    return session


def asked(line: str) -> Article:
    (reply,) = replies(fresh(), line)
    if reply.error is not None:
        raise reply.error
    assert isinstance(reply.value, Article)
    return reply.value


def test_help_all_names_every_word_once() -> None:
    lines = [word for s in asked("help all").sections for line in s.lines for word in line.split()]
    assert sorted(lines) == sorted(WORDS)
    assert len(asked("help all").lines(80)) <= 45
    assert asked("help verbs") == asked("help all")


def test_help_alone_is_one_screen_of_the_words_used_most() -> None:
    found = asked("help")
    assert len(found.lines(80)) <= 16
    first = [part.split()[0] for _, text in MOST_USED for part in text.split(" · ")]
    assert {word.rstrip(":") for word in first} <= WORDS.keys()
    for name in (*PAGES, "help all", "help expr", "explain WORD"):
        assert name in found.text


def test_help_alone_has_what_a_newcomer_looks_for() -> None:
    text = "\n".join(asked("help").lines(80))
    assert all(word in text for word in ("lessons", "F8", "snapshot"))


def test_help_on_a_verb_is_its_page() -> None:
    assert asked("help create_cq").sections[0].lines == [
        "create_cq NEW_CQ cqe=N [comp_vector=N] [channel=CHANNEL] [cq_context=N]"
    ]
    assert asked("help ibv_create_cq").title == "create_cq"


def test_help_on_a_group_lists_its_words() -> None:
    headings = [section.heading for section in asked("help time").sections]
    assert {"step", "run", "until"} <= set(headings)


def test_help_expr_lists_everything_that_can_be_asked() -> None:
    text = asked("help expr").text
    assert all(row.path in text for row in fields())


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_fits_in_width(topic: str) -> None:
    assert max(map(len, asked(f"help {topic}").lines(80))) <= 80


def test_help_goes_on_to_explain() -> None:
    assert asked("help RNR_RETRY_EXC_ERR").kind == "completion status 13"


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("keys", "Keys"), ("search", "Long answers"), ("clipboard", "Copy"), ("enlarge", "Zoom"),
        ("color", "Signs and colours"), ("settings", "settings"), ("how do i enlarge?", "Zoom"),
        ("what is rnr", "rnr"), ("time", "time"), ("repl", "From a pipe or a file"),
        ("selfcheck", "Check the installation"), ("compare", "Compare two devices"),
    ],
)  # fmt: skip
def test_help_answers_about_the_program_too(word: str, title: str) -> None:
    assert asked(f"help {word}").title == title


def test_a_command_and_a_group_have_their_page_of_the_manual() -> None:
    for name in ("why", "time", "programs"):
        found = asked(f"help {name}")
        assert titles()[name] in [section.heading for section in found.sections]


def test_help_on_nothing_known_gives_one_suggestion() -> None:
    with pytest.raises(NotUnderstood) as caught:
        asked("help post_sned")
    assert caught.value.hint == "did you mean post_send?"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("rnr", "did you mean explain rnr?"),
        ("what is rnr", "did you mean explain rnr?"),
        ("what is rnr?", "did you mean explain rnr?"),
        ("send A", "did you mean post_send?"),
        ("what's an RNR NAK?", "did you mean explain RNR NAK?"),
        ("How do I enlarge?", "did you mean help enlarge?"),
        ("enlarge", "did you mean help enlarge?"),
        ("what is frobnicate", "explain WORD explains a term, help WORD a command or a key"),
        ("post_sned", "did you mean post_send?"),
        ("post_sned A.qp0", "did you mean post_send?"),
        ("frobnicate", "help all lists the verbs"),
        ("1", "a number alone answers a question of a lesson, and none is open"),
        ("what is 12?", "did you mean explain 12?"),
        ("0x81", "did you mean explain 0x81?"),
        ("rnr-retry-exceeded", "did you mean load err/rnr-retry-exceeded?"),
        ("err/rnr-retry-exceeded", "did you mean load err/rnr-retry-exceeded?"),
        ("rnr/notes", "did you mean lessons rnr?"),
        ("struct ibv_send_wr wr = { .wr_id = 1 };",
         "ibv_send_wr is an argument of post_send; write post_send A.qp0 wr_id=7 opcode=SEND "
         "sg=A.mr0[0:64] flags=SIGNALED"),
        ("struct ibv_send_wr wr = { .wr_id = 3, .opcode = IBV_WR_RDMA_READ };",
         "ibv_send_wr is an argument of post_send; write post_send A.qp0 wr_id=3 "
         "opcode=IBV_WR_RDMA_READ"),
        ("struct ibv_qp_attr attr;", "ibv_qp_attr is an argument of modify_qp; write modify_qp "
         "A.qp0 state=INIT port_num=1 pkey_index=0 qp_access_flags=REMOTE_WRITE"),
        ("struct ibv_context *ctx;",
         "C needs no declaration here: objects are made by verbs, such as create_qp"),
        ("attr.qp_state = IBV_QPS_INIT;",
         "this is C; a field is a key of a verb here: write modify_qp A.qp0 state=INIT …"),
        ("wr->sg_list = &sge;",
         "this is C; a field is a key of a verb here: write modify_qp A.qp0 state=INIT …"),
        ("ibv_modify_qp(qp, &attr, IBV_QP_STATE);",
         "write modify_qp A.qp0 state=INIT port_num=1 pkey_index=0 qp_access_flags=REMOTE_WRITE"),
    ],
)  # fmt: skip
def test_a_question_typed_without_a_command_is_led_on(line: str, hint: str) -> None:
    (reply,) = Lab().do(line)
    assert reply.error is not None
    assert reply.error.hint == hint


@pytest.mark.parametrize("line", ["A.qp0", "B.mr0", "A.cq0", "what is A.qp0?"])
def test_the_name_of_an_object_leads_to_show(line: str) -> None:
    lab = Lab()
    lab.do("use rc_pair")
    (reply,) = lab.do(line)
    assert reply.error is not None
    assert reply.error.hint == f"did you mean show {line.split()[-1].strip('?')}?"


def test_files_keep_the_hints_about_verbs() -> None:
    (reply,) = Lab().replies("rnr", file=True)
    assert reply.error is not None
    assert reply.error.hint == "did you mean run?"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("explain modify_qp RTR", "modify_qp … state=RTR"),
        ("explain transport retry counter exceeded", "IBV_WC_RETRY_EXC_ERR"),
        ("explain 0x62", "NAK_REMOTE_ACCESS"),
        ("explain queue-full", "queue-full"),
        ("explain 22", "EINVAL"),
        ("explain modify_qp INIT RTR", "INIT → RTR"),
        ("explain PD", "pd"),
        ("explain MR", "mr"),
        ("explain socket", "socket"),
        ("explain IBV_FLUSH_MR", "IBV_FLUSH_MR"),
    ],
)
def test_explain_takes_several_words(line: str, title: str) -> None:
    assert asked(line).title == title


def test_asking_is_no_event() -> None:
    session = fresh()
    before = session.world.event
    assert list(failures(session, "help; explain psn")) == []
    assert session.world.event == before
    assert not session.journal


@pytest.mark.parametrize("name", WORDS)
def test_the_example_of_every_word_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # one of them writes a file
    assert check_examples(fresh, [WORDS[name]]) == []


def test_a_wrong_example_is_found() -> None:
    @command
    def mistaken(session: Session) -> None:
        """Say something wrong.

        Example: mistaken A.cq9
        """

    @command
    def silent(session: Session) -> None:
        """Say nothing."""

    words: dict[str, Command] = {**WORDS, "mistaken": mistaken}

    def other() -> Session:
        session = fresh()
        session.vocabulary = words
        return session

    assert check_examples(other, [mistaken]) == ['mistaken: mistaken A.cq9: unexpected "A.cq9"']
    assert check_examples(other, [silent]) == ["silent: no example"]
