import pytest

from rdmalab.tui.console.prompt import sheet
from rdmalab.tui.themes import own_themes


@pytest.mark.parametrize("theme", own_themes(), ids=lambda theme: theme.name)
def test_each_theme_makes_a_style_sheet_of_the_prompt(theme) -> None:  # type: ignore[no-untyped-def]
    variables = {**theme.to_color_system().generate(), **theme.variables}
    styles = sheet(variables, colour=True)
    error = styles.get_attrs_for_style_str("class:error")
    wanted = theme.variables["bad"].removeprefix("#").replace("ansi_", "ansi")
    assert (error.color, error.bold) == (wanted, True)
    menu = styles.get_attrs_for_style_str("class:completion-menu")
    assert menu.bgcolor or menu.reverse


def test_without_colour_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    styles = sheet({"bad": "#ff0000"}, colour=False)
    assert not styles.get_attrs_for_style_str("class:prompt").color
