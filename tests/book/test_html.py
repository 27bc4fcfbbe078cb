"""What is not markup is escaped, whatever it is."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.book.html import Markup, escaped, folded, joined, slug, tag, trusted

TEXTS = st.text(st.characters(codec=None, exclude_categories=[]))


class Texts(HTMLParser):
    """The texts and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.elements, self.given = "", 0, ""
        self.feed(text)
        self.close()

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements += 1
        self.given = attrs[0][1] or "" if attrs else ""


@given(TEXTS, TEXTS)
def test_any_text_stays_text(inside: str, attribute: str) -> None:
    read = Texts(tag("p", inside, title=attribute).replace("\r", "\ufffd"))
    assert read.elements == 1
    assert len(read.text) == len(inside)
    assert len(read.given) == len(attribute)
    tag("p", inside).encode()  # no lone surrogate is left


def test_markup_is_not_escaped_twice_and_text_is_never_taken_for_it() -> None:
    inner = tag("b", "<")
    assert tag("p", inner, ">") == "<p><b>&lt;</b>&gt;</p>"
    assert escaped(inner) is inner
    assert joined([inner, "<"], " & ") == "<b>&lt;</b> &amp; &lt;"
    assert escaped("<" + inner) == "&lt;&lt;b&gt;&amp;lt;&lt;/b&gt;"  # a sum is a text again
    assert isinstance(joined([]), Markup)


def test_attributes() -> None:
    assert tag("a", "x", href='"', class_="c", hidden=True, id=None, open=False) == (
        '<a href="&quot;" class="c" hidden>x</a>'
    )
    assert tag("meta", http_equiv="x") == '<meta http-equiv="x">'
    assert folded("more", "x", is_open=True) == "<details open><summary>more</summary>x</details>"


def test_marks_that_turn_the_direction_of_writing_are_replaced() -> None:
    assert escaped("a\u202eb\x1b\ud800\tc\nä\u00a0") == "a\ufffdb\ufffd\ufffd\tc\nä\u00a0"
    assert trusted("<b>\x00</b>") == "<b>\ufffd</b>"


@given(TEXTS)
def test_a_slug_is_a_name(text: str) -> None:
    found = slug(text)
    assert found
    assert found.isascii()
    assert not set(found) & set("/\\<>\"'& \n")
    assert found not in (".", "..")
