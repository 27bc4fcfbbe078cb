"""Error messages: the line, a caret under the fault, the legal values, one suggestion."""

from collections.abc import Callable

from rdmalab.command import NOWHERE, Invocation, NotUnderstood, Refused, Span
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.shell.styled_text import Line, fold, laid, plain, shown
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import errno_name

ERROR, HINT, CARET, DIM = "class:error", "class:hint", "class:caret", "class:dim"
_INDENT = "  "
_HANG = 7


@dataclass(frozen=True, slots=True)
class Page:
    """The most columns of a message; `plain`: one fact a line, nothing set to the right."""

    width: int = 80
    plain: bool = False


def not_understood(error: NotUnderstood, page: Page) -> list[Line]:
    """The message for a line that was not understood; nothing was executed."""
    lead = [(ERROR, f"{error.lead}: "), ("", shown(error.message))]
    text, place = _line_at(error.line, error.place)
    if place == NOWHERE:
        pointed = [plain(_INDENT + text)] if text else []
        hint = [plain(_INDENT + error.hint, HINT)] if error.hint else []
        return [lead, *pointed, *hint]
    return [lead, *_pointed(text, place, error.hint, page, HINT)]


def refused(session: Session, reply: Reply, page: Page) -> list[Line]:
    """The message for a verb that returned an errno; it is an event."""
    refusal, invocation = reply.refusal, reply.invocation
    if refusal is None or invocation is None:
        return []
    from rdmalab.repair.by_rule import named, suggestion  # with the first refusal

    lead = f"{invocation.name} returned {errno_name(refusal.errno)} ({refusal.errno})"
    note = _outcome(reply, refusal)
    lines = _laid(lambda page: [_headline(lead, note, page)], page)
    place = place_of(invocation, refusal)
    text, legal = named(session, invocation, _message(refusal, invocation)), refusal.legal
    if refusal.rule == "attr-missing":  # both say the same; the second says for what
        text, legal = legal, ""
    lines += _pointed(invocation.line, place, shown(text), page, "")
    if legal:
        lines.append(plain(_INDENT + named(session, invocation, legal)))
    if attempt := suggestion(session, reply):
        lines.append([(HINT, f"{_INDENT}try: "), ("", attempt)])
    return lines


def _message(refusal: Refused, invocation: Invocation) -> str:
    work = invocation.arguments.get("wr")
    several = isinstance(work, list) and len(work) > 1
    return f"wr {refusal.bad_wr}: {refusal.message}" if several else refusal.message


def _outcome(reply: Reply, refusal: Refused) -> str:
    if reply.event is None:
        return "nothing changed"
    if refusal.bad_wr:
        stay = "wr 0 remains" if refusal.bad_wr == 1 else f"wr 0..{refusal.bad_wr - 1} remain"
        return f"ev {reply.event}, {stay} posted"
    return f"ev {reply.event}, {refusal.left or 'nothing changed'}"


def _headline(text: str, note: str, page: Page) -> Line:
    gap = 2 if page.plain else max(2, page.width - len("error: ") - len(text) - len(note) - 2)
    return [(ERROR, "error: "), ("", text), (DIM, f"{' ' * gap}[{note}]")]


def place_of(invocation: Invocation, refusal: Refused) -> Span:
    """The columns of the fault in the command; else those of its first argument, or of the verb."""
    places = invocation.places
    verb = places.get("", NOWHERE)
    first = next(iter(invocation.arguments), "")
    named = refusal.place if refusal.place != NOWHERE else None
    found = named or _nearest(places, refusal) or places.get(first) or verb
    return Span(found.start - verb.start, found.stop - verb.start)


def _nearest(places: dict[str, Span], refusal: Refused) -> Span | None:
    wanted = refusal.argument
    several = f"wr[{refusal.bad_wr}]"
    if several in places and wanted != "qp":
        return places[several]
    if wanted and wanted in places:
        return places[wanted]
    near = [key for key in places if key and (wanted.startswith(key) or key.startswith(wanted))]
    return places[near[0]] if wanted and near else None


# --------------------------------------------------------------------------- the caret
def _line_at(line: str, place: Span) -> tuple[str, Span]:
    """The line of a text that contains the place, and the place within that line."""
    start = line.rfind("\n", 0, place.start) + 1
    stop = line.find("\n", place.start)
    text = line[start:] if stop < 0 else line[start:stop]
    if place == NOWHERE:
        return text, place
    return text, Span(place.start - start, min(place.stop - start, max(len(text), 1)))


def _pointed(text: str, place: Span, note: str, page: Page, style: str) -> list[Line]:
    return _laid(lambda page: _caret(text, place, note, page, style), page)


def _laid(make: Callable[[Page], list[Line]], page: Page) -> list[Line]:
    """The lines, which can be made again for another width."""
    return laid(
        lambda width: [
            row for line in make(Page(width, page.plain)) for row in fold(line, width, _HANG)
        ],
        page.width,
    )


def _caret(text: str, place: Span, note: str, page: Page, style: str) -> list[Line]:
    """The line with a caret and a note under it; a long line is cut around the caret.

    On a plain page the columns of the caret are written, because a screen reader reads no place.
    """
    if page.plain:
        where = f"at column {place.start + 1}: {text[place.start : place.stop]}"
        return [plain(_INDENT + row, style) for row in (text, where, note) if row]
    text, place = _window(text, place, page.width - len(_INDENT))
    carets = "^" * max(1, place.stop - place.start)
    under = f"{_INDENT}{' ' * place.start}"
    lines: list[Line] = [plain(_INDENT + text), [("", under), (CARET, carets)]]
    if not note:
        return lines
    if len(under) + len(carets) + 2 + len(note) <= page.width:
        lines[-1].append((style, f"  {note}"))
    else:
        lines.append(plain(_INDENT + note, style))
    return lines


def _window(text: str, place: Span, width: int) -> tuple[str, Span]:
    if len(text) <= width:
        return text, place
    long = place.stop - place.start
    start = max(0, min(place.start - (width - min(long, width)) // 2, len(text) - width))
    shown_text = text[start : start + width]
    if start:
        shown_text = "…" + shown_text[1:]
    if start + width < len(text):
        shown_text = shown_text[:-1] + "…"
    stop = min(place.stop - start, width)
    return shown_text, Span(max(0, place.start - start), max(stop, 1))
