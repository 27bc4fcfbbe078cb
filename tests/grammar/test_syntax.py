"""Tokens → arguments: what is a key, what belongs together; any tokens give a tree."""

from hypothesis import given

from rdmalab.grammar.syntax import Argument, Atom, Braces, Reader, Value, commands
from rdmalab.grammar.tokens import scan
from tests.grammar.strategies import texts


def shown(value: Value) -> str:
    if isinstance(value, Atom):
        return value.text
    return "{" + " ".join(map(written_as, value.arguments)) + ("}" if value.is_closed else "")


def written_as(argument: Argument) -> str:
    key = f"{argument.key.text}=" if argument.key else ""
    return key + ",".join(map(shown, argument.values))


def arguments(line: str) -> list[str]:
    reader, found = Reader(scan(line)), []
    while reader.peek() is not None:
        found.append(written_as(reader.argument()))
    return found


def test_spaces_around_signs_do_not_matter() -> None:
    assert arguments("x state = RTS f=A | B d=A -> B sg=a , b[0 : 4] i=htonl( 1 )") == [
        *("x", "state=RTS", "f=A|B", "d=A->B", "sg=a,b[0:4]", "i=htonl(1)")
    ]


def test_braces_nest_and_go_over_lines() -> None:
    assert arguments("wr={op=SEND sg={addr=1\n len=2},x} y") == [
        "wr={op=SEND sg={addr=1 len=2},x}",
        "y",
    ]


def test_a_key_is_never_the_value_of_another() -> None:
    assert arguments("flags= wr_id=3 a=b, c=d e=f| g=h") == [
        "flags=",
        "wr_id=3",
        "a=b,",
        "c=d",
        "e=f|",
        "g=h",
    ]


def test_half_a_command_is_a_tree_too() -> None:
    assert arguments("wr={a=b c=") == ["wr={a=b c="]
    assert arguments("= } , x == 3") == ["=", "},x", "==", "3"]


def test_commands_stand_between_breaks() -> None:
    assert [len(tokens) for tokens in commands(scan("} \n a ; } {\nb"))] == [1, 1, 4]
    lines = commands(scan("a ; b {c\nd}\n e ; {f ; g"))
    assert [" ".join(t.text for t in tokens) for tokens in lines] == [
        "a",
        "b { c \n d }",
        "e",
        "{ f",
        "g",
    ]


@given(texts)
def test_every_token_ends_in_the_tree(text: str) -> None:
    for tokens in commands(scan(text)):
        reader = Reader(tokens)
        count = 0
        while reader.peek() is not None:
            before = reader.at
            argument = reader.argument()
            assert reader.at > before
            assert argument.place.start <= argument.place.stop
            count += isinstance(argument.values[-1] if argument.values else None, Braces)
        assert reader.at == len(reader.tokens)
