"""Errors of commands: a verb that is refused, a line that is not understood, a wrong file."""

from rdmalab.command.arguments import NOWHERE, Span


class Refused(Exception):  # noqa: N818  (the field says "the verb was refused")
    """Raised by a verb that returns an errno; it changed nothing except what `left` names.

    rule: row of `spec/rules.py`. message: the reason in this case. argument: the key at fault,
    for the caret. legal: the legal values.
    """

    def __init__(
        self, errno: int, rule: str, message: str, argument: str = "", legal: str = ""
    ) -> None:
        super().__init__(errno, rule, message, argument, legal)
        self.errno = errno
        self.rule = rule
        self.message = message
        self.argument = argument
        self.legal = legal
        self.bad_wr: int | None = None  # index in the posted list, where there is one
        self.left = ""  # what the call has done all the same, for a batch or a ring in memory
        self.permanent = False  # refused again however much is polled
        self.place = NOWHERE  # where a name stood, if one was at fault


class NotUnderstood(Exception):  # noqa: N818
    """Raised for a line that is not understood; nothing was executed. hint: one suggestion.

    argument: the key at fault, if the place of the caret is not given.
    """

    lead = "not understood (nothing happened)"
    """The words before the message."""

    def __init__(
        self,
        message: str,
        place: Span = NOWHERE,
        hint: str = "",
        line: str = "",
        argument: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint
        self.line = line
        self.argument = argument


class NameMisplaced(NotUnderstood):
    """Raised where the name of a parent stands in the place of the name of the new object.

    stem: of the new object, `A.mr`; the hint is a line that names it `A.mr0`.
    """

    def __init__(self, message: str, place: Span, hint: str, stem: str) -> None:
        super().__init__(message, place, hint)
        self.stem = stem


class UserError(Exception):
    """Raised where a command of the shell cannot be carried out; its text says what to mend."""


class WrongFile(UserError):  # noqa: N818  (it says what the file is)
    """Raised for a file with mistakes."""

    @property
    def report(self) -> str:
        """All mistakes of the file, one below the other."""
        return str(self)


class NotAllowed(NotUnderstood):
    """Raised for a line that the rules of an open lab do not allow; nothing was executed."""


class NothingToDo(NotUnderstood):
    """Raised for a line that is understood, and that has nothing to carry out."""

    lead = "nothing happened"


class UnknownVerb(NotUnderstood):
    """Raised for a line whose first word is no command."""
