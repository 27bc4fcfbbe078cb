"""The colours of the book: legible by day and by night."""

import re

from rdmalab.book.page import sheet_of_style
from rdmalab.guide.svg import INKS

LEAST = 4.5  # WCAG 2, AA, for text


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_ink_is_legible_on_both_papers() -> None:
    for name, ink in INKS.items():
        if name not in ("paper", "panel"):
            for paper in (INKS["paper"], INKS["panel"]):
                assert contrast(ink.day, paper.day) >= LEAST, name
                assert contrast(ink.night, paper.night) >= LEAST, name


def test_the_sheet_names_colours_and_has_no_other_file() -> None:
    text = sheet_of_style()
    assert not re.search(r"url\(|@import|https?:|\$[a-z]", text)
    used = set(re.findall(r"var\(--([a-z]+)\)", text)) - {"sans", "mono", "rule"}
    assert used <= INKS.keys()
    assert {"paper", "ink", "quiet", "step", "err"} <= used
