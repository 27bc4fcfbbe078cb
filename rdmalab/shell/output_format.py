"""The form in which replies are printed: width, character set, plain sentences or drawings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rdmalab.session.session import Session
from rdmalab.shell.error_text import Page
from rdmalab.shell.show import hanging_indent
from rdmalab.shell.styled_text import Line, fold, in_ascii, rows
from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from rdmalab.shell.error_notice import ErrorNotice

_PLAIN_WIDTH = 100
NOTE_MARGIN = 8
"""Columns of the label beside a note."""
NOTE_STRIP, NOTE_PAGE = 2, 1_000
"""Rows for notes: of a strip, and of a page that can be scrolled."""


@dataclass(slots=True)
class OutputFormat:
    """The form in which replies are printed.

    Plain: no drawings or alignment, one fact a line of ≤100 characters.
    notes_beside: rows in which another part of the screen shows what a lesson or a lab says; what
    fits there is not printed. 0: there is no such part. hides_cause: the task of a lab that is next
    is a question, and the cause of a failure may be its answer.
    """

    session: Session
    width: int = 80
    plain: bool = False
    ascii: bool = False
    notes_beside: int = 0
    hides_cause: bool = False
    _trouble: "ErrorNotice | None" = None

    @property
    def trouble(self) -> "ErrorNotice":
        """The failures that were reported already; made, with the doctor, after the first run."""
        from rdmalab.shell.error_notice import ErrorNotice

        self._trouble = self._trouble or ErrorNotice()
        return self._trouble

    @property
    def page(self) -> Page:
        return Page(min(self.width, _PLAIN_WIDTH) if self.plain else self.width, self.plain)

    def set(self, lines: Sequence[Line]) -> list[Line]:
        """The lines in the width and the character set of the reader."""
        width = self.page.width
        spelled = map(in_ascii, lines) if self.ascii else lines
        return [row for line in spelled for row in rows(line, width, hanging_indent(line))]

    def is_beside(self, lines: Sequence[Line]) -> bool:
        """Whether these lines of a lesson are shown in another part of the screen."""
        width = max(8, self.width - NOTE_MARGIN)
        return sum(len(fold(line, width, 0)) for line in lines) <= self.notes_beside
