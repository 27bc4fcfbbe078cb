"""Counts of the source that have a bound: `python -m tests.style.counts` prints them by room."""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LONG = 300
"""Lines above which a file is named with its idea: two ideas are two files."""
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rdmalab"
_BLANK = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# The positions of a record, and who may use them: the module that owns them, the one that writes
# and stores records.
_POSITIONS = {"A", "B", "EVENT", "AT_NS", "CAUSE", "KIND", "NODE", "OBJECT"}
_MAY_INDEX = ("spec/records.py", "world/trace.py")
# Called by a framework, not by other modules: Textual's handlers, a lexer's, pyverbs' own classes.
_HOOKS = ("on_", "action_", "watch_", "compose", "render", "get_")
_FOREIGN = ("compat/pyverbs/",)


@dataclass(slots=True)
class File:
    """What was counted in one file, its path relative to the package. idea: its first sentence."""

    path: str
    lines: int
    any: int
    idea: str
    indexed: list[int] = field(default_factory=list)
    public: int = 0
    undocumented: list[str] = field(default_factory=list)
    classes: dict[str, int] = field(default_factory=dict)

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def _code_lines(path: Path) -> int:
    source = path.read_text()
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(ast.parse(source)))


def _indexed(tree: ast.Module) -> Iterator[int]:
    """Lines where a record is subscripted by a position."""
    return (n.lineno for n in ast.walk(tree) if isinstance(n, ast.Subscript) and _is_position(n))


def _is_position(node: ast.Subscript) -> bool:
    """Whether it reads `record[A]`, `r[Field.KIND]`, `record[3]`."""
    match node.slice:
        case ast.Name(id=name):
            return name in _POSITIONS
        case ast.Attribute(value=ast.Name(id="Field")):
            return True
        case ast.Constant(value=int()):
            return isinstance(node.value, ast.Name) and node.value.id in {"record", "rec"}
    return False


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Public functions and classes of a module, and the public methods of the latter."""
    for node in tree.body:
        if isinstance(node, _DEFINITIONS) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                for part in node.body:
                    if isinstance(part, _FUNCTIONS) and not part.name.startswith("_"):
                        yield f"{node.name}.{part.name}", part


def _is_accessor(node: ast.AST) -> bool:
    """A property, or an overload: its name and type say all, or another definition does."""
    decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
    return any(d.endswith(("property", "overload", ".setter")) for d in decorators)


def _public_methods(node: ast.ClassDef) -> int:
    return sum(
        isinstance(part, _FUNCTIONS)
        and not part.name.startswith(("_", *_HOOKS))
        and not _is_accessor(part)
        for part in node.body
    )


def read(path: Path) -> File:
    """One source file, counted."""
    source = path.read_text()
    tree = ast.parse(source)
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    name = path.relative_to(PACKAGE).as_posix()
    idea = (ast.get_docstring(tree) or "").partition("\n")[0]
    counted = File(name, source.count("\n"), names.count("Any"), idea)
    if not name.startswith(_MAY_INDEX):
        counted.indexed = list(_indexed(tree))
    for called, node in _definitions(tree):
        if not _is_accessor(node):
            counted.public += 1
            if ast.get_docstring(node) is None:  # type: ignore[arg-type]
                counted.undocumented.append(called)
        if isinstance(node, ast.ClassDef) and not name.startswith(_FOREIGN):
            counted.classes[called] = _public_methods(node)
    return counted


def files() -> list[File]:
    """All source files of the package."""
    return [read(path) for path in sorted(PACKAGE.rglob("*.py"))]


def main() -> int:
    """Print the counts by room, then everything that is over a bound."""
    counted = files()
    code, anys, public, bare = (Counter[str]() for _ in range(4))
    for file in counted:
        code[file.room] += _code_lines(PACKAGE / file.path)
        anys[file.room] += file.any
        public[file.room] += file.public
        bare[file.room] += len(file.undocumented)
    sys.stdout.write(f"{'room':14}{'code lines':>12}{'Any':>6}{'public':>8}{'documented':>12}\n")
    for room, lines in code.most_common():
        share = 100 * (1 - bare[room] / public[room]) if public[room] else 100
        row = f"{room:14}{lines:12,}{anys[room]:6}{public[room]:8,}{share:11.1f}%\n"
        sys.stdout.write(row)
    share = 100 * (1 - bare.total() / public.total())
    total = f"{code.total():12,}{anys.total():6}{public.total():8,}{share:11.1f}%"
    sys.stdout.write(f"{'all':14}{total}\n")
    for file in counted:
        if file.lines > LONG:
            sys.stdout.write(f"over {LONG} lines: {file.path} {file.lines}: {file.idea}\n")
        for line in file.indexed:
            sys.stdout.write(f"record indexed: {file.path}:{line}\n")
        for name, methods in file.classes.items():
            if methods > 12:
                sys.stdout.write(f"over 12 public methods: {file.path} {name} {methods}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
