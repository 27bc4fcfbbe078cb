"""What stands on a page: steps as they were played, links, statements, tasks without answers."""

import re

import pytest

from rdmalab.book.catalogue import catalogue
from rdmalab.book.html import escaped
from rdmalab.book.lesson_page import rendered, sheet
from rdmalab.book.words import cause_address
from rdmalab.classroom.lab_file import load
from rdmalab.guide.manual import PAGES, titles
from rdmalab.scenario.files import of_instructor, read
from tests.book.conftest import LAB, Made

RNR = "lessons/err/rnr-retry-exceeded.html"


def plain(text: str) -> str:
    return re.sub(r"<[^>]*>", "", text).replace("&quot;", '"').replace("&gt;", ">")


def test_a_lesson_shows_lines_packets_and_what_is_true(made: Made) -> None:
    text = made.text(RNR)
    answer = plain(text)
    assert "✓met:  A.cq0.next.status == IBV_WC_RNR_RETRY_EXC_ERR" in answer
    assert "RNR_NAK psn=0 timer=12" in answer
    assert "✓ returns EINVAL: RTS → INIT is not a legal transition" in answer
    assert "Play itload err/rnr-retry-exceeded" in answer
    assert text.count("<svg") == text.count("The drawing as text") == 2
    assert 'href="../../statements.html#S116"' in text
    assert 'href="../../guide/commands.html#verb-post_send"' in text
    assert 'rel="prev"' in text


def test_the_answer_to_a_question_is_folded_below_its_choices(made: Made) -> None:
    text = made.text(RNR)
    question, _, answer = text.partition('<details class="answer"><summary>The answer</summary>')
    assert "How does wr7 end?" in question
    assert '<ol type="a"><li>Not at all.' in question
    assert "b) The RNR timer expires" not in plain(question)
    assert "b) The RNR timer expires" in plain(answer)
    assert "A.cq0.next.wr_id == 7" in plain(answer)


def test_answers_of_why_link_to_their_cause(made: Made) -> None:
    text = made.text("lessons/why/loc-len.html")
    assert f'href="../../{cause_address("loc-len")}"' in text
    assert "fix: " in plain(text)


def test_programs_stand_beside_the_setup_and_not_in_it(made: Made) -> None:
    text = plain(made.text("lessons/why/atomic-mixed.html"))
    assert "Program A.count" in text
    assert "program A.count" not in text


def test_a_packet_in_flight_arrives_in_the_next_drawing(made: Made) -> None:
    text = made.text("lessons/err/rnr-retry-exceeded.html")
    assert "in flight" not in text


FAILING = """\
rdmalab: 1
title: it fails
steps:
  - use rc_pair
  - do: post_recv B.qp0 sg=B.mr0[0:64]
    expect: [B.qp0.rq.used == 1, B.qp0.rq.used == 7, A.qp0.state == RTS]
  - note: never reached
"""


def test_a_lesson_that_fails_says_where(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("failing")
    (base / "f.rdmalab.yaml").write_text(FAILING)
    (base / "g.rdmalab.yaml").write_text(FAILING.replace("post_recv", "post_reeecv"))
    listed = catalogue([str(base / "f.rdmalab.yaml"), str(base / "g.rdmalab.yaml")])
    pages = [rendered(chapter, listed) for chapter in listed.chapters]
    failed, unread = (plain(each.page.main) for each in pages)
    assert "✓met:  B.qp0.rq.used == 1" in failed
    assert "✗not met:  B.qp0.rq.used == 7" in failed
    assert "·not judged:  A.qp0.state == RTS" in failed
    assert "expected  B.qp0.rq.used == 7" in failed
    assert "This file cannot be played." in unread
    assert "post_reeecv" in unread
    assert all(each.wrong for each in pages)


def test_statements_name_the_lessons_that_show_them(made: Made) -> None:
    text = made.text("statements.html")
    row = text.partition('<tr id="S116">')[2].partition("</tr>")[0]
    assert f'href="{RNR}"' in row


def test_the_manual_is_in_the_book_with_its_links(made: Made) -> None:
    home = made.text("manual/index.html")
    for name in PAGES:
        assert f'href="{name}.html"' in home
        assert escaped(titles()[name]) in made.text(f"manual/{name}.html")
    text = made.text("manual/time.html")
    assert 'href="../guide/commands.html#verb-rewind"' in text
    assert "# back to the event that wrote the bytes" in plain(text)
    assert 'rel="prev" class="prev"' in text
    assert "<!--" not in text
    keys = made.text("manual/keys.html")
    assert keys.count("<table>") == 4
    assert "<th>key</th>" in keys
    assert 'href="../manual/pyverbs.html"' in made.text("manual/programs.html")
    assert "manual/screen.html#Zoom" in made.text("search.js")


# --------------------------------------------------------------------------- labs
def test_a_lab_shows_what_students_get_and_nothing_else(made: Made) -> None:
    source = read(of_instructor("labs/sq-full"))
    for page in ("labs/sq-full.html", "sheets/s4711.html"):
        text = plain(made.text(page))
        assert "Post one more SEND on A.qp0. Which errno does post_send return?" in text
        assert "answer see" in text
        assert '<ol class="choices" type="a">' in made.text(page)  # the letters of the app
        assert "No post is refused after the repair" in text  # announced
        for secret in ("log.last.errno", "log.count(verb=post_send", "A.qp0.sq.free > 0",
                       "Slots of a send queue do not", "to_rts A.qp0"):  # fmt: skip
            assert secret in source
            assert secret not in text, (page, secret)


def test_a_sheet_has_the_values_of_its_student(made: Made) -> None:
    for student in ("s4711", "s1", "s2", "s3"):
        found = sheet(student, made.catalogue.labs, made.catalogue, f"sheets/{student}.html")
        lab = load(LAB, student)
        text = plain(found.page.main)
        assert not found.wrong
        assert f"max_send_wr={lab.params['depth']}" in text
        assert f"send {lab.params['more']} more messages" in text
        assert f"load labs/sq-full student={student}" in text
