import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import StyleAndTextTuples, fragment_list_to_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import DummyOutput

from rdmalab.shell.prompt import converse, echoed, make_prompt, palette, unfinished

PASTE = "\x1b[200~{}\x1b[201~"
UP, CTRL_C, CTRL_D, CTRL_R, CTRL_O = "\x1b[A", "\x03", "\x04", "\x12", "\x0f"


class TypedPrompt:
    """A conversation that remembers what was evaluated, echoed and emitted."""

    def __init__(self, keys: PipeInput, key_bindings: KeyBindings | None = None) -> None:
        self.keys = keys
        self.heard: list[str] = []
        self.printed: list[str] = []
        self.session = make_prompt(
            lexer=None,
            completer=WordCompleter(["post_send", "post_recv", "run"]),
            history=InMemoryHistory(),
            message="A> ",
            toolbar=None,
            key_bindings=key_bindings,
            input=keys,
            output=DummyOutput(),
        )

    async def evaluate(self, text: str) -> bool:
        self.heard.append(text)
        return text != "leave"

    def emit(self, fragments: StyleAndTextTuples) -> None:
        self.printed.append(fragment_list_to_text(fragments))

    async def run(self, *keys: str) -> list[str]:
        self.keys.send_text("".join(keys))
        await asyncio.wait_for(converse(self.session, self.evaluate, self.emit), 30)
        return self.heard


@asynccontextmanager
async def typed_prompt(key_bindings: KeyBindings | None = None) -> AsyncIterator[TypedPrompt]:
    with create_pipe_input() as keys:
        yield TypedPrompt(keys, key_bindings)


async def test_lines_are_evaluated_until_one_says_leave() -> None:
    async with typed_prompt() as it:
        assert await it.run("step\r", "\r", "leave\r") == ["step", "", "leave"]


async def test_ctrl_d_on_an_empty_line_leaves_and_elsewhere_does_not() -> None:
    async with typed_prompt() as it:
        assert await it.run("ab", "\x01", CTRL_D, "\r", CTRL_D) == ["b"]


async def test_ctrl_c_drops_the_line_and_says_so() -> None:
    async with typed_prompt() as it:
        assert await it.run("dropped", CTRL_C, "kept\r", CTRL_C, "leave\r") == ["kept", "leave"]
        assert it.printed == ["^C", "^C clears the line; ^D on an empty line exits"]


async def test_a_paste_of_two_lines_keeps_both_and_waits_for_enter() -> None:
    async with typed_prompt() as it:
        heard = await it.run(PASTE.format("one\r\ntwo"), " three\r", "leave\r")
        assert heard == ["one\ntwo three", "leave"]


async def test_enter_continues_while_something_is_open() -> None:
    async with typed_prompt() as it:
        assert await it.run("wr={a=1\r", "b=2}\r", "leave\r") == ["wr={a=1\nb=2}", "leave"]


@pytest.mark.parametrize("before", ["", "x "])
async def test_what_is_typed_after_tab_stays_as_it_is(before: str) -> None:
    async with typed_prompt() as it:
        conversation = asyncio.create_task(it.run(before, "\tpo"))
        await asyncio.sleep(0.1)
        it.keys.send_text("st_send\r" + CTRL_D)
        assert await conversation == [f"{before}post_send"]


async def test_tab_writes_the_common_part_and_a_single_candidate() -> None:
    async with typed_prompt() as it:
        assert await it.run("p\ts\t\r", CTRL_D) == ["post_send"]


async def test_ctrl_o_starts_a_new_line() -> None:
    async with typed_prompt() as it:
        assert await it.run("one", CTRL_O, "two\r", CTRL_D) == ["one\ntwo"]


async def test_history_is_walked_and_searched() -> None:
    async with typed_prompt() as it:
        it.session.history.append_string("first")
        it.session.history.append_string("second")
        conversation = asyncio.create_task(it.run())
        while it.session.default_buffer.text != "first":  # a task reads the history meanwhile
            it.keys.send_text(UP)
            await asyncio.sleep(0.01)
        it.keys.send_text("\r")
        while it.session.default_buffer.text != "second":
            it.keys.send_text(CTRL_R + "sec\r")
            await asyncio.sleep(0.01)
        it.keys.send_text("\r" + CTRL_D)
        assert await conversation == ["first", "second"]


async def test_a_key_binding_that_is_handed_in_wins() -> None:
    keys = KeyBindings()

    @keys.add("c-o")
    def _say(event: KeyPressEvent) -> None:
        event.app.exit(result="bound")

    async with typed_prompt(keys) as it:
        assert await it.run(CTRL_O, CTRL_D) == ["bound"]


@pytest.mark.parametrize(
    ("text", "open_"),
    [
        ("post_send A.qp0 sg=A.mr0[0:64]", False),
        ("post_send A.qp0 sg=A.mr0[0:64", False),  # a mistake, told at once
        ("wr={opcode=SEND", True),
        ("wr={opcode=SEND}}", False),
        ('write A.mr0 "he {llo"', False),
        ('write A.mr0 "hello', True),
        (r'write "a \" b"', False),
        ("write 'a (b'", False),
        ("note 'open", True),
        ("step # don't { mind", False),
        ('say "# {', True),
        ("note don't", False),
        ("a(\n[b]\n)", False),
        ("", False),
    ],
)
def test_what_is_unfinished(text: str, open_: bool) -> None:
    assert unfinished(text) is open_


async def test_an_echo_looks_like_the_prompt_did() -> None:
    async with typed_prompt() as it:
        assert fragment_list_to_text(echoed(it.session, "one\ntwo")) == "A> one\n... two"


def test_the_chosen_completion_is_marked_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = "class:completion-menu.completion.current"
    monkeypatch.setenv("NO_COLOR", "1")
    assert palette().get_attrs_for_style_str(chosen).reverse
    assert palette().get_attrs_for_style_str("class:auto-suggestion").underline
    monkeypatch.delenv("NO_COLOR")
    assert not palette().get_attrs_for_style_str(chosen).reverse


@pytest.mark.parametrize(
    ("key", "typed"), [("\x1b[F", "modify 7!"), ("\x1b[H", "!modify 7"), ("\x1b[C", "mo!dify 7")]
)
async def test_an_arrow_takes_the_line_that_was_found(key: str, typed: str) -> None:
    async with typed_prompt() as it:
        it.session.history.append_string("modify 7")
        conversation = asyncio.create_task(it.run())
        while it.session.default_buffer.text != "modify 7":
            it.keys.send_text(CTRL_R + "dify" + key)
            await asyncio.sleep(0.01)
        it.keys.send_text("!\r" + CTRL_D)
        assert await conversation == [typed]


async def test_end_takes_the_suggestion_of_the_history() -> None:
    async with typed_prompt() as it:
        it.session.history.append_string("post_send one two")
        it.keys.send_text("post")
        reading = asyncio.create_task(converse(it.session, it.evaluate, it.emit))
        while it.session.default_buffer.suggestion is None:
            await asyncio.sleep(0.01)
        it.keys.send_text("\x1b[F\rleave\r")
        await asyncio.wait_for(reading, 30)
        assert it.heard == ["post_send one two", "leave"]
