"""Words that the program must not use: string literals, docstrings, guide data, notes and README.

A pattern is matched without regard to case. A text may use one only where `EXCEPTIONS` names the
file, a part of the text and the reason.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

_ROOT = Path(__file__).parents[2]

# The keys of scenarios and labs below which a person reads.
_PROSE = (
    "title", "about", "note", "ask", "announce", "text", "when_wrong", "else", "instructor",
)  # fmt: skip


class Banned(NamedTuple):
    """One construction. example: a sentence that has it; instead: what to write."""

    pattern: str
    example: str
    instead: str


class Found(NamedTuple):
    """A banned construction in a text of a file; line is 0 where the format has none."""

    file: str
    line: int
    text: str
    banned: Banned

    def __str__(self) -> str:
        match = re.search(self.banned.pattern, self.text, re.IGNORECASE)
        word = match.group() if match else ""
        return f"{self.file}:{self.line}: {word!r} in {self.text[:90]!r}. {self.banned.instead}"


BANNED = (
    Banned(r"\b(no|some)body\b", "the CQ wakes nobody", "Name the program, peer or user."),
    Banned(r"\bwho(m?ever|m)\b", "it goes to whoever waits", "Name the receiver."),
    Banned(r"\bfor good\b", "the queue fills for good", "Name the state that stays."),
    Banned(r"\banew\b", "the queue pair began anew", "Write again, or reset."),
    Banned(r"\bby (itself|themselves)\b", "nothing happens by itself", "Name the cause."),
    Banned(r"\bfor ?ever\b", "the QP waits for ever", "Write without limit, or never ends."),
    Banned(r"\bdeeds?\b", "the deed is in the log", "Write event, command or action."),
    Banned(r"\bdownfalls?\b", "the downfall of a QP", "Write first error."),
    Banned(r"\bstrays?\b", "a stray packet", "Say why the packet is not expected."),
    Banned(r"\bstrangers?\b", "a stranger sends", "Write another source QP."),
    Banned(r"\b(hears?|heard|deaf)\b", "the QP hears nothing", "Write receives, gets no reply."),
    Banned(r"\b(is|was|are) (not )?so\b", "the condition is not so", "Write is true, is false."),
    Banned(r"\bone too many\b", "INIT is one too many", "Write unexpected …, and what to type."),
    Banned(r"\bbehind\b", "poll behind it", "Write after, or name the place."),
    Banned(r"\bpatience\b", "the whole patience", "Write time until RETRY_EXC_ERR."),
    Banned(r"\bforg(ive|ave|et|ot)\w*", "the QP forgets it", "Write discards, clears, keeps."),
    Banned(r"\bsuffer\w*", "the packet suffers a fault", "Write a fault applies to it."),
    Banned(r"\b(woke|wakes)\b", "the CQ wakes it", "Write that the call returns, or notifies."),
    Banned(r"\bdies\b", "the QP dies", "Write enters ERR, is destroyed."),
    Banned(r"\bflies\b", "the packet flies till 3 us", "Write in flight, arrives at …."),
    Banned(r"\b(gave|gives?) up\b", "the requester gives up", "Write times out, stops."),
    Banned(r"\buntaken\b", "an untaken event", "Write pending, and the call that reads it."),
    Banned(r"\b(told|tells)\b", "the peer is told", "Write sent, shown, set, reported."),
    Banned(r"\bsaid\b", "as was said", "Write given, written, printed."),
    Banned(r"\bthe glass\b", "drawn on the glass", "Name the pane or the screen."),
    Banned(r"\bquirks?\b", "the quirks of a device", "Write device model, deviation."),
    Banned(r"\bto chance\b", "what is left to chance", "Write random."),
    Banned(r"\b(lie|lies|lying) there\b", "completions that lie there", "Write already in the CQ."),
    Banned(
        r"\b(sleepers|wooing|bearings|wishes|shelf|portraits?|sightings?|sufferings)\b",
        "two sleepers",
        "Write the word that an engineer would search for.",
    ),
    Banned(r"\bthe own\b", "the own first PSN", "Write the local …, its own …, A's …."),
    Banned(
        r"\bpost an? \w+ of (?-i:[A-Z])\b(?!\.\w)",
        "Post a SEND of A",
        "Write post a SEND on A.qp0.",
    ),
    Banned(r"\b(lie|lies) on\b", "its completion lies on a CQ", "Write is on, is in."),
    Banned(r"\bnoticed nothing\b", "B noticed nothing", "Write gets no notice, and what it sees."),
    Banned(r"\bone stock\b", "from one stock", "Write shared receive queue."),
    Banned(r"\bin this past\b", "no RNR NAK in this past", "Write on this branch."),
    Banned(r"\bmoves until time\b", "Nothing moves until time does", "Write that run moves time."),
    Banned(r"\bcomes of an?\b", "a completion comes of a request", "Write generates, causes."),
    Banned(r"\bis never the cause\b", "a flush is never the cause", "Name the effect's cause."),
    Banned(r"\bsays nothing of\b", "REM_OP_ERR says nothing of it", "Write what to look at."),
    Banned(r"\bopens only its\b", "an rkey opens only its bytes", "Write must match …."),
    Banned(r"\bthe way up\b", "RESET to RTS is the way up", "Write bring-up."),
    Banned(
        r";\s[^;.:(){}\n]+;\s[^;.:(){}\n]+",
        "it sends; it waits; it gets the reply",
        "Write sentences; at most one semicolon in each.",
    ),
)

# (file, part of the text, why it may stay)
EXCEPTIONS: tuple[tuple[str, str, str], ...] = (
    ("rdmalab/world/faults.py", "behind=", "the key of the reorder fault that is typed"),
    ("rdmalab/world/transit.py", "behind:", "the field that holds the key of the reorder fault"),
    ("rdmalab/verbs/qp.py", "; explain modify_qp; explain", "a list of references"),
    ("rdmalab/grammar/expressions.py", "deaf", "the name that older files have for rq_empty"),
    ("rdmalab/shell/script.py", "said", "a key of the published JSON document"),
    ("rdmalab/doctor/checks/mtu.py", "psn-mismatch-behind", "the slug of a cause"),
    ("rdmalab/workbench/faults.py", "behind", "the key `behind=` of fault reorder"),
)


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each string literal and docstring; `{}` for the values of an f-string."""
    tree = ast.parse(source)
    inner = {id(part) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for part in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            yield node.lineno, "".join(str(text) for text in texts)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
        ):
            yield node.lineno, node.value


def tree_texts(value: object, keys: tuple[str, ...] = ()) -> Iterator[str]:
    """Each string in a tree of lists and dictionaries; keys: only below these, all if empty."""
    if isinstance(value, str) and not keys:
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tree_texts(each, () if key in keys else keys)
    elif isinstance(value, list):
        for each in value:
            yield from tree_texts(each, keys)


def texts(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of a file by its format: Python, TOML, the notes of a scenario, Markdown."""
    if path.suffix == ".py":
        yield from python_texts(source)
    elif path.suffix == ".toml":
        yield from ((0, text) for text in tree_texts(tomllib.loads(source)))
    elif path.suffix == ".yaml":
        notes = tree_texts(yaml.safe_load(source), keys=_PROSE)
        yield from ((0, text) for text in notes)
    else:
        for number, line in enumerate(source.splitlines(), 1):
            table = line.startswith("|")  # a semicolon in a cell separates the items of a list
            yield number, line.replace(";", ",") if table else line


def banned_in(path: Path, source: str) -> list[Found]:
    """What is banned in the texts of one file."""
    return [
        Found(path.as_posix(), line, text, banned)
        for line, raw in texts(path, source)
        for text in [re.sub(r"\{[^{}]*\}", "{}", raw)]  # the lines of a program are not a sentence
        for banned in BANNED
        if re.search(banned.pattern, text, re.IGNORECASE)
    ]


def excepted(found: Found) -> bool:
    """Whether `EXCEPTIONS` has an entry for it."""
    return any(found.file == file and part in found.text for file, part, _ in EXCEPTIONS)


def files() -> list[Path]:
    """All files with texts that a person can read, relative to the repository."""
    pages = (
        "README.md",
        "rdmalab/ARCHITECTURE.md",
        ".github/CONTRIBUTING.md",
        ".github/CHANGELOG.md",
    )
    paths = [_ROOT / page for page in pages]
    for folder, pattern in (
        ("rdmalab", "*.py"),
        ("rdmalab/guide", "*.toml"),
        ("rdmalab/guide", "*.md"),
        ("scenarios", "*.yaml"),
    ):
        paths += sorted((_ROOT / folder).rglob(pattern))
    return [path.relative_to(_ROOT) for path in paths]


def test_no_text_uses_a_banned_word() -> None:
    found = [
        each
        for path in files()
        for each in banned_in(path, (_ROOT / path).read_text())
        if not excepted(each)
    ]
    assert not found, "\n".join(map(str, found))


def test_each_exception_is_needed() -> None:
    for file, part, reason in EXCEPTIONS:
        found = banned_in(Path(file), (_ROOT / file).read_text())
        assert reason
        assert any(part in each.text for each in found), (file, part)


@pytest.mark.parametrize("banned", BANNED, ids=lambda banned: banned.example)
def test_the_scanner_finds_each_banned_word_in_an_error_a_help_text_and_a_note(
    banned: Banned,
) -> None:
    error = f'raise Refused(Errno.EINVAL, f"{{name}}: {banned.example}")\n'
    help_text = f'def poll_cq() -> None:\n    """Poll a CQ.\n\n    {banned.example}.\n    """\n'
    note = f"steps:\n  - note: {banned.example}.\n"
    for name, source in (("error.py", error), ("help.py", help_text), ("a.yaml", note)):
        assert banned in [each.banned for each in banned_in(Path(name), source)], source


# The first words of a docstring that do not say what is returned, done or held.
VAGUE = r"(What|Who|Which|Why|Where|How|When|It|They|So|The same)\b"
_DOCUMENTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """(line, docstring, return type) of each module, class, function, constant and field."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            returns = getattr(node, "returns", None)
            for place, part in enumerate(node.body):
                match part:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        own = ast.unparse(returns) if returns is not None and not place else ""
                        yield part.lineno, text, own


def vague_docstrings(source: str) -> list[int]:
    """Lines of docstrings that begin with a word of `VAGUE`, or with Whether of what is no bool."""
    return [
        line
        for line, text, returned in docstrings(ast.parse(source))
        if re.match(VAGUE, text)
        or (re.match(r"Whether\b", text) and returned and not returned.startswith(_BOOLS))
    ]


_BOOLS = ("bool", "TypeIs", "TypeGuard")


def test_docstrings_begin_with_what_is_returned_or_done() -> None:
    found = [
        f"{path.relative_to(_ROOT)}:{line}"
        for path in sorted((_ROOT / "rdmalab").rglob("*.py"))
        for line in vague_docstrings(path.read_text())
    ]
    assert not found, f"name the thing, its unit, and the meaning of None: {' '.join(found)}"


def test_the_scanner_of_docstrings_reads_functions_fields_and_modules() -> None:
    source = 'def {}() -> {}:\n    """{} it is."""\n'
    assert vague_docstrings(source.format("a", "bool", "Whether")) == []
    assert vague_docstrings(source.format("a", "str", "Whether")) == [2]
    assert vague_docstrings(source.format("a", "bool", "What")) == [2]
    assert vague_docstrings(source.format("a", "str", "Where")) == [2]
    assert vague_docstrings(source.format("a", "str", "The place that")) == []
    assert vague_docstrings('"""Who sends."""\nX = 1\n"""What X is."""\n') == [1, 3]
    assert vague_docstrings('class A:\n    b: int\n    """The same of b."""\n') == [3]


def odd_test_names() -> list[str]:
    """Test functions whose names have a banned word."""
    return [
        f"{path.relative_to(_ROOT)}: {name}"
        for path in sorted((_ROOT / "tests").rglob("test_*.py"))
        for name in re.findall(r"\bdef (test_\w+)", path.read_text())
        if any(re.search(b.pattern, name.replace("_", " "), re.IGNORECASE) for b in BANNED)
    ]


def test_tests_are_named_after_what_they_test() -> None:
    """`pytest -k rnr` finds the tests of RNR: a name has the standard's term and no proverb."""
    assert not odd_test_names(), "rename: the term of the standard, and what must hold"


# Names that no variable, parameter, attribute, function or class of the package has.
BANNED_NAMES = {
    "talk": "conversation", "voice": "output", "diary": "log", "scene": "model", "stage": "view",
    "wish": "choice", "said": "text, words, or the thing", "told": "text, or the thing",
    "hinders": "blocking", "untouched": "undone", "otherwise": "what it does",
}  # fmt: skip
# (file, name, why it may stay)
NAMES_KEPT = (
    ("rdmalab/cli/schemas.py", "said", "a key of the published JSON document"),
    ("rdmalab/classroom", "otherwise", "the field for the key `else` of a task"),
    ("rdmalab/shell/lab_text.py", "otherwise", "the field for the key `else` of a task"),
    ("rdmalab/compat/pyverbs/device_attr.py", "otherwise", "the value without a text"),
)


def banned_names(source: str) -> list[tuple[int, str]]:
    """(line, name) of each variable, parameter, attribute, function or class that is banned."""
    found = list[tuple[int, str]]()
    for node in ast.walk(ast.parse(source)):
        for part in ("id", "arg", "attr", "name"):
            name = getattr(node, part, None)
            if isinstance(name, str) and name.strip("_") in BANNED_NAMES:
                found.append((getattr(node, "lineno", 0), name))
    return found


def test_no_name_of_the_package_is_banned() -> None:
    found = [
        f"{file}:{line}: {name}. Write {BANNED_NAMES[name.strip('_')]}."
        for path in sorted((_ROOT / "rdmalab").rglob("*.py"))
        for file in [path.relative_to(_ROOT).as_posix()]
        for line, name in banned_names(path.read_text())
        if not any(file.startswith(kept) and name == word for kept, word, _ in NAMES_KEPT)
    ]
    assert not found, "\n".join(found)


def test_the_scanner_finds_a_variable_a_parameter_an_attribute_and_a_function() -> None:
    source = "def told(talk, *, voice=1):\n    it.diary = [said for said in talk]\n"
    names = {name for _, name in banned_names(source)}
    assert names == {"told", "talk", "voice", "diary", "said"}
