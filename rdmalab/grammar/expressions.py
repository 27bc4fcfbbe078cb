"""Questions about the world: `A.qp0.state == ERR and wire.count(from=A) >= 2`.

No side effects and no Python: comparisons, and/or/not, + - * //, paths, calls with filters, a few
functions. Names without a node get the default node; the world's own facts (`now`, `wire.count`)
have none.
"""

from rdmalab.command import Expression, NotUnderstood, Span
from rdmalab.grammar import nodes
from rdmalab.grammar.hints import listed, quoted
from rdmalab.grammar.nodes import check_call
from rdmalab.grammar.quantities import any_quantity
from rdmalab.grammar.text import unquoted
from rdmalab.grammar.tokens import Lexeme, Token, scan_expression
from rdmalab.grammar.trees import is_function, render

_MAX_TOKENS = 256
_MAX_DEPTH = 24
_RENAMED = {"deaf": "rq_empty"}  # fields by the name that older files have


def parse_expression(text: str, default_node: str | None = None, offset: int = 0) -> Expression:
    """The expression that the whole text is; its `text` is canonical and names every node."""
    parser = _Parser(text, default_node, offset)
    node = parser.whole()
    return Expression(render(node), node, Span(offset, offset + len(text)))


class _Parser:
    def __init__(self, text: str, default_node: str | None, offset: int) -> None:
        self.tokens = scan_expression(text, offset)
        self.default_node = default_node
        self.end = offset + len(text.rstrip())
        self.at = 0
        self.depth = 0

    def whole(self) -> nodes.Node:
        if len(self.tokens) > _MAX_TOKENS:
            place = Span(self.tokens[0].place.start, self.end)
            raise NotUnderstood("this question is too long", place, "ask in two steps")
        node = self.binary(nodes.OR)
        if (token := self.peek()) is not None:
            word, place = self.rest_of(token)
            raise NotUnderstood(f"unexpected {quoted(word)}", place, _continued(node, word))
        return node

    def rest_of(self, token: Token) -> tuple[str, Span]:
        """`A.qp1`: the tokens that hang together, beginning with this one."""
        text, stop = "", token.place.start
        for following in self.tokens[self.at :]:
            if following.place.start != stop:
                break
            text, stop = text + following.text, following.place.stop
        return text, Span(token.place.start, stop)

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def meets(self, *texts: str) -> bool:
        """True if the next token is one of these words or signs."""
        token = self.peek()
        return token is not None and token.text in texts and token.lexeme is not Lexeme.STRING

    def accept(self, *texts: str) -> Token | None:
        return self.take() if self.meets(*texts) else None

    def expect(self, text: str) -> Token:
        if (token := self.accept(text)) is None:
            raise self.wrong(f'"{text}" is missing', f"write {text}")
        return token

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def wrong(self, message: str, hint: str) -> NotUnderstood:
        token = self.peek()
        return NotUnderstood(message, token.place if token else Span(self.end, self.end), hint)

    def binary(self, weakest: int) -> nodes.Node:
        """Operators at least as strong as `weakest`, the stronger ones deeper in the tree."""
        left = self.unary()
        while (token := self.peek()) and _strength(token) >= weakest:
            self.take()
            strength = _strength(token)
            right = self.binary(strength + 1)
            if strength == nodes.COMPARED:
                left = nodes.Binary(
                    token.text, left, _as_word(right, self.tokens[self.at - 1]), token.place
                )
                self.refuse_chain()
            else:
                left = nodes.Binary(token.text, left, right, token.place)
        return left

    def refuse_chain(self) -> None:
        if self.meets(*nodes.COMPARISONS):
            raise self.wrong("comparisons do not chain", "write a < b and b < c")

    def unary(self) -> nodes.Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.wrong("nested too deep", f"at most {_MAX_DEPTH} levels")
        if (token := self.accept("not")) is not None:
            node: nodes.Node = nodes.Unary("not", self.binary(nodes.COMPARED), token.place)
        elif (token := self.accept("-")) is not None:
            node = nodes.Unary("-", self.unary(), token.place)
        else:
            node = self.primary()
        self.depth -= 1
        return node

    def primary(self) -> nodes.Node:
        token = self.peek()
        if token is not None and token.lexeme is Lexeme.NUMBER:
            self.take()
            text = "".join(token.text.split())  # `10 us` is written 10us
            return nodes.Literal(any_quantity(text, token.place), text, token.place)
        if token is not None and token.lexeme is Lexeme.STRING:
            self.take()
            return nodes.Literal(unquoted(token.text, token.place), token.text, token.place)
        if self.accept("("):
            node = self.binary(nodes.OR)
            self.expect(")")
            return node
        return self.path()

    def path(self) -> nodes.Node:
        first = self.name()
        steps: list[str | nodes.Index] = [first.text]
        while self.meets(".", "["):
            steps.append(self.index() if self.accept("[") else self.step())
        place = Span(first.place.start, self.tokens[self.at - 1].place.stop)
        whole = self.qualified(tuple(steps), place)
        path = nodes.Path(
            (*whole[:2], *(_RENAMED.get(str(step), step) for step in whole[2:])), place
        )
        return self.call(path) if self.accept("(") else path

    def step(self) -> str:
        self.expect(".")
        return self.name().text

    def name(self) -> Token:
        token = self.peek()
        if token is None or token.lexeme is not Lexeme.WORD or token.text in nodes.KEYWORDS:
            raise self.wrong("a name or a value is missing here", "write A.qp0.state or 12")
        return self.take()

    def qualified(
        self, steps: tuple[str | nodes.Index, ...], place: Span
    ) -> tuple[str | nodes.Index, ...]:
        first = str(steps[0])
        is_node = len(first) == 1 and first.isupper()
        if len(steps) == 1 or is_node or first in nodes.WORLD:
            return steps
        if self.default_node is None:
            is_packet = first in nodes.PACKET_WORDS
            hint = nodes.PACKETS if is_packet else f"write A.{first} or B.{first}"
            raise NotUnderstood(f"whose {quoted(first)}?", place, hint)
        return (self.default_node, *steps)

    def index(self) -> nodes.Index:
        """`[7]`, `[0:5]`, `[:5]`, and sums of numbers: `[7:7+5]`."""
        start = 0 if self.meets(":") else self.number()
        if self.accept(":") is None:
            self.expect("]")
            return nodes.Index(start)
        stop = self.number()
        self.expect("]")
        return nodes.Index(start, stop)

    def number(self) -> int:
        token = self.peek()
        if token is None or token.lexeme is not Lexeme.NUMBER:
            raise self.wrong("a number is missing here", "write [0:64] or [7]")
        self.take()
        first = any_quantity(token.text, token.place)
        return first + self.number() if self.accept("+") else first

    def call(self, path: nodes.Path) -> nodes.Call:
        call = nodes.Call(path, [], {})
        while not self.meets(")"):
            self.argument(call)
            if self.accept(",") is None:
                break
        closing = self.expect(")")
        call.place = Span(path.place.start, closing.place.stop)
        check_call(call)
        return call

    def argument(self, call: nodes.Call) -> None:
        token = self.peek()
        sign = next(iter(self.tokens[self.at + 1 : self.at + 2]), None)
        if token is None or token.lexeme is not Lexeme.WORD or sign is None:
            call.positional.append(self.binary(nodes.OR))
        elif sign.is_("=") or (sign.is_("!=") and not is_function(call)):
            self.filter(call, token, sign)
        else:
            call.positional.append(self.binary(nodes.OR))

    def filter(self, call: nodes.Call, key: Token, sign: Token) -> None:
        """`status=SUCCESS`, `status!=SUCCESS`, `since=@ready`."""
        if key.text in call.keywords:
            raise self.wrong(f"{key.text} is given twice", "leave one out")
        self.at += 2
        if key.text == nodes.SINCE:
            call.keywords[nodes.SINCE] = self.moment(sign)
            return
        value = _as_word(self.binary(nodes.OR), self.tokens[self.at - 1])
        call.keywords[key.text] = nodes.Unary("!=", value, sign.place) if sign.is_("!=") else value

    def moment(self, sign: Token) -> nodes.Node:
        """The node of what follows `since=`: a checkpoint, an event, a time."""
        token = self.peek()
        if sign.is_("!=") or token is None or token.lexeme not in (Lexeme.MARK, Lexeme.NUMBER):
            raise self.wrong(
                "a moment is missing here", "write since=@start, since=120, since=10us"
            )
        if token.lexeme is Lexeme.NUMBER:
            return self.primary()
        self.take()
        return nodes.Word(token.text, token.place)


def _continued(node: nodes.Node, word: str) -> str:
    """A hint: the operators that may stand in the place of this word."""
    if word == "=":
        return "did you mean ==?"
    if word.startswith("/"):
        return "numbers are whole: write //"
    is_compared = isinstance(node, nodes.Binary) and node.operator in (
        *nodes.COMPARISONS,
        *nodes.KEYWORDS,
    )
    legal = nodes.KEYWORDS[:2] if is_compared else (*nodes.COMPARISONS[:4], *nodes.KEYWORDS[:2])
    return listed(list(legal))


def _strength(token: Token) -> int:
    return 0 if token.lexeme is Lexeme.STRING else nodes.STRENGTH.get(token.text, 0)


def _as_word(node: nodes.Node, last: Token) -> nodes.Node:
    """A single name in the place of a value is a word, unless it stands in parentheses."""
    if isinstance(node, nodes.Path) and node.is_single and last.place.stop == node.place.stop:
        return nodes.Word(str(node), node.place)
    return node
