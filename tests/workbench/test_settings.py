"""The settings: one file that a person may edit, and never a start that fails because of it."""

import tomllib
from pathlib import Path

import pytest
from textual.theme import BUILTIN_THEMES

from rdmalab.lab import Lab
from rdmalab.recovery.user_paths import settings_file
from rdmalab.tui.themes import PREFIX, own_themes
from rdmalab.workbench import settings
from rdmalab.workbench.help import SettingChange
from rdmalab.workbench.settings import SETTINGS, Settings, WrongSetting, choose, read, write


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this test, which does not exist yet; no variable and no option is set."""
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "not yet"))
    for name in ("NO_COLOR", "RDMALAB_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(settings, "_options", {})
    return settings_file()


def given(file: Path, text: str) -> Settings:
    """The settings with this file."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return read()


def test_without_a_file_each_has_its_default(file: Path) -> None:
    assert read() == Settings("auto", None, True, "auto", None)
    assert [read().text(each) for each in SETTINGS] == ["auto", "auto", "on", "auto", "auto"]
    assert not file.exists()


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_written_is_read_and_the_file_is_toml(file: Path, name: str) -> None:
    words = [*SETTINGS[name].values, {"theme": "nord", "width": "100"}.get(name, "")]
    for word in filter(None, words):
        assert write(name, word) == str(file)
        assert read().wrong == ()
        assert read().text(name) == word
        assert str(tomllib.loads(file.read_text())[name]) == word


def test_the_first_write_explains_each_setting(file: Path) -> None:
    write("mouse", "off")
    text = file.read_text()
    assert all(each.sentence in text and each.legal in text for each in SETTINGS.values())
    assert '\nmouse = "off"\n' in text
    assert text.count("mouse =") == 1


def test_other_lines_and_comments_are_kept(file: Path) -> None:
    given(file, "# mine\ntheme = dark   # at night\n\nmouse = true # of it\n")
    write("theme", "light")
    write("width", "90")
    text = '# mine\ntheme = "light"   # at night\n\nmouse = true # of it\nwidth = 90\n'
    assert file.read_text() == text


def test_a_name_that_stands_twice_is_changed_twice(file: Path) -> None:
    given(file, "theme = dark\n  theme='light'\n")
    write("theme", "contrast")
    assert read().theme == "contrast"


@pytest.mark.parametrize("line", ["theme=light", 'theme = "light" # x', "  theme = 'light'"])
def test_a_value_is_a_word_or_in_quotes(file: Path, line: str) -> None:
    assert given(file, line).theme == "light"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("them = dark", '"them" is no setting; did you mean theme? Legal: theme, ascii, mouse'),
        ("colors = on", '"colors" is no setting; did you mean colours? Legal: theme'),
        ("nosuch = on", '"nosuch" is no setting; legal: theme, ascii, mouse'),
        ("mouse = maybe", 'mouse: "maybe" is not legal; legal: on, off'),
        ("mouse =", 'mouse: "" is not legal; legal: on, off'),
        ("width = 39", 'width: "39" is not legal; legal: auto, 40 to 250'),
        ("width = 251", 'width: "251" is not legal'),
        ("theme = lihgt", 'theme: "lihgt" is not legal; did you mean light? Legal: auto, dark,'),
        ("theme = nosuch", 'theme: "nosuch" is not legal; legal: auto, dark, light'),
        ("[look]", "'[look]' is not NAME = VALUE"),
        ('theme = "dark', "is not NAME = VALUE"),
        ("theme\x1b[2J", r"'theme\x1b[2J' is not NAME = VALUE"),
    ],
)
def test_a_wrong_line_is_named_and_the_others_count(file: Path, line: str, expected: str) -> None:
    found = given(file, f"# x\n{line}\nascii = on\n")
    assert found.ascii
    assert found.theme == "auto"
    (text,) = found.wrong
    assert text.startswith(f"{file}:2: ")
    assert expected in text


def test_a_file_that_cannot_be_read_changes_nothing(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"theme = \xff\n")
    assert read().theme == "auto"
    assert "not UTF-8" in read().wrong[0]
    with pytest.raises(WrongSetting, match="cannot be written: it is not UTF-8"):
        write("theme", "dark")
    file.unlink()
    file.mkdir()
    assert "directory" in read().wrong[0]
    with pytest.raises(WrongSetting, match="cannot be written"):
        write("theme", "dark")


def test_options_come_before_variables_and_these_before_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert given(file, "ascii = off\ncolours = 256\n").colours == "256"
    monkeypatch.setenv("RDMALAB_ASCII", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert (read().ascii, read().colours) == (True, "none")
    choose("ascii", "auto")
    assert read().ascii is None
    with pytest.raises(WrongSetting, match='theme: "N!" is not legal'):
        choose("theme", "N!")


def test_the_word_at_the_prompt(file: Path) -> None:
    lab = Lab()
    (changed,) = lab.do("set theme light")
    assert changed.value == SettingChange("theme", "light", str(file))
    assert read().theme == "light"
    (listed,) = lab.do("settings")
    assert {"theme = light", "file"} < {each.heading for each in listed.value.sections}
    (one,) = lab.do("settings width")
    assert [each.heading for each in one.value.sections] == ["width = auto"]
    (wrong,) = lab.do("settings mouse maybe")
    assert "legal: on, off" in str(wrong.error)
    (page,) = lab.do("help settings")
    assert all(each.sentence in page.value.text for each in SETTINGS.values())


def test_the_themes_that_are_legal_are_those_of_the_app() -> None:
    ours = {each.name.removeprefix(PREFIX) for each in own_themes()}
    assert {*SETTINGS["theme"].values} == {"auto", *ours, *BUILTIN_THEMES}


def test_an_unknown_theme_is_not_kept(file: Path) -> None:
    lab = Lab()
    for line in ("theme lihgt", "settings theme lihgt"):
        (wrong,) = lab.do(line)
        assert "did you mean light? Legal: auto, dark, light" in str(wrong.error), line
    assert not file.exists()


def test_a_setting_that_is_written_replaces_the_option_of_the_start() -> None:
    settings.choose("theme", "light")
    assert settings.read().theme == "light"
    settings.write("theme", "contrast")
    assert settings.read().theme == "contrast"
