"""The style sheet of the book: the colours of `guide/svg.py`, for day, night and paper."""

import pkgutil

from rdmalab.book.page import STYLE
from rdmalab.export import ladder_style
from rdmalab.guide import svg
from rdmalab.guide.svg import INKS


def sheet_of_style() -> str:
    """The whole file."""
    rules = (pkgutil.get_data(__package__, STYLE) or b"").decode()
    named = {name: f"var(--{name})" for name in INKS}
    drawings = ladder_style.style(named)
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
