"""Standard output and standard error of every command, with unsafe characters replaced.

In each printed text, a character that a terminal would interpret (escape sequences, C1
controls, bidirectional marks) is written as its number, and a character that the encoding of the
stream lacks is transliterated. What is written to `buffer`, by prompt_toolkit for example,
is bytes and stays as it is.
"""

import codecs
import contextlib
import io
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import TextIO, cast

_SPELLED = "rdmalab.spelled"
_SPECIAL = re.compile(r"[^\n\t -~]")
_HIDDEN = re.compile(r"[^\n -~]")
_UTF = "utf"


class Lost(OSError):  # noqa: N818  (it says what became of the output)
    """Raised if standard output cannot be written, with the reason; not for a closed pipe."""


class Stream:
    """A text stream around another. must: raise an error if a text cannot be written.

    escapes: replace unsafe characters.
    """

    def __init__(self, inner: TextIO | None, *, must: bool, escapes: bool = True) -> None:
        self.inner = inner or io.TextIOWrapper(io.BytesIO(), "utf-8")
        self.is_closed = inner is None
        self.must = must
        self.escapes = escapes

    def write(self, text: str) -> int:
        """Write a text with unsafe characters replaced; returns the number of characters given."""
        words = self._harmless(text) if self.escapes and _SPECIAL.search(text) else text
        with self._judged(writes=True):
            self.inner.write(words)
        return len(text)

    def _harmless(self, text: str) -> str:
        from rdmalab.shell.styled_text import harmless  # `--version` needs no grammar

        words, encoding = harmless(text), self.encoding
        if words.isascii() or encoding.startswith(_UTF):
            return words
        return words.encode(encoding, _SPELLED).decode(encoding)

    def write_octets(self, octets: bytes) -> None:
        """Write bytes unchanged, after the text printed before."""
        with self._judged(writes=True):
            self.inner.flush()
            self.inner.buffer.write(octets)
            self.inner.buffer.flush()

    def flush(self) -> None:
        """Write what is buffered; raises Lost on failure if `must`, else ignores it."""
        with self._judged():
            self.inner.flush()

    @property
    def encoding(self) -> str:
        """The encoding; ASCII if Python has none."""
        try:
            return codecs.lookup(self.inner.encoding or "ascii").name
        except LookupError:
            return "ascii"

    @contextlib.contextmanager
    def _judged(self, *, writes: bool = False) -> Iterator[None]:
        if writes and self.must and self.is_closed:
            raise Lost("it is closed")
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as wrong:  # ValueError: closed by somebody else
            if self.must:
                raise Lost(getattr(wrong, "strerror", None) or str(wrong)) from None

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Within this context, prints pass through a `Stream`; a closed standard input is empty."""
    before = sys.stdin, sys.stdout, sys.stderr
    if sys.stdin is None:
        sys.stdin = io.StringIO()
    sys.stdout = cast("TextIO", Stream(sys.stdout, must=True))
    sys.stderr = cast("TextIO", Stream(sys.stderr, must=False))
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


@contextlib.contextmanager
def unguarded() -> Iterator[None]:
    """Within this context, the streams of the process are restored, for another program."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (getattr(stream, "inner", stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def progress_stream() -> TextIO:
    """Standard error for a line that is drawn again: its carriage returns are not replaced.

    Only for text without a word from outside.
    """
    inner = getattr(sys.stderr, "inner", sys.stderr)
    return cast("TextIO", Stream(inner, must=False, escapes=False))


def detach_output() -> None:
    """Detach a closed standard output, so that Python does not flush it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --------------------------------------------------------------------------- documents
def print_json(text: str) -> None:
    """Write a JSON document; invisible characters are escaped, non-ASCII ones too unless UTF-8.

    RFC 8259: JSON between programs is UTF-8.
    """
    is_utf8 = _is_utf8()

    def words(found: re.Match[str]) -> str:
        return found[0] if is_utf8 and found[0].isprintable() else _code(found[0])

    print(_HIDDEN.sub(words, text))  # noqa: T201


def print_octets(octets: bytes) -> None:
    """Write a document of bytes."""
    cast("Stream", sys.stdout).write_octets(octets)


def print_svg(text: str) -> None:
    """Write an SVG document, in UTF-8 or in ASCII with character references."""
    words = text if _is_utf8() else text.encode("ascii", "xmlcharrefreplace").decode()
    print(words, end="")  # noqa: T201


def _is_utf8() -> bool:
    return codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"


def _code(character: str) -> str:
    """`\\u2192`; beyond the first plane the two surrogates of UTF-16, as JSON has them."""
    octets = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{octets[n : n + 2].hex()}" for n in range(0, len(octets), 2))


def _spelled(wrong: UnicodeError) -> tuple[str, int]:
    """Replacements of characters that an encoding lacks, as with `--ascii`."""
    from rdmalab.shell.styled_text import ASCII

    assert isinstance(wrong, UnicodeEncodeError)
    missing = wrong.object[wrong.start : wrong.end]
    return "".join(ASCII.get(c) or _without_accents(c) for c in missing), wrong.end


def _without_accents(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or "?"


codecs.register_error(_SPELLED, _spelled)
