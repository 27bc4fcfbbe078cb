"""A page of the manual in styles: headings, code, and no backquotes."""

from rdmalab.guide.article import Article, ArticleSection
from rdmalab.shell.styled_text import text_of
from rdmalab.shell.value_text import CODE, HEADING, REMARK, article_lines
from tests.shell.prompts import Prompt


def test_headings_code_and_remarks_have_styles_of_their_own() -> None:
    sections = [
        ArticleSection("", ["Type `load labs/sq-full work=work.yaml` or `lab` to go on there."]),
        ArticleSection("A heading", ["  lab   # the lab that was open last"], True, True),
        ArticleSection("", ["one ` is meant"]),
    ]
    lines = article_lines(Article("Title", "manual", sections), 40)
    assert lines[0] == [("class:title", "Title  (manual)")]
    code = "".join(text for line in lines[1:3] for style, text in line if style == CODE)
    assert " ".join(code.split()) in (
        "load labs/sq-full work=work.yamllab",
        "load labs/sq-full work=work.yaml lab",
    )
    assert lines[-4:] == [
        [("", "")],
        [(HEADING, "A heading")],
        [(CODE, "    lab  "), (REMARK, " # the lab that was open last")],
        [("", "  one ` is meant")],
    ]


def test_a_page_of_the_manual_shows_no_backquote() -> None:
    printed = Prompt(width=80).ask("help teaching")
    assert "A lab, as a student" in printed
    assert not any("`" in line for line in printed)
    assert any("answer see EAGAIN" in line for line in printed)
    assert all(len(line) <= 80 for line in printed)


def test_the_text_is_that_of_the_article_but_for_backquotes() -> None:
    page = Article("T", "", [ArticleSection("head", ["a `b` c"]), ArticleSection("", ["`d`"])])
    shown = [text_of(line) for line in article_lines(page, 80)]
    assert shown == [line.replace("`", "") for line in page.lines(80)]
