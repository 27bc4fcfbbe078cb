from rdmalab.render.meanings import APPEARANCES
from rdmalab.tui.content import STYLES, click, content, piece, style
from rdmalab.views.columns import Meaning


def test_a_meaning_has_its_sign_and_its_tone() -> None:
    found = piece("wr7", Meaning.FAILED)
    assert found.plain == "✗ wr7"
    assert str(found.spans[0].style) == "bold $bad"
    assert {style(meaning).split("$")[1] for meaning in Meaning} <= {
        style.tone for style in APPEARANCES.values()
    }


def test_a_click_is_an_action_of_the_app() -> None:
    assert click("explain", "RTS", 3) == "@click=app.explain('RTS', 3)"


def test_a_line_of_the_shell_keeps_its_text_and_has_the_tones_of_the_theme() -> None:
    found = content([("class:error", "no [b]"), ("", " "), ("class:dim bold", "x")])
    assert found.plain == "no [b] x"
    assert [str(span.style) for span in found.spans] == [STYLES["error"], "$dim bold"]
