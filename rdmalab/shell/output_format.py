"""How replies are printed: width, character set, plain sentences or drawings."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rdmalab.session.session import Session
from rdmalab.shell.error_notice import ErrorNotice
from rdmalab.shell.error_text import Page
from rdmalab.shell.show import hanging_indent
from rdmalab.shell.styled_text import Line, fold, in_ascii

_PLAIN_WIDTH = 100


@dataclass(slots=True)
class OutputFormat:
    """How replies are printed.

    Plain: no drawings or alignment, one fact a line of ≤100 characters.
    """

    session: Session
    width: int = 80
    plain: bool = False
    ascii: bool = False
    trouble: ErrorNotice = field(default_factory=ErrorNotice)

    @property
    def page(self) -> Page:
        return Page(min(self.width, _PLAIN_WIDTH) if self.plain else self.width, self.plain)

    def set(self, lines: Sequence[Line]) -> list[Line]:
        """The lines in the width and the character set of the reader."""
        width = self.page.width
        found = [row for line in lines for row in fold(line, width, hanging_indent(line))]
        return [in_ascii(row) for row in found] if self.ascii else found
