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

# Each with its sentence in the help of `export`, at the prompt and on the command line.
FORMATS = {
    "pcapng": "for Wireshark and tshark, every frame that left a port, on the interface of its "
    "node, in virtual time; a comment names its event, its work request and its fate. Packets of "
    "InfiniBand ports have link type 247; a tshark that does not know this number reads them as "
    "USER0 with the dissector infiniband. tshark calls a SEND below 16 bytes malformed, because it "
    "reads the payload as RPC over RDMA: start it with `--disable-protocol rpcordma`."
}
PROGRAMS = {
    "c": "a program for two devices, which makes the same calls and checks that all comes as here; "
    "a fault or a setting of the cable is no call of a program, and is refused.",
    "pyverbs": "the same program in Python.",
}
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
