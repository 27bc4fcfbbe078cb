"""The completion menu of the prompt: candidates, each with a short description."""

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from rdmalab.session.session import Session
from rdmalab.shell.legal import choices

_WIDEST_META = 50


class LabCompleter(Completer):
    """A prompt_toolkit completer. session: called for each completion, because `load` replaces
    the session."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Completion]:
        """Candidates for the word at the cursor, each with its description."""
        text, cursor = document.text, document.cursor_position
        found, expected = choices(self._session(), text, cursor)
        start = expected.place.start - cursor
        after = " " if expected.is_verb and text[cursor : cursor + 1] != " " else ""
        for choice in found:
            meta = _cut(choice.meta)
            yield Completion(choice.text + after, start, display=choice.text, display_meta=meta)


def _cut(meta: str) -> str:
    return meta if len(meta) <= _WIDEST_META else meta[: _WIDEST_META - 1] + "…"
