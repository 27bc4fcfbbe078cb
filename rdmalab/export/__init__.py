"""Exports: the events of a session in the file formats of other programs.

A format is a module of this room with `capture` and `is_capture`, and a word of FORMATS. Its
module is loaded when it is used.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from rdmalab.session.names import Names
    from rdmalab.world.world import World

FORMATS = ("pcapng",)
PROGRAMS = ("c", "pyverbs")
"""Languages in which a session is written as a program: modules NAME.program."""


class Capture(Protocol):
    """The bytes of a file, how many frames it has, and how many never left their port."""

    octets: bytes
    frames: int
    never_left: int


class Format(NamedTuple):
    """capture: makes the file. is_capture: whether the bytes of a file are of this format."""

    capture: Callable[["World", "Names"], Capture]
    is_capture: Callable[[bytes], bool]


def format_called(name: str) -> Format:
    """The format of this name in FORMATS."""
    module = import_module(f"{__name__}.{name}")
    return Format(module.capture, module.is_capture)


class ProgramForm(NamedTuple):
    """write: the text of the program, of a session, a title and its chapters."""

    write: Callable[..., str]
    is_program: Callable[[bytes], bool]


def program_in(language: str) -> ProgramForm:
    """The writer of programs in a language of PROGRAMS."""
    module = import_module(f"{__name__}.{language}.program")
    return ProgramForm(module.program, module.is_program)
