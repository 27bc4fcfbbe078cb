"""Exports that are texts: what each writes of a session, and what recognises such a file."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.export import FORMATS, PROGRAMS, program_in

if TYPE_CHECKING:
    from rdmalab.session.session import Session


class TextExport(NamedTuple):
    """kind: what the file is called. write: its text, of a session, a title and a first record.

    help: its sentence in the help of `export`.
    """

    kind: str
    help: str
    write: "Callable[[Session, str, int], str]"
    is_one: Callable[[bytes], bool]


def _svg(session: "Session", _title: str, first: int) -> str:
    from rdmalab.export.ladder_plan import WHOLE
    from rdmalab.export.ladder_svg import ladder

    return f"{ladder(session.world, session.names, first, WHOLE).svg}\n"


def _mermaid(session: "Session", _title: str, first: int) -> str:
    from rdmalab.export.ladder_mermaid import mermaid

    return f"{mermaid(session.world, session.names, first)}\n"


def _is_mermaid(octets: bytes) -> bool:
    from rdmalab.export.ladder_mermaid import is_mermaid

    return is_mermaid(octets)


def _cast(session: "Session", title: str, _first: int) -> str:
    from rdmalab.export.cast import recording

    return recording(session, title)


def _is_cast(octets: bytes) -> bool:
    from rdmalab.export.cast import is_recording

    return is_recording(octets)


def _program(language: str) -> TextExport:
    def write(session: "Session", title: str, _first: int) -> str:
        return program_in(language).write(session, title)

    return TextExport(
        "exported program",
        PROGRAMS[language],
        write,
        lambda octets: program_in(language).is_program(octets),
    )


TEXTS: dict[str, TextExport] = {
    "svg": TextExport(
        "drawing", "the packets as a ladder.", _svg, lambda octets: b"<svg" in octets[:200]
    ),
    "mermaid": TextExport("diagram", "the same ladder for Markdown.", _mermaid, _is_mermaid),
    "cast": TextExport(
        "recording", "lines and events in virtual time, for asciinema.", _cast, _is_cast
    ),
    **{language: _program(language) for language in PROGRAMS},
}
"""By the word of `export`."""

HELP_ROWS = FORMATS | {name: text.help for name, text in TEXTS.items()}
"""The sentences of all words of `export`."""
