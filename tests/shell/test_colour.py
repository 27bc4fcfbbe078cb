from importlib.metadata import entry_points

import pytest
from pygments.token import Comment, Error, Generic, Keyword, Name, Number, String

from rdmalab.shell.colour import RdmalabLexer


def tokens(text: str) -> list[tuple[object, str]]:
    return [(kind, piece) for kind, piece in RdmalabLexer().get_tokens(text) if piece.strip()]


def test_the_parts_of_a_line() -> None:
    found = tokens('post_send A.qp0 opcode=SEND wr_id=7 # why\nwrite A.mr0[0:5] "hi"')
    for expected in (
        (Keyword, "post_send"),
        (Name.Variable, "A.qp0"),
        (Name.Attribute, "opcode"),
        (Name.Constant, "SEND"),
        (Number, "7"),
        (Comment, "# why"),
        (Keyword, "write"),
        (String, '"hi"'),
    ):
        assert expected in found


def test_what_is_wrong_is_marked() -> None:
    assert (Error, "post_sned") in tokens("post_sned A.qp0")
    assert (Error, "SND") in tokens("post_send A.qp0 opcode=SND")


def test_a_transcript_has_prompts_and_answers() -> None:
    found = tokens("A> step\n   ok [ev 3]\nB> run 10us\n")
    assert found == [
        (Generic.Prompt, "A> "),
        (Keyword, "step"),
        (Generic.Output, "   ok [ev 3]\n"),
        (Generic.Prompt, "B> "),
        (Keyword, "run"),
        (Number, "10us"),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "A> ", "wr={", '"', "post_send A.qp0 sg=A.mr0[0:"])
def test_every_character_comes_back(text: str) -> None:
    assert "".join(piece for _, piece in RdmalabLexer().get_tokens(text)) == text


def test_it_is_registered_with_pygments() -> None:
    found = [e for e in entry_points(group="pygments.lexers") if e.name == "rdmalab"]
    assert not found or found[0].value == "rdmalab.shell.colour:RdmalabLexer"
