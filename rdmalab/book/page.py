"""A finished page, and what surrounds its text: head, navigation, search, foot."""

import pkgutil
import re
from dataclasses import field
from urllib.parse import quote

from rdmalab.book.catalogue import Chapter
from rdmalab.book.html import Markup, folded, joined, tag, trusted
from rdmalab.export import ladder_svg
from rdmalab.guide import svg
from rdmalab.guide.svg import INKS
from rdmalab.spec.row import dataclass
from rdmalab.version import VERSION

_ELSEWHERE = re.compile(r"(https?://[\w.-]+(?::\d+)?)/(?:[\w.~/-]*/)?")
_BESIDE = re.compile(r"(?:\.\./|[\w.~-]+/)+")


@dataclass(frozen=True, slots=True)
class LabSite:
    """The folder of `rdmalab site`. address: with a slash at its end, a relative one from the top
    of the book. Raises ValueError for one that no page can name.
    """

    address: str

    def __post_init__(self) -> None:
        if not _ELSEWHERE.fullmatch(self.address) and not _BESIDE.fullmatch(self.address):
            raise ValueError(f"{self.address}: write https://HOST/FOLDER/, or ../ for the folder "
                             "around the book")  # fmt: skip

    @property
    def policy(self) -> str:
        """The directive of a page's Content-Security-Policy that permits the frame."""
        found = _ELSEWHERE.fullmatch(self.address)
        return "frame-src " + (found[1] if found else "'self' file:")

    def markup(self, chapter: Chapter, root: str) -> Markup:
        """A part that shows the lab when it is opened. root: from the page to the top of the book.

        A script makes the frame then: not every reader of a page wants ten megabytes.
        """
        root = "" if _ELSEWHERE.fullmatch(self.address) else root
        kind = "lab" if chapter.is_lab else "scenario"
        address = f"{root}{self.address}#{kind}={quote(chapter.name)}"
        link = tag("a", "Open it on a page of its own", href=address, target="_blank",
                   rel="noopener")  # fmt: skip
        return folded("Try it here", tag("p", link, "."), class_="try")


def sheet_of_style() -> str:
    """The whole file."""
    rules = (pkgutil.get_data(__package__, STYLE) or b"").decode()
    named = {name: f"var(--{name})" for name in INKS}
    drawings = ladder_svg.style(named)
    machine = "\n".join(f".machine {rule}" for rule in svg.rules(named))
    return f"{_colours()}{rules}\n{drawings}\n{machine}\n"


def _colours() -> str:
    day = _block(night=False)
    night = _block(night=True)
    return (
        f":root {{ color-scheme: light dark; {day} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {night} }} }}\n"
    )


def _block(*, night: bool) -> str:
    """`--ink: #1f2328;` for each colour."""
    return " ".join(f"--{name}: {ink.night if night else ink.day};" for name, ink in INKS.items())


STYLE, SCRIPT, INDEX = "book.css", "book.js", "search.js"
HOME, GUIDE_HOME, STATEMENTS = "index.html", "guide/index.html", "statements.html"
MANUAL_HOME = "manual/index.html"
SHEETS = "sheets"

_NAVIGATION = (
    (HOME, "Lessons"), (GUIDE_HOME, "Guide"), (MANUAL_HOME, "Manual"), (STATEMENTS, "Statements"),
)  # fmt: skip
_LABS = (f"{HOME}#labs", "Labs")
_POLICY = "; ".join((
    "default-src 'none'", "img-src data:", "style-src 'self' file:", "script-src 'self' file:",
    "base-uri 'none'", "form-action 'none'",
))  # fmt: skip
"""No page of the book may load anything but the two scripts and the style sheet beside it, the icon
that it has in its head, and the frame of a lesson that shows the lab."""

_DOCTYPE = "<!doctype html>\n"


@dataclass(frozen=True, slots=True)
class Found:
    """An entry of the search: address, title, kind, and the words that find it."""

    address: str
    title: str
    kind: str
    text: str


@dataclass(slots=True)
class Page:
    """A page of the book. path: from the top of the book. main: its text.

    found: what the search finds in it. policy: what it may load beside the book's own files.
    """

    path: str
    title: str
    main: Markup
    found: list[Found] = field(default_factory=list)
    css: str = ""
    policy: str = ""


def head_of(title: str, policy: str, *parts: Markup) -> Markup:
    """The head of a page. policy: its Content-Security-Policy. parts: style and scripts."""
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),  # without it, Firefox asks for /favicon.ico
        tag("title", f"{title} · rdmalab"),
        *parts,
    )


def root_of(path: str) -> str:
    """From a page to the top of the book: `../../`."""
    return "../" * path.count("/")


def written(page: Page, *, has_labs: bool) -> str:
    """The whole file. has_labs: whether the book has labs to link to."""
    root = root_of(page.path)
    style = tag("link", rel="stylesheet", href=f"{root}{STYLE}")
    policy = "; ".join(filter(None, (_POLICY, page.policy)))
    head = head_of(page.title, policy, style, tag("script", src=f"{root}{SCRIPT}", defer=True))
    body = tag(
        "body",
        tag("a", "Skip to the text", class_="skip", href="#text"),
        _header(page, root, has_labs=has_labs),
        tag("main", page.main, id="text"),
        tag("footer", tag("p", f"Made by rdmalab {VERSION}. All times are virtual.")),
        class_=page.css or None,
        data_root=root or "./",
    )
    return f"{_DOCTYPE}{tag('html', head, trusted(chr(10)), body, lang='en')}\n"


def _header(page: Page, root: str, *, has_labs: bool) -> Markup:
    links = [_NAVIGATION[0], *([_LABS] if has_labs else []), *_NAVIGATION[1:]]
    named = [
        tag("a", text, href=f"{root}{where}", aria_current="page" if where == page.path else None)
        for where, text in links
    ]
    search = tag(
        "form",
        tag("label", "Search", for_="q"),
        tag("input", id="q", name="q", type="search", autocomplete="off", spellcheck="false",
            placeholder="Search: rnr, post_send, S116 …", aria_controls="hits"),
        role="search",
    )  # fmt: skip
    return tag(
        "header",
        tag("a", "rdmalab", class_="brand", href=f"{root}{HOME}"),
        tag("nav", joined(named), aria_label="Parts"),
        search,
        tag("div", tag("p", "", id="count", role="status"), tag("ol", "", id="hits"),
            id="results", hidden=True),
    )  # fmt: skip


def trail(chapter: Chapter, root: str, home: str) -> Markup:
    """The place of a page: the index, and the folder."""
    where = "labs" if chapter.is_lab else f"folder-{chapter.folder}"
    up = tag("a", home, href=f"{root}{HOME}")
    folder = tag("a", chapter.folder, href=f"{root}{HOME}#{where}")
    return tag("p", joined([up, folder], " › "), class_="trail")


def neighbours(before: tuple[str, str] | None, after: tuple[str, str] | None) -> Markup:
    """Links to the pages before and after, each an address and a title."""
    parts = []
    for found, rel, text in ((before, "prev", "← Previous"), (after, "next", "Next →")):
        if found is not None:
            parts.append(tag("a", tag("small", text), tag("span", found[1]), href=found[0],
                             rel=rel, class_=rel))  # fmt: skip
    return tag("nav", joined(parts), class_="neighbours", aria_label="Before and after")
