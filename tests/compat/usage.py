"""What a program uses of pyverbs, found in its source: imports, names, attributes, calls.

Types are followed through assignments, annotations, loops and the program's own classes. An
attribute of a value whose type is unknown must be one that some builtin has; so nothing of
pyverbs goes unseen.
"""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

Question = tuple[str | int | tuple[str, ...], ...]


@dataclass(frozen=True)
class Module:
    name: str


@dataclass(frozen=True)
class Real:
    """An instance of a pyverbs class, or the class itself."""

    module: str
    name: str
    is_class: bool = False


@dataclass(frozen=True)
class Own:
    """An instance of a class of the program, or the class itself."""

    name: str
    is_class: bool = False


@dataclass(frozen=True)
class Function:
    node: ast.FunctionDef


@dataclass(frozen=True)
class ListOf:
    item: "Type"


@dataclass(frozen=True)
class TupleOf:
    items: tuple["Type", ...]


# None: a plain value, or one that is unknown.
Type = Module | Real | Own | Function | ListOf | TupleOf | None
Names = dict[str, Type]

# What methods and properties give, from the docstrings and sources of pyverbs 44.0; all others
# give plain values.
RESULTS: dict[tuple[str, str], Type] = {
    ("Context", "query_gid"): Real("pyverbs.addr", "GID"),
    ("Context", "query_device"): Real("pyverbs.device", "DeviceAttr"),
    ("Context", "query_port"): Real("pyverbs.device", "PortAttr"),
    ("Context", "get_async_event"): Real("pyverbs.device", "AsyncEvent"),
    ("CQ", "poll"): TupleOf((None, ListOf(Real("pyverbs.cq", "WC")))),
    ("QP", "query"): TupleOf((Real("pyverbs.qp", "QPAttr"), Real("pyverbs.qp", "QPInitAttr"))),
    ("QPAttr", "ah_attr"): Real("pyverbs.addr", "AHAttr"),
    ("QPAttr", "cap"): Real("pyverbs.qp", "QPCap"),
    ("QPInitAttr", "cap"): Real("pyverbs.qp", "QPCap"),
    ("SRQ", "query"): Real("pyverbs.srq", "SrqAttr"),
}

_PLAIN = frozenset(name for kind in (int, str, bytes, list, tuple, dict, set) for name in dir(kind))


@dataclass
class Usage:
    """The questions that a program's source raises, each with its line."""

    questions: list[tuple[int, Question]] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    members: dict[str, Names] = field(default_factory=dict)

    def ask(self, node: ast.AST, *question: str | int | tuple[str, ...]) -> None:
        self.questions.append((getattr(node, "lineno", 0), question))


def usage(source: str) -> Usage:
    """Walk a whole program."""
    found = Usage()
    _Walk(found, {}).block(ast.parse(source).body)
    return found


class _Walk:
    """One scope: the types of its names so far."""

    def __init__(self, found: Usage, names: Names) -> None:
        self.found = found
        self.names = names

    # ------------------------------------------------------------------- statements
    def block(self, body: list[ast.stmt]) -> None:
        """Definitions are declared first, and walked when everything around them is known."""
        later: list[ast.FunctionDef | ast.ClassDef] = []
        for statement in body:
            if isinstance(statement, ast.FunctionDef):
                self.names[statement.name] = Function(statement)
                later.append(statement)
            elif isinstance(statement, ast.ClassDef):
                self.names[statement.name] = Own(statement.name, is_class=True)
                later.append(statement)
            else:
                self.statement(statement)
        for definition in later:
            if isinstance(definition, ast.ClassDef):
                self.class_body(definition)
        for definition in later:
            if isinstance(definition, ast.FunctionDef):
                self.function(definition)

    def class_body(self, node: ast.ClassDef) -> None:
        """`__init__` is walked first: it says what the others find in `self`."""
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        self.found.members[node.name] = {each.name: Function(each) for each in methods}
        for method in sorted(methods, key=lambda each: each.name != "__init__"):
            self.function(method, Own(node.name))

    def function(self, node: ast.FunctionDef, owner: Own | None = None) -> None:
        inner = _Walk(self.found, dict(self.names))
        for index, argument in enumerate(node.args.args + node.args.kwonlyargs):
            first = index == 0 and owner is not None
            inner.names[argument.arg] = owner if first else self.annotated(argument.annotation)
        if node.args.vararg is not None:
            kind = self.annotated(node.args.vararg.annotation)
            inner.names[node.args.vararg.arg] = ListOf(kind)
        inner.block(node.body)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self.imports(node)
            case ast.Assign():
                kind = self.infer(node.value)
                for target in node.targets:
                    self.bind(target, kind)
            case ast.AnnAssign():
                if node.value is not None:
                    self.infer(node.value)
                self.bind(node.target, self.annotated(node.annotation))
            case ast.AugAssign():
                self.infer(node.value)
                self.bind(node.target, self.infer(node.target))
            case ast.For():
                self.bind(node.target, _item(self.infer(node.iter)))
                self.block([*node.body, *node.orelse])
            case _:
                self.other_statement(node)

    def other_statement(self, node: ast.stmt) -> None:
        """Its expressions, then the blocks in it, in the order of the source."""
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.expr():
                    self.infer(child)
                case ast.stmt():
                    self.statement(child)
                case ast.withitem():
                    kind = self.infer(child.context_expr)
                    if child.optional_vars is not None:
                        self.bind(child.optional_vars, kind)
                case ast.ExceptHandler():
                    self.handler(child)

    def handler(self, node: ast.ExceptHandler) -> None:
        kind = self.infer(node.type) if node.type is not None else None
        if node.name is not None:
            self.names[node.name] = _instance(kind)
        self.block(node.body)

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            self.import_names(node)
            return
        for alias in node.names:
            self.import_module(node, alias)

    def import_module(self, node: ast.Import, alias: ast.alias) -> None:
        if _is_pyverbs(alias.name):
            self.found.ask(node, "name", alias.name, "")
        whole = alias.name if alias.asname else alias.name.partition(".")[0]
        self.names[alias.asname or whole] = Module(whole)

    def import_names(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for alias in node.names:
            kind: Type = None
            if _is_pyverbs(module):
                self.found.ask(node, "name", module, alias.name)
                kind = Real(module, alias.name, is_class=True)
            self.names[alias.asname or alias.name] = kind

    def bind(self, target: ast.expr, kind: Type) -> None:
        match target:
            case ast.Name():
                self.names[target.id] = kind
            case ast.Tuple() | ast.List():
                for index, each in enumerate(target.elts):
                    self.bind(each, _part(kind, index))
            case ast.Attribute():
                self.bind_attribute(target, kind)
            case _:
                self.infer_all(target)

    def bind_attribute(self, target: ast.Attribute, kind: Type) -> None:
        holder = self.infer(target.value)
        if isinstance(holder, Real):
            self.found.ask(target, "set", holder.module, holder.name, target.attr)
        elif isinstance(holder, Own):
            self.found.members[holder.name][target.attr] = kind

    # ------------------------------------------------------------------- expressions
    def infer(self, node: ast.expr) -> Type:
        """The type of an expression; all that it uses is asked for on the way."""
        match node:
            case ast.Name():
                return self.names.get(node.id)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.Subscript():
                self.infer_all(node.slice)
                return _subscript(self.infer(node.value), node.slice)
        return self.collection(node)

    def collection(self, node: ast.expr) -> Type:
        """Of several expressions, or nothing that has a type here."""
        match node:
            case ast.Tuple():
                return TupleOf(tuple(self.infer(each) for each in node.elts))
            case ast.List():
                items = [self.infer(each) for each in node.elts]
                return ListOf(items[0] if items else None)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return ListOf(self.comprehension(node.generators, node.elt))
            case ast.DictComp():
                self.comprehension(node.generators, node.key, node.value)
            case _:
                self.infer_all(node)
        return None

    def infer_all(self, node: ast.AST | None) -> None:
        """Whatever stands below."""
        for child in ast.iter_child_nodes(node) if node is not None else ():
            if isinstance(child, ast.expr):
                self.infer(child)
            else:
                self.infer_all(child)

    def comprehension(self, loops: list[ast.comprehension], *parts: ast.expr) -> Type:
        inner = _Walk(self.found, dict(self.names))
        for loop in loops:
            inner.bind(loop.target, _item(inner.infer(loop.iter)))
            for condition in loop.ifs:
                inner.infer(condition)
        kinds = [inner.infer(part) for part in parts]
        return kinds[0]

    def attribute(self, node: ast.Attribute) -> Type:
        holder = self.infer(node.value)
        match holder:
            case Module() if _is_pyverbs(holder.name):
                self.found.ask(node, "name", holder.name, node.attr)
                return Real(holder.name, node.attr, is_class=True)
            case Module():
                return None
            case Real():
                self.found.ask(node, "get", holder.module, holder.name, node.attr)
                return RESULTS.get((holder.name, node.attr))
            case Own():
                return self.found.members[holder.name].get(node.attr)
        if node.attr not in _PLAIN:
            self.found.unclear.append(f"line {node.lineno}: what is it that has .{node.attr}?")
        return None

    def call(self, node: ast.Call) -> Type:
        given = [self.infer(each) for each in node.args]
        for keyword in node.keywords:
            self.infer(keyword.value)
        if isinstance(node.func, ast.Attribute):
            return self.method(node, node.func)
        kind = self.infer(node.func)
        if isinstance(node.func, ast.Name) and kind is None and hasattr(builtins, node.func.id):
            return _builtin(node.func.id, given)
        return self.made(node, kind)

    def method(self, node: ast.Call, func: ast.Attribute) -> Type:
        if isinstance(holder := _quiet(self, func.value), Real) and not holder.is_class:
            self.infer(func.value)
            self.ask_call(node, holder, func.attr)
            return RESULTS.get((holder.name, func.attr))
        return self.made(node, self.infer(func))

    def made(self, node: ast.Call, kind: Type) -> Type:
        """What calling this gives."""
        match kind:
            case Real(is_class=True):
                self.ask_call(node, kind, "__init__")
                return _instance(kind)
            case Own(is_class=True):
                return _instance(kind)
            case Function():
                return self.annotated(kind.node.returns)
        return None

    def ask_call(self, node: ast.Call, holder: Real, name: str) -> None:
        keywords = tuple(each.arg for each in node.keywords if each.arg is not None)
        if len(keywords) < len(node.keywords) or any(
            isinstance(each, ast.Starred) for each in node.args
        ):
            self.found.unclear.append(f"line {node.lineno}: spell out the arguments of {name}")
            return
        self.found.ask(node, "call", holder.module, holder.name, name, len(node.args), keywords)

    def annotated(self, node: ast.expr | None) -> Type:
        match node:
            case ast.Constant(value=str(text)):
                return self.annotated(ast.parse(text, mode="eval").body)
            case ast.Name():
                return _instance(self.names.get(node.id))
            case ast.Subscript(value=ast.Name(id="list"), slice=item):
                return ListOf(self.annotated(item))
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
                return TupleOf(tuple(self.annotated(item) for item in items))
        return None


def _quiet(walk: _Walk, node: ast.expr) -> Type:
    """The type alone: nothing is asked."""
    found = Usage(members=walk.found.members)
    return _Walk(found, walk.names).infer(node)


def _is_pyverbs(module: str) -> bool:
    return module.partition(".")[0] == "pyverbs"


def _instance(kind: Type) -> Type:
    match kind:
        case Real():
            return Real(kind.module, kind.name)
        case Own():
            return Own(kind.name)
    return None


def _item(kind: Type) -> Type:
    """What a loop over it gives."""
    match kind:
        case ListOf():
            return kind.item
        case TupleOf():
            return next(iter(kind.items), None)
    return None


def _part(kind: Type, index: int) -> Type:
    """What the name at this place of an unpacking gets."""
    if isinstance(kind, TupleOf):
        return kind.items[index] if index < len(kind.items) else None
    return _item(kind)


def _subscript(kind: Type, index: ast.expr) -> Type:
    if isinstance(index, ast.Slice):
        return kind
    if isinstance(index, ast.Constant) and isinstance(index.value, int):
        return _part(kind, index.value)
    return _item(kind)


def _builtin(name: str, given: list[Type]) -> Type:
    match name:
        case "list" | "sorted" | "reversed" | "tuple":
            return ListOf(_item(given[0])) if given else ListOf(None)
        case "zip":
            return ListOf(TupleOf(tuple(_item(each) for each in given)))
        case "enumerate":
            return ListOf(TupleOf((None, _item(given[0]))))
    return None


def lines_of(found: Usage) -> Iterator[tuple[int, Question]]:
    """Each question once, where it is first raised."""
    seen: set[Question] = set()
    for line, question in found.questions:
        if question not in seen:
            seen.add(question)
            yield line, question
