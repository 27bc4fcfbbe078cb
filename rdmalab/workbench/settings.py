"""Settings of the user, in one file of `NAME = VALUE` lines, which is TOML with bare words allowed.

An option of the command line replaces an environment variable, this the file, the file the default.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import field, fields
from typing import NamedTuple

from rdmalab import disk
from rdmalab.grammar.hints import suggest
from rdmalab.recovery.user_paths import settings_file
from rdmalab.render.meanings import THEMES
from rdmalab.spec.row import dataclass

_MOST = 1 << 16  # bytes of the file
_VALUE = r"""("[^"\n]*"|'[^'\n]*'|[^"'#\n]*?)(?=[ \t]*(#|$))"""
_LINE = re.compile(rf"\s*([\w-]+)\s*=\s*{_VALUE}.*")
_HEAD = "# Settings of rdmalab, a line each: NAME = VALUE. A # begins a comment."


class WrongSetting(Exception):  # noqa: N818  (the field says what is wrong)
    """Raised for a name or a value that is not legal, and a file that cannot be written."""


class Setting(NamedTuple):
    """values: word → value. more: pattern of further values, which `legal` describes."""

    sentence: str
    values: Mapping[str, object]
    more: str = ""
    described: str = ""

    @property
    def legal(self) -> str:
        return ", ".join([*self.values, *filter(None, [self.described])])

    def text(self, value: object) -> str:
        """The word of a value."""
        return next((word for word, each in self.values.items() if each == value), str(value))


def _words(words: str) -> dict[str, object]:
    return {word: word for word in words.split()}


def _says(sentence: str, values: Mapping[str, object], *more: str) -> Mapping[str, Setting]:
    """Metadata of a setting."""
    return {"setting": Setting(sentence, values, *more)}


_SWITCH: dict[str, object] = {"on": True, "off": False}
_AUTO: dict[str, object] = {"auto": None}
# Only the app may import Textual; a test compares these names with those of Textual.
_OF_TEXTUAL = """
    textual-dark textual-light nord gruvbox catppuccin-mocha dracula tokyo-night monokai flexoki
    catppuccin-latte catppuccin-frappe catppuccin-macchiato solarized-light solarized-dark rose-pine
    rose-pine-moon rose-pine-dawn atom-one-dark atom-one-light ansi-dark ansi-light
"""


@dataclass(slots=True)
class Settings:
    """The values in force. wrong: a sentence for each line of the file that has no effect."""

    theme: str = field(default="auto", metadata=_says(
        "Colours of the app; auto: dark or light, as the terminal is.",
        _words(f"auto {' '.join(THEMES)} terminal {_OF_TEXTUAL}"),
    ))  # fmt: skip
    ascii: bool | None = field(default=None, metadata=_says(
        "Draw with ASCII only; auto: as the terminal is.", _AUTO | _SWITCH,
    ))  # fmt: skip
    mouse: bool = field(default=True, metadata=_says(
        "The app uses the mouse; off: the terminal selects text.", _SWITCH,
    ))  # fmt: skip
    colours: str = field(default="auto", metadata=_says(
        "Colours that the app uses; auto: as the terminal is.",
        _words("auto truecolor 256 16 none"),
    ))  # fmt: skip
    width: int | None = field(default=None, metadata=_says(
        "Most columns of an answer; auto: those of the terminal.", _AUTO,
        "[4-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|250", "40 to 250",
    ))  # fmt: skip
    wrong: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """The value of a setting as it is written."""
        return SETTINGS[name].text(getattr(self, name))


SETTINGS: Mapping[str, Setting] = {
    each.name: each.metadata["setting"] for each in fields(Settings) if each.metadata
}
_options: dict[str, object] = {}


def read() -> Settings:
    """The settings in force; what is wrong with the file is in `wrong`, it raises nothing."""
    chosen, wrong, path = dict[str, object](), list[str](), settings_file()
    try:
        lines = disk.read(path, _MOST).decode().splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as why:
        lines, wrong = [], [f"{path} cannot be read: {_reason(why)}; it has no effect"]
    for number, line in enumerate(lines, 1):
        try:
            chosen |= _of_line(line)
        except WrongSetting as why:
            wrong.append(f"{path}:{number}: {why}")
    if ascii_only := os.environ.get("RDMALAB_ASCII"):
        chosen["ascii"] = ascii_only != "0"
    if os.environ.get("NO_COLOR"):  # https://no-color.org: set, and not empty
        chosen["colours"] = "none"
    now = Settings(wrong=tuple(wrong))
    for name, value in (chosen | _options).items():
        setattr(now, name, value)
    return now


def _of_line(line: str) -> dict[str, object]:
    if not line.strip() or line.lstrip().startswith("#"):
        return {}
    if (found := _LINE.fullmatch(line)) is None:
        raise WrongSetting(f"{line.strip()[:40]!r} is not NAME = VALUE")
    return {found[1]: value_of(found[1], found[2].strip("\"'"))}


def _reason(why: Exception) -> str:
    return getattr(why, "strerror", None) or "it is not UTF-8 text"


def setting(name: str) -> Setting:
    """The setting of this name; raises WrongSetting with the legal names."""
    if name not in SETTINGS:
        near = suggest(name, SETTINGS)
        advice = f"{near} Legal" if near.startswith("did") else "legal"
        raise WrongSetting(f'"{name}" is no setting; {advice}: {", ".join(SETTINGS)}')
    return SETTINGS[name]


def value_of(name: str, text: str) -> object:
    """The value that a text stands for; raises WrongSetting with what is legal."""
    legal = setting(name)
    word = {"true": "on", "false": "off"}.get(text, text)  # of TOML
    if word in legal.values:
        return legal.values[word]
    if not legal.more or not re.fullmatch(legal.more, word):
        near = suggest(word, legal.values)
        also = f"{near} Legal" if near.startswith("did you mean") else "legal"
        raise WrongSetting(f'{name}: "{text}" is not legal; {also}: {legal.legal}')
    return int(word) if word.isdecimal() else word


def choose(name: str, text: str) -> None:
    """Let an option of the command line replace a setting until this process ends."""
    _options[name] = value_of(name, text)


def write(name: str, text: str) -> str:
    """Write a setting to the file, which keeps its other lines; returns the file's name.

    It replaces what an option of the command line has chosen before.
    """
    value, path = value_of(name, text), settings_file()
    word = SETTINGS[name].text(value)
    line = f"{name} = {word}" if word.isdecimal() else f'{name} = "{word}"'
    place = rf"{name}[ \t]*=[ \t]*{_VALUE}"
    try:
        old = disk.read(path, _MOST).decode() if path.exists() else _empty_file()
        new, count = re.subn(rf"(?m)^[ \t]*{place}", line, old)
        if not count:  # then in place of the comment with the default, if the file has it
            new, count = re.subn(rf"(?m)^#[ \t]*{place}", line, old, count=1)
        new = new if count else f"{old.rstrip()}\n{line}\n".lstrip()
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write(path, new.encode(), lambda _octets: True)
    except (OSError, UnicodeDecodeError) as why:
        raise WrongSetting(f"{path} cannot be written: {_reason(why)}") from None
    _options.pop(name, None)
    return str(path)


def _empty_file() -> str:
    """All settings as comments."""
    default = Settings()
    rows = (
        f'\n# {each.sentence} Legal: {each.legal}.\n# {name} = "{default.text(name)}"'
        for name, each in SETTINGS.items()
    )
    return "\n".join([_HEAD, *rows, ""])
