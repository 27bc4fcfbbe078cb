"""The lab in a frame on the page of a lesson: where it is, and what the page has to permit."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from rdmalab.book.catalogue import Chapter
from rdmalab.book.html import Markup, folded, tag

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
