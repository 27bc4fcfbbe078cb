"""Commands help, explain and settings; `help_pages` makes the pages, and is imported for them."""

from typing import Annotated

from rdmalab.command import PROSE, Facts, NotUnderstood, OneOf, Recovery, command
from rdmalab.guide.article import Article, Row, article
from rdmalab.recovery.user_paths import settings_file
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass
from rdmalab.workbench.settings import SETTINGS, WrongSetting, read, write


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP, short=(("h", ""),)))
def help_(session: Session, text: Annotated[str, PROSE] = "") -> Article:
    """List the words used most, or answer about one word.

    A verb: its keys. A group, such as `help events`: its commands. A page of the manual, a key, or
    a word such as zoom or copy: that part of the manual. all: every command. expr: the expressions
    of `until` and `expect`. Any other word: what explain has about it.

    Example: help post_send
    """
    from rdmalab.workbench.help_pages import page

    return page(session, text)


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP))
def explain(session: Session, text: Annotated[str, PROSE]) -> Article:
    """Explain a term: a status, an attribute, a state, an errno, a packet, a cause …

    With the prefixes of libibverbs or without, in either case; numbers too: 13, 0x62, 22.
    `modify_qp RTR` is about the moves into RTR, `timeout 14` about that code. A line of a log works
    too: its terms are recognised.

    Example: explain IBV_WC_RNR_RETRY_EXC_ERR
    See: help
    """
    from rdmalab.workbench.help_pages import explained

    return explained(session, text)


@dataclass(slots=True)
class SettingChange:
    """A setting that was written to the file; the face reads it again."""

    name: str
    value: str
    file: str

    @property
    def text(self) -> str:
        """`theme = light, in /home/x/.config/rdmalab/settings.toml`."""
        return f"{self.name} = {self.value}, in {self.file}"


_ROWS = {name: f"{row.sentence} {row.legal}." for name, row in SETTINGS.items()}


@command(Facts(recovery=Recovery.SKIP, short=(("set", ""), ("theme", "theme")), help_rows=_ROWS))
def settings(
    session: Session, name: Annotated[str, OneOf(SETTINGS)] = "", value: str = ""
) -> Article | SettingChange:
    """List the settings with what is legal, or change one: settings NAME VALUE, or set NAME VALUE.

    A change is kept in the file that the list names, a line NAME = VALUE each.

    {rows}

    Example: settings theme light
    """
    del session
    if value:
        try:
            return SettingChange(name, value, write(name, value))
        except WrongSetting as wrong:
            raise NotUnderstood(str(wrong), argument="value") from None
    now = read()
    listed = [name] if name else SETTINGS
    rows: list[Row] = [
        (f"{each} = {now.text(each)}", [SETTINGS[each].sentence, f"{SETTINGS[each].legal}."])
        for each in listed
    ]
    if not name:
        rows += [("file", str(settings_file())), ("no effect", now.wrong)]
    return article("settings", "of the user", rows, ["help settings"])
