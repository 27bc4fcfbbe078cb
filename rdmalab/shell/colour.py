"""A Pygments lexer that colours lines with the grammar's parse, for the prompt and the docs.

It is registered as the Pygments lexer `rdmalab`; text with `A> ` prompts is read as a transcript,
in which all other lines are output of the lab.
"""

import re
from collections.abc import Iterator
from typing import ClassVar

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    Text,
    Whitespace,
    _TokenType,
)

from rdmalab.command import aliases
from rdmalab.grammar.highlight import Role, paint
from rdmalab.vocabulary import VOCABULARY

TOKENS: dict[Role, _TokenType] = {
    Role.SPACE: Whitespace,
    Role.VERB: Keyword,
    Role.KEY: Name.Attribute,
    Role.ENUM: Name.Constant,
    Role.NUMBER: Number,
    Role.STRING: String,
    Role.NAME: Name.Variable,
    Role.KEYWORD: Name.Constant,
    Role.WORD: Text,
    Role.OPERATOR: Operator,
    Role.COMMENT: Comment,
    Role.ERROR: Error,
}

_ALIASES = aliases(VOCABULARY)
_PROMPT = re.compile(r"(?P<node>[A-Za-z_]\w*)> ?|\.\.\. ", re.ASCII)
_TRANSCRIPT = re.compile(r"^[A-Za-z_]\w*> ", re.ASCII | re.MULTILINE)
_Piece = tuple[int, _TokenType, str]


class RdmalabLexer(Lexer):
    """Lexer for commands, or for the transcript of a session."""

    name = "rdmalab"
    aliases: ClassVar[list[str]] = ["rdmalab"]
    filenames: ClassVar[list[str]] = ["*.rdmalab"]
    mimetypes: ClassVar[list[str]] = ["text/x-rdmalab"]
    url = ""

    def __init__(self, **options: object) -> None:
        """node: the node of names without one. `ensurenl` and `stripnl` are off."""
        self.node = str(options.pop("node", "A"))
        super().__init__(**({"ensurenl": False, "stripnl": False} | options))

    def get_tokens_unprocessed(self, text: str) -> Iterator[_Piece]:
        """Pieces (offset, token type, text) of a command or a transcript."""
        if _TRANSCRIPT.search(text):
            yield from self._transcript(text)
        else:
            yield from _line(text, self.node)

    def _transcript(self, text: str) -> Iterator[_Piece]:
        at = 0
        for line in text.splitlines(keepends=True):
            prompt = _PROMPT.match(line)
            if prompt is None:
                yield at, Generic.Output, line
            else:
                yield at, Generic.Prompt, prompt[0]
                node = prompt["node"] or self.node
                for offset, token, piece in _line(line[prompt.end() :], node):
                    yield at + prompt.end() + offset, token, piece
            at += len(line)

    @staticmethod
    def analyse_text(text: str) -> float:
        """Confidence from 0 to 1 that the text is a transcript of a session."""
        return 0.8 if _TRANSCRIPT.search(text) else 0.0


def _line(text: str, node: str) -> Iterator[_Piece]:
    for place, role in paint(text, VOCABULARY, node, _ALIASES):
        yield place.start, TOKENS[role], text[place.start : place.stop]
