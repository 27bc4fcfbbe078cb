"""Help and explain, said at a prompt; and every example there is, run."""

from pathlib import Path

import pytest

from rdmalab.command import Command, NotUnderstood, command
from rdmalab.guide.article import Article
from rdmalab.lab import Lab
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.views.query import fields
from rdmalab.workbench.help import TOPICS
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


def test_help_alone_names_every_word_once() -> None:
    said = [word for s in asked("help").sections[:-2] for line in s.lines for word in line.split()]
    assert sorted(said) == sorted(WORDS)
    assert len(asked("help").lines(80)) <= 42


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


def test_help_on_nothing_known_gives_one_suggestion() -> None:
    with pytest.raises(NotUnderstood) as caught:
        asked("help post_sned")
    assert caught.value.hint == "did you mean post_send?"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("explain modify_qp RTR", "modify_qp … state=RTR"),
        ("explain transport retry counter exceeded", "IBV_WC_RETRY_EXC_ERR"),
        ("explain 0x62", "NAK_REMOTE_ACCESS"),
        ("explain queue-full", "queue-full"),
        ("explain 22", "EINVAL"),
        ("explain modify_qp INIT RTR", "INIT → RTR"),
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
