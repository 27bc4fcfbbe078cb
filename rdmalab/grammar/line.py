"""A line → Invocations: `verb object key=value …`; `;` or a new line between two commands.

A call of C that was pasted, as a line of the lab: what its arguments tell, and else an example.
`ibv_poll_cq(A_cq0, 16, wc)` is `poll_cq A.cq0 num_entries=16`. What stands in a structure is not in
the call: of `attr` the mask names the fields, of a work request nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from string import digits
from types import MappingProxyType
from typing import Any

from rdmalab.command import (
    Command,
    Invocation,
    Lines,
    NameMisplaced,
    New,
    NotUnderstood,
    UnknownVerb,
    kinds,
)
from rdmalab.grammar.arguments import Slot
from rdmalab.grammar.hints import ELSEWHERE, elsewhere, quoted, suggest, verb_of
from rdmalab.grammar.program import Reading, read_program, text_of
from rdmalab.grammar.sentence import Sentence, find_verb
from rdmalab.grammar.syntax import commands
from rdmalab.grammar.tokens import Lexeme, Token, scan, tokenize
from rdmalab.grammar.values import without_prefix
from rdmalab.spec.absent import not_emulated
from rdmalab.spec.states import ATTRIBUTES, Attr, usual_word

NO_ALIASES: Mapping[str, str] = MappingProxyType({})


def parse(
    line: str,
    vocabulary: Mapping[str, Command],
    default_node: str | None = None,
    *,
    file: bool = False,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> list[Invocation]:
    """The commands of a line; NotUnderstood, with line and column, if it has a mistake.

    Aliases (`s` for `step`, `n` for `step packet`) hold only interactively, not in a `file`.
    """
    known = NO_ALIASES if file else aliases
    try:
        token_lists = [tokens for tokens in commands(tokenize(line)) if tokens]
        return [
            _invocation(line, tokens, vocabulary, default_node, known) for tokens in token_lists
        ]
    except NotUnderstood as wrong:
        wrong.line = line
        raise


def mistakes(line: str, vocabulary: Mapping[str, Command]) -> list[NotUnderstood]:
    """The first mistake of each command of a line of a file."""
    found: list[NotUnderstood] = []
    try:
        token_lists = [tokens for tokens in commands(tokenize(line)) if tokens]
    except NotUnderstood as wrong:
        return [wrong]
    for tokens in token_lists:
        try:
            _invocation(line, tokens, vocabulary, None, NO_ALIASES)
        except NotUnderstood as wrong:
            found.append(wrong)
    return found


def _invocation(
    line: str,
    tokens: list[Token],
    vocabulary: Mapping[str, Command],
    default_node: str | None,
    aliases: Mapping[str, str],
) -> Invocation:
    verb = tokens[0]
    command, rest = find_verb(tokens, vocabulary, aliases)
    _refuse_call(line, tokens, vocabulary)
    if command is None:
        raise _no_verb(verb, vocabulary)
    sentence = Sentence(command, rest, default_node)
    if (misplaced := _misplaced(line, command, sentence)) is not None:
        raise misplaced
    arguments = sentence.arguments(verb)
    text = line[verb.place.start : tokens[-1].place.stop]
    places = {"": verb.place, **sentence.gathering.places}
    _read_lines(line, arguments, vocabulary)
    return Invocation(command.name, arguments, text, places)


def _misplaced(line: str, command: Command, sentence: Sentence) -> NameMisplaced | None:
    """`reg_mr A.pd0 length=4096`: the name of a parent, where that of the new object is wanted."""
    given = sentence.gathering
    new = next((value for value in given.values.values() if isinstance(value, New)), None)
    if new is None or any(part.wrong is not None for part in sentence.parts):
        return None
    noun = new.name.rstrip(digits)
    meant = next((s for s in given.keys.slots if _takes(s, noun) and given.lacks(s)), None)
    if meant is None or noun in (new.noun, new.name):  # pd0 is meant; node is a good name
        return None
    stem, others = f"{new.node}.{new.noun}", [p.argument.place for p in sentence.parts]
    kept = [line[place.start : place.stop] for place in others if place != new.place]
    lacking = [path for path in given.missing(command.parameters) if path != meant.dotted]
    more = [f"{key}=…" for key in given.shortest(lacking)]
    whole = [command.name, f"{stem}0", f"{given.keys.written(meant)}={new}", *kept, *more]
    message = f"{new} would be the name of the new {new.noun.upper()}"
    return NameMisplaced(message, new.place, f"write {' '.join(whole)}", stem)


def _takes(slot: Slot, noun: str) -> bool:
    return isinstance(slot.kind, kinds.ThingKind) and slot.kind.noun == noun


def _read_lines(line: str, arguments: dict[str, Any], vocabulary: Mapping[str, Command]) -> None:
    """The lines of a program are read at once: their names are those of the node it runs on."""
    for value in arguments.values():
        if isinstance(value, Lines):
            node = next(v.node for v in arguments.values() if isinstance(v, New))

            def verb(tokens: list[Token], node: str = node) -> Invocation:
                return _invocation(line, tokens, vocabulary, node, NO_ALIASES)

            value.parsed = read_program(Reading(line, verb, vocabulary, node), value.place)
            value.text = text_of(value.parsed)


_SET = re.compile(r"\.([\w.]+)\s*=\s*([\w|.]+)")  # a designated initializer
_FIRST = re.compile(r"\s*(\w+\.\w+)\s*[,)]")  # an object of the lab
_TEARS_DOWN = re.compile(r"^(?:destroy|dealloc|dereg|close|detach)_|state=(?:ERR|RESET)\b")


def _refuse_call(line: str, tokens: list[Token], vocabulary: Mapping[str, Command]) -> None:
    """NotUnderstood where a line of C was pasted: `ibv_post_send(qp, &wr, &bad_wr)`."""
    for at, (name, following) in enumerate(pairwise(tokens)):
        if not following.is_("(") or name.place.stop != following.place.start:
            continue
        called = vocabulary.get(name.text.removeprefix("ibv_"))
        is_verb = name is tokens[0] and called is not None and called.changes_world
        if is_verb or name.text.startswith("ibv_"):
            if called is None:
                raise _no_verb(name, vocabulary)
            message = f"{name.text}(…) is a call in C, not a line of rdmalab"
            first = _FIRST.match(line, following.place.stop)
            example = next(iter(called.examples), called.name)
            typed = from_c(line, called, first[1], vocabulary) if first else ""
            is_safe = typed or _TEARS_DOWN.search(example) is None  # its object may be a good one
            text = typed or line_of(called.name, tokens[at + 2 :], example)
            hint = f"write {text}" if is_safe else f"help {called.name} shows how to write it"
            raise NotUnderstood(message, name.place, hint)


def from_c(line: str, command: Command, thing: str, vocabulary: Mapping[str, Command]) -> str:
    """`modify_qp A.qp0 qp_state=IBV_QPS_RTS`: a line with what C sets by `.qp_state = …`.

    Empty if it sets nothing, or not what the command needs.
    """
    fields = [f"{name}={value}" for name, value in _SET.findall(line)]
    text = " ".join([command.name, thing, *fields])
    try:
        return text if fields and parse(text, vocabulary) else ""
    except NotUnderstood:
        return ""


def _no_verb(verb: Token, vocabulary: Mapping[str, Command]) -> NotUnderstood:
    if verb.lexeme is not Lexeme.WORD:
        message = f"a verb is wanted here, not {quoted(verb.text)}"
        return NotUnderstood(message, verb.place, "help all lists them")
    hint = suggest(verb_of(verb.text), vocabulary)
    if reason := not_emulated(verb.text):
        message = f"{verb.text} is not emulated: {reason}"
        return NotUnderstood(message, verb.place, "rdmalab capabilities lists what is emulated")
    is_near = hint.startswith("did you mean")
    if other := ELSEWHERE.get(verb.text.lower()) or ("" if is_near else elsewhere(verb.text)):
        return NotUnderstood(f"no verb {quoted(verb.text)}", verb.place, other)
    near = hint if is_near else "help all lists the verbs"
    return UnknownVerb(f"no verb {quoted(verb.text)}", verb.place, near)


def as_typed(text: str) -> str:
    """A text that may be copied from a screen, without prompts and without folds.

    A row that begins with `key=` goes on with the command before it: no command begins so.
    """
    return _FOLD.sub(" ", _PROMPT.sub("", text))


_PROMPT = re.compile(r"^[ \t]*[A-Z]\w*> ", re.MULTILINE)
_FOLD = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=[a-z][\w.]*=(?!=))")


def commands_of(text: str) -> list[tuple[int, str]]:
    """The commands of a pasted text or a file, with the number of the line where each begins."""
    return list(commands_in(enumerate(text.splitlines(), 1)))


def commands_in(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Each command of numbered lines, as soon as its last line is there.

    An open brace is the only thing that a command may carry over to the next line. No quote or
    comment reaches past the end of a line, so each line is scanned once.
    """
    waiting: list[str] = []
    first = depth = 0
    for number, line in lines:
        first = first if waiting else number
        waiting.append(line)
        depth += sum(token.is_("{") - token.is_("}") for token in scan(line))
        if depth <= 0:
            yield from _numbered(first, waiting)
            waiting, depth = [], 0
    yield from _numbered(first, waiting)


def _numbered(first: int, waiting: list[str]) -> Iterator[tuple[int, str]]:
    if any(line.strip() for line in waiting):
        yield first, "\n".join(waiting)


# Arguments by their place in C, the first is 0: a key, or an object.
_ARGUMENTS: Mapping[str, Mapping[int, str]] = {
    "poll_cq": {1: "num_entries"}, "req_notify_cq": {1: "solicited_only"},
    "ack_cq_events": {1: "nevents"}, "create_cq": {1: "cqe", 4: "comp_vector"},
    "resize_cq": {1: "cqe"}, "reg_mr": {0: "pd", 2: "length", 3: "access"},
    "reg_mr_iova": {0: "pd", 2: "length", 3: "hca_va", 4: "access"},
    "alloc_mw": {0: "pd", 1: "type"}, "create_qp": {0: "pd"}, "create_ah": {0: "pd"},
    "create_srq": {0: "pd"}, "query_qp": {2: "attr_mask"}, "query_port": {1: "port_num"},
    "query_gid": {1: "port_num", 2: "index"}, "query_pkey": {1: "port_num", 2: "index"},
}  # fmt: skip
_OF_OBJECT = {"pd"}  # keys whose value is the name of an object
_NAMED = re.compile(r"([A-Z])_([a-z]+\d+)")  # a variable of an exported program
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+")
_FLAGS = re.compile(r"IBV_\w+( \| IBV_\w+)*")
_OF_PEER = {"dest_qp_num": "{peer}.qp0", "ah_attr": "{peer}"}
_STATE_OF = {"pkey_index": "INIT", "port_num": "INIT", "ah_attr": "RTR", "dest_qp_num": "RTR",
             "rq_psn": "RTR", "timeout": "RTS", "sq_psn": "RTS"}  # fmt: skip


def line_of(verb: str, arguments: Sequence[Token], example: str) -> str:
    """The line that a call stands for. arguments: the tokens after the opening parenthesis.

    example: a line of this verb, for what the call does not tell.
    """
    given = list(_texts(arguments))
    words = example.split(" ")
    node, subject = _subject(verb, given, words)
    if verb == "modify_qp" and len(mask := _mask(given)) > 1:
        return " ".join([verb, subject, *_modified(mask, node)])
    for place, key in _ARGUMENTS.get(verb, {}).items():
        value = _value(key, given[place]) if place < len(given) else ""
        if value:
            words = [*(w for w in words if not w.startswith(f"{key}=")), f"{key}={value}"]
    if subject:
        words[1] = subject
    return " ".join(words)


def _subject(verb: str, given: list[str], words: list[str]) -> tuple[str, str]:
    """The node of the call and the name of its object; those of the example where C has none."""
    first = _NAMED.fullmatch(given[0]) if given else None
    named = words[1] if len(words) > 1 else ""
    if first is None or 0 in _ARGUMENTS.get(verb, {}):
        return named.partition(".")[0], named
    return first[1], f"{first[1]}.{first[2]}"


def _texts(tokens: Sequence[Token]) -> Iterator[str]:
    """The arguments as text, without the call's own parentheses."""
    depth, text, stop = 0, "", -1
    for token in tokens:
        depth += token.is_("(") - token.is_(")")
        if depth < 0:
            break
        if token.is_(",") and not depth:
            yield text
            text, stop = "", -1
            continue
        apart = " " if text and (token.place.start > stop or "|" in (token.text, text[-1])) else ""
        text, stop = text + apart + token.text, token.place.stop
    if text:
        yield text


def _value(key: str, text: str) -> str:
    if key in _OF_OBJECT:
        found = _NAMED.fullmatch(text)
        return f"{found[1]}.{found[2]}" if found else ""
    if _NUMBER.fullmatch(text):
        return text
    if _FLAGS.fullmatch(text):
        return "|".join(without_prefix(word) for word in text.split(" | "))
    return ""


def _mask(given: list[str]) -> list[str]:
    """The attributes that the mask of ibv_modify_qp names."""
    words = given[2].replace("|", " ").split() if len(given) > 2 else []
    bits = Attr(0)
    for word in words:
        bits |= Attr.__members__.get(word.removeprefix("IBV_QP_"), Attr(0))
    return [name for name, row in ATTRIBUTES.items() if row.mask & bits]


def _modified(names: list[str], node: str) -> Iterator[str]:
    peer = "A" if node == "B" else "B"
    states = [state for name, state in _STATE_OF.items() if name in names]
    if "qp_state" in names:
        yield f"state={states[0] if states else 'RTS'}"
    for name in names:
        if value := _OF_PEER.get(name, usual_word(name)):
            yield f"{'ah' if name == 'ah_attr' else name}={value.format(peer=peer)}"
