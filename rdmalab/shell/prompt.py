"""The prompt of both faces: line editing, and the loop that evaluates each line.

It imports no command and no Lab: lexer, completer and evaluation are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples, fragment_list_width, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from rdmalab.workbench.settings import read

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.formatted_text import AnyFormattedText
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindingsBase, KeyPressEvent
    from prompt_toolkit.lexers import Lexer
    from prompt_toolkit.output import Output

Evaluate = Callable[[str], Awaitable[bool]]  # False: leave
Emit = Callable[[StyleAndTextTuples], None]
Echo = Callable[[str], None]

# The sixteen colours of any terminal. What matters is also bold, underlined or said in words.
PALETTE = {
    "prompt": "bold",
    "prompt.continuation": "ansibrightblack",
    "hint": "italic",
    "aborting": "bold",
    "auto-suggestion": "ansibrightblack italic",
    "bottom-toolbar": "reverse",
    "bottom-toolbar.key": "bold",
    "completion-menu": "noreverse bg:ansigray ansiblack",
    "completion-menu.completion": "noreverse bg:ansigray ansiblack",
    "completion-menu.completion.current": "noreverse bg:ansiblue ansiwhite bold",
    "completion-menu.meta.completion": "noreverse bg:ansigray ansiblack",
    "completion-menu.meta.completion.current": "noreverse bg:ansiblue ansiwhite",
    "completion-menu.multi-column-meta": "noreverse bg:ansigray ansiblack",
    "completion-menu.completion fuzzymatch.outside": "fg:ansiblack",
    "completion-menu.completion fuzzymatch.inside": "bold",
    "completion-menu.completion fuzzymatch.inside.character": "underline",
    "completion-menu.completion.current fuzzymatch.outside": "fg:ansiwhite",
    "completion-menu.completion.current fuzzymatch.inside": "fg:ansiwhite bold",
    "scrollbar.background": "noreverse bg:ansigray",
    "scrollbar.button": "noreverse bg:ansiblack",
    "pygments.keyword": "ansicyan bold",
    "pygments.name.function": "ansicyan bold",
    "pygments.name.constant": "ansiyellow",
    "pygments.name.attribute": "ansigreen",
    "pygments.name.variable": "bold",
    "pygments.literal.number": "ansimagenta",
    "pygments.literal.string": "ansigreen",
    "pygments.comment": "ansibrightblack italic",
    "pygments.error": "ansired underline",
}
# Without colour the chosen row and the ghost of a suggestion need another mark.
_COLOURLESS = {
    "completion-menu.completion.current": "reverse bold",
    "completion-menu.meta.completion.current": "reverse",
    "auto-suggestion": "underline",
}

_CLOSED = re.compile(
    r""" "(?:\\.|[^"\\])*" | (?<!\w)'(?:\\.|[^'\\])*' | (?<!\S)\#[^\n]* """, re.VERBOSE | re.DOTALL
)
_OPEN_QUOTE = re.compile(r"""" | (?<!\w)'""", re.VERBOSE)


def colour_wanted() -> bool:
    """Whether the output has colours: NO_COLOR is not set, or empty, nor is the setting `none`."""
    return read().colours != "none"


def palette() -> Style:
    """The styles of the prompt; without colours if NO_COLOR is set."""
    return Style.from_dict(PALETTE if colour_wanted() else PALETTE | _COLOURLESS)


def unfinished(text: str) -> bool:
    """Whether a brace or a quote is open; braces in quotes or after # do not count."""
    rest = _CLOSED.sub(" ", text)
    opened = sum(map(rest.count, "({")) - sum(map(rest.count, ")}"))
    return opened > 0 or _OPEN_QUOTE.search(rest) is not None


def make_prompt(  # noqa: PLR0913 (all by name; a prompt has these parts)
    *,
    lexer: Lexer | None,
    completer: Completer | None,
    history: History | None,
    message: AnyFormattedText,
    toolbar: AnyFormattedText,
    key_bindings: KeyBindingsBase | None = None,
    embedded: bool = False,
    input: Input | None = None,  # noqa: A002 (prompt_toolkit's word)
    output: Output | None = None,
) -> PromptSession[str]:
    """embedded: the prompt is inside a pane, which prints accepted lines and handles the mouse."""
    keys = [_line_keys(), *([key_bindings] if key_bindings else [])]
    return PromptSession(
        message=message,
        lexer=lexer,
        completer=completer,
        history=history,
        bottom_toolbar=toolbar,
        key_bindings=merge_key_bindings(keys),
        auto_suggest=AutoSuggestFromHistory(),
        prompt_continuation=_continuation,
        style=palette(),
        include_default_pygments_style=False,
        mouse_support=embedded,
        erase_when_done=embedded,
        enable_suspend=not embedded,
        input=input,
        output=output,
    )


def _line_keys() -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @Condition
    def line_is_unfinished() -> bool:
        from prompt_toolkit.application import get_app

        return unfinished(get_app().current_buffer.text)

    # Ctrl-O as in IPython: not every terminal can tell Alt+Enter from Enter.
    @keys.add("enter", filter=typing & line_is_unfinished)
    @keys.add("escape", "enter", filter=typing)
    @keys.add("c-o", filter=typing)
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @Condition
    def has_suggestion() -> bool:
        from prompt_toolkit.application import get_app

        buffer = get_app().current_buffer
        return bool(buffer.suggestion and buffer.suggestion.text) and (
            buffer.document.is_cursor_at_the_end
        )

    @keys.add("end", filter=typing & has_suggestion)  # as ^E and Right do
    def _take_suggestion(event: KeyPressEvent) -> None:
        suggestion = event.current_buffer.suggestion
        event.current_buffer.insert_text(suggestion.text if suggestion is not None else "")

    keys.add("tab", filter=typing)(_complete)
    _add_search_keys(keys)
    return keys


def _complete(event: KeyPressEvent) -> None:
    """As in fish: Tab writes what all candidates have in common, the next one takes the first.

    The menu opens for what is typed: a first Tab takes nothing of it unless it has one row only.
    """
    buffer = event.current_buffer
    state = buffer.complete_state
    if state is None:
        # At once: prompt_toolkit seeks the common part in a task, and would write it among the
        # letters that are typed meanwhile.
        asked = CompleteEvent(completion_requested=True)
        found = list(buffer.completer.get_completions(buffer.document, asked))
        if len(found) == 1:
            buffer.apply_completion(found[0])
        else:
            if common := get_common_complete_suffix(buffer.document, found):
                buffer.insert_text(common)
            buffer.start_completion()
    elif event.is_repeat or state.complete_index is not None or len(state.completions) == 1:
        buffer.complete_next()
    elif common := get_common_complete_suffix(buffer.document, state.completions):
        buffer.insert_text(common)


def _add_search_keys(keys: KeyBindings) -> None:
    """As in a shell: an arrow takes the found line; else it is lost with what is typed next."""

    @keys.add("left", filter=is_searching)
    @keys.add("right", filter=is_searching)
    @keys.add("home", filter=is_searching)
    @keys.add("end", filter=is_searching)
    def _take_found(event: KeyPressEvent) -> None:
        from prompt_toolkit.search import accept_search

        accept_search()
        buffer, key = event.current_buffer, event.key_sequence[0].key
        if key in (Keys.Home, Keys.End):
            buffer.cursor_position = 0 if key is Keys.Home else len(buffer.text)


def _continuation(width: int, _line: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:prompt.continuation", " " * width if wrapped else "... ".rjust(width))]


def echoed(session: PromptSession[str], text: str) -> StyleAndTextTuples:
    """An accepted line as the prompt showed it, for a face that keeps its own transcript."""
    prompt = to_formatted_text(session.message, style="class:prompt")
    lines = text.split("\n")
    coloured = session.lexer.lex_document(Document(text)) if session.lexer else None
    fragments: StyleAndTextTuples = []
    for number, line in enumerate(lines):
        if number:
            fragments += [("", "\n"), *_continuation(fragment_list_width(prompt), number, 0)]
        else:
            fragments += prompt
        fragments += coloured(number) if coloured else [("", line)]
    return fragments


async def converse(
    session: PromptSession[str],
    evaluate: Evaluate,
    emit: Emit,
    *,
    echo: Echo | None = None,
    **prompt_kw: Any,
) -> None:
    """Read lines and evaluate them until `evaluate` returns False, or ^D on an empty line."""
    while True:
        try:
            text = await session.prompt_async(**prompt_kw)
        except KeyboardInterrupt:
            _drop(session.default_buffer.text, emit, echo)
            continue
        except EOFError:
            return
        if echo is not None:
            echo(text)
        if not await evaluate(text):
            return


def _drop(text: str, emit: Emit, echo: Echo | None) -> None:
    """^C clears the line and prints that; it does not exit."""
    if not text:
        emit([("class:hint", "^C clears the line; ^D on an empty line exits")])
        return
    if echo is not None:
        echo(text)
    emit([("class:aborting", "^C")])
