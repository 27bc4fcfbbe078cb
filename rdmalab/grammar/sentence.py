"""One command's arguments in their places: one reading for parsing, completion and colour.

Words go to the first free positional parameter that accepts them, `key=value` anywhere, spoken
keywords without `=`, and a question takes the rest of the line. Nothing here raises: what is wrong
with a part stands in the part.
"""

from collections.abc import Mapping
from typing import Any

from rdmalab.command import Command, NotUnderstood, Span, kinds
from rdmalab.grammar.arguments import (
    ArgumentPart,
    Gathering,
    Keys,
    Slot,
    flat_record,
    keys_of_command,
    meaning,
)
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.grammar.nodes import Literal
from rdmalab.grammar.syntax import Argument, Atom, Braces, Reader
from rdmalab.grammar.tokens import Lexeme, Token, scan
from rdmalab.grammar.values import NULLS, value_of

_ANY = kinds.TextKind | kinds.ThingKind | kinds.ExpressionKind  # what takes nearly every word


def find_verb(
    tokens: list[Token], vocabulary: Mapping[str, Command], aliases: Mapping[str, str]
) -> tuple[Command | None, list[Token]]:
    """The command the first token names, and the tokens of its arguments."""
    verb, *rest = tokens
    name = verb.text
    if name not in vocabulary and name in aliases:
        first, *added = [Token(t.lexeme, t.text, verb.place) for t in scan(aliases[name])]
        name, rest = first.text, [*added, *rest]
    if name not in vocabulary:
        name = name.removeprefix("ibv_")
    is_word = verb.lexeme is Lexeme.WORD
    return vocabulary.get(name) if is_word else None, rest


class Sentence:
    """The arguments of one command, read part by part."""

    def __init__(self, command: Command, tokens: list[Token], default_node: str | None) -> None:
        self.command = command
        self.tokens = tokens
        self.default_node = default_node
        self.gathering = Gathering(keys_of_command(command), default_node)
        self.parts: list[ArgumentPart] = []
        self._reader = Reader(tokens)
        self._flags = {p.flag: p.name for p in command.parameters if p.flag}
        self._spoken = {p.name for p in command.parameters if p.spoken} | self._flags.keys()
        while self._reader.peek() is not None:
            self.parts.append(self._part())

    def free_positionals(self) -> list[Slot]:
        """The positional parameters that wait for a word."""
        slots = [self._slot(p.name) for p in self.command.parameters if p.positional]
        return [slot for slot in slots if self.gathering.is_free(slot)]

    def arguments(self, verb: Token) -> dict[str, Any]:
        """All of it as plain values; NotUnderstood at the first thing that is wrong."""
        for part in self.parts:
            if part.wrong is not None:
                raise part.wrong
        command, whole = self.command, next(iter(self.command.examples), "")
        self.gathering.demand(command.parameters, verb.place, command.name, whole)
        values = self.gathering.values
        for parameter in self.command.parameters:
            if isinstance(parameter.kind, kinds.ListKind) and isinstance(
                values.get(parameter.name), dict
            ):
                values[parameter.name] = [values[parameter.name]]
        return values

    def _slot(self, name: str) -> Slot:
        return self.gathering.keys.by_key[name]

    def _part(self) -> ArgumentPart:
        first = next(iter(self.free_positionals()), None)
        if first is not None and isinstance(first.kind, kinds.ProseKind):
            return self._prose(first)
        if self._reader.is_key_next:
            return self._keyed()
        token = self._reader.peek()
        if token is not None and token.lexeme is Lexeme.WORD and token.text in self._spoken:
            return self._argument()
        return self._word()

    def _keyed(self) -> ArgumentPart:
        token, equals = self._reader.peek(), self._reader.peek(1)
        slot = self.gathering.keys.by_key.get(token.text) if token else None
        if slot is not None and isinstance(slot.kind, kinds.ExpressionKind):
            key = self._reader.key()
            return self._kept(self._question(slot, key))
        argument = self._reader.argument()
        if slot is None and equals is not None and self._awaits_question():
            wrong = NotUnderstood('"=" does not compare', equals.place, "did you mean ==?")
            return ArgumentPart(argument, wrong=wrong)
        return self.gathering.read(argument)

    def _awaits_question(self) -> bool:
        return any(isinstance(slot.kind, kinds.ExpressionKind) for slot in self.free_positionals())

    def _argument(self) -> ArgumentPart:
        """`within 2ms`, `-v`."""
        key = self._reader.take()
        if key.text in self._flags:
            slot = self._slot(self._flags[key.text])
            return self._kept(ArgumentPart(Argument(key, [], key.place), slot, 1))
        is_value_next = self._reader.peek() is not None and not self._reader.is_key_next
        values = self._reader.values() if is_value_next else []
        stop = values[-1].place.stop if values else key.place.stop
        return self.gathering.read(Argument(key, values, Span(key.place.start, stop)))

    def _word(self) -> ArgumentPart:
        start = self._reader.at
        argument = self._reader.argument()
        complaints: list[tuple[Slot, NotUnderstood]] = []
        for slot in self.free_positionals():
            if isinstance(slot.kind, _ANY) and _was_a_word(complaints):
                break
            if isinstance(slot.kind, kinds.ExpressionKind):
                behind, self._reader.at = self._reader.at, start
                part = self._question(slot, None)
                if not _is_mistaken(part, complaints):
                    return self._kept(part)
                self._reader.at = behind
                break
            part = self._read_as(slot, argument)
            if part.wrong is None:
                return part
            complaints.append((slot, part.wrong))
        return self._refused(argument, complaints)

    def _read_as(self, slot: Slot, argument: Argument) -> ArgumentPart:
        part = ArgumentPart(argument, slot)
        try:
            part.value = meaning(argument.values, slot.kind, self.default_node)
        except NotUnderstood as wrong:
            part.wrong = wrong
        return self._kept(part)

    def _refused(
        self, argument: Argument, complaints: list[tuple[Slot, NotUnderstood]]
    ) -> ArgumentPart:
        """A value that no positional parameter accepts, with the most helpful complaint."""
        if not complaints:
            return ArgumentPart(argument, wrong=self._too_many(argument))
        slot, wrong = min(complaints, key=lambda c: _helpfulness(c[0], c[1], argument))
        return ArgumentPart(argument, slot, wrong=wrong)

    def _too_many(self, argument: Argument) -> NotUnderstood:
        first = argument.values[0]
        word = first.text if isinstance(first, Atom) else "{…}"
        keys = self.gathering.keys
        for slot in keys.slots:  # `modify_qp A.qp0 INIT`
            if self.gathering.is_free(slot) and _names_a_member(word, slot):
                hint = f"write {_shortest(keys, slot)}={word}"
                return NotUnderstood(f"unexpected {quoted(word)}", argument.place, hint)
        free = [keys.written(slot) for slot in keys.slots if self.gathering.is_free(slot)]
        begun = [f"{key}=" for key in free if key and key.startswith(word.lower())]
        if len(begun) > 1:  # a list of all keys may be cut before the one that is meant
            return NotUnderstood(f"unexpected {quoted(word)}", argument.place, listed(begun))
        hint = suggest(word, [f"{key}=" for key in free if key]) or "leave it out"
        return NotUnderstood(f"unexpected {quoted(word)}", argument.place, hint)

    def _question(self, slot: Slot, key: Token | None) -> ArgumentPart:
        """An expression: the rest of the line, up to a key or a spoken keyword."""
        before = self._reader.tokens[self._reader.at - 1].place.stop if self._reader.at else 0
        tokens = self._rest()
        start = tokens[0].place.start if tokens else before
        stop = tokens[-1].place.stop if tokens else before
        text = _text_of(tokens)
        atom = Atom(text, Span(start, stop), tokens)
        place = Span(key.place.start if key else start, stop)
        part = ArgumentPart(Argument(key, [atom], place), slot)
        try:
            is_null = slot.kind.nullable and text in NULLS
            part.value = None if is_null else parse_expression(text, self.default_node, start)
        except NotUnderstood as wrong:
            part.wrong = self._several_topics(slot, atom) or wrong
        return part

    def _several_topics(self, slot: Slot, atom: Atom) -> NotUnderstood | None:
        """The mistake of `why no completion`, several words for one object; else None."""
        assert isinstance(slot.kind, kinds.ExpressionKind)
        plain = all(t.lexeme is Lexeme.WORD or t.is_("[", "]") for t in atom.tokens)
        is_row = plain and " " in atom.text
        if not slot.kind.is_topic or not is_row:
            return None
        name = self.command.name
        hint = f"write {name} A.qp0.wr[3]"
        return NotUnderstood(f"{name} takes one object", atom.place, hint)

    def _prose(self, slot: Slot) -> ArgumentPart:
        """All tokens that are left, as they stand in the line."""
        tokens = self._reader.tokens[self._reader.at :]
        self._reader.at = len(self._reader.tokens)
        place = Span(tokens[0].place.start, tokens[-1].place.stop)
        atom = Atom(_text_of(tokens), place, tokens)
        return self._read_as(slot, Argument(None, [atom], place))

    def _kept(self, part: ArgumentPart) -> ArgumentPart:
        if part.wrong is None and part.slot is not None:
            try:
                self.gathering.put(part.slot, part.value, part.argument)
            except NotUnderstood as wrong:
                part.wrong = wrong
        return part

    def _rest(self) -> list[Token]:
        tokens: list[Token] = []
        depth = 0
        while (token := self._reader.peek()) is not None:
            is_spoken = token.lexeme is Lexeme.WORD and token.text in self._spoken
            if depth == 0 and tokens and (is_spoken or self._reader.is_key_next):
                break
            depth += token.is_("(", "[") - token.is_(")", "]")
            tokens.append(self._reader.take())
        return tokens


def _names_a_member(word: str, slot: Slot) -> bool:
    """True if a bare word is a value of this key, as INIT is one of qp_state."""
    if not isinstance(slot.kind, kinds.EnumKind) or not word[:1].isalpha():
        return False
    return value_of(word, slot.kind) is not None


def _shortest(keys: Keys, slot: Slot) -> str:
    return min((key for key, other in keys.by_key.items() if other == slot), key=len)


def _text_of(tokens: list[Token]) -> str:
    """The source text of the tokens, with the columns between them."""
    text = ""
    for token in tokens:
        gap = token.place.start - tokens[0].place.start - len(text)
        text += " " * max(gap, 1 if text and token.place == tokens[0].place else 0) + token.text
    return text


def _is_mistaken(question: ArgumentPart, complaints: list[tuple[Slot, NotUnderstood]]) -> bool:
    """Whether this is no question, because its first word was meant for another parameter."""
    if question.wrong is None:
        node = question.value.node if question.value is not None else None
        return bool(complaints) and isinstance(node, Literal)
    return any(_is_near(wrong) for _, wrong in complaints)


def _was_a_word(complaints: list[tuple[Slot, NotUnderstood]]) -> bool:
    """Whether a required word of a fixed set is missing; words and names of any kind do not fit."""
    return any(
        isinstance(slot.kind, kinds.WordKind) and slot.parameter.required for slot, _ in complaints
    )


def _is_near(wrong: NotUnderstood) -> bool:
    return wrong.hint.startswith("did you mean")


def _helpfulness(slot: Slot, wrong: NotUnderstood, argument: Argument) -> tuple[bool, ...]:
    """Smaller is better: braces are for records, then what is required, then a near word.

    Then, for letters, what takes one of a few words: `step foo` has not got a number wrong.
    """
    is_record = flat_record(slot.kind, lists=True) is not None
    is_braces = isinstance(argument.values[0], Braces)
    is_letters = isinstance(first := argument.values[0], Atom) and first.text[:1].isalpha()
    is_wordy = is_letters and isinstance(slot.kind, kinds.WordKind)
    return is_record != is_braces, not slot.parameter.required, not _is_near(wrong), not is_wordy
