"""Carries out the commands copy, snapshot, zoom and pane on panes, clipboard and files."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from rdmalab import disk
from rdmalab.recovery.user_paths import state_path
from rdmalab.shell import show_wire
from rdmalab.shell.styled_text import plain, text_of
from rdmalab.tui.pane import Pane
from rdmalab.tui.pane_table import TABS, made
from rdmalab.tui.screens.presenter import Presenter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdmalab.tui.app import Rdmalab
    from rdmalab.workbench.screen_words import ScreenRequest

COPIED = "copied.txt"
_CONVERT_S = 30.0
# Programs that make a PNG of an SVG: {0} is the SVG, {1} the PNG.
_CONVERTERS = (
    ("rsvg-convert", "-o", "{1}", "{0}"),
    ("inkscape", "--export-filename={1}", "{0}"),
    ("magick", "{0}", "{1}"),
)
_DRAWN_WIDTH = 100  # columns of a ladder as text
_DRAWN_S = 0.2  # until an enlarged pane is drawn
_NODES = {"left": "node-0", "right": "node-1"}


def carried_out(app: Rdmalab, request: ScreenRequest) -> str:
    """Text that is printed about a request after it was started."""
    what = _NODES.get(request.what, request.what)
    if request.word == "copy":
        return app.deliver(text(app, what))
    if request.word == "snapshot":
        app.run_worker(_snapshot(app, what, request.file), name="snapshot")
    elif request.word == "lessons":
        app.action_lessons()
    elif request.word == "present":
        app.push_screen(Presenter())
    elif request.word == "zoom":
        app.run_worker(_enlarged(app, what), name="zoom")
    elif what in TABS:
        app.main.bring(
            what, focus=True
        )  # a line that is typed then goes to the prompt all the same
    else:
        app.main.query_one(f"#{what}").focus()
    return ""


def text(app: Rdmalab, what: str) -> str:
    """The screen, the ladder, the last answer or a pane as text."""
    main = app.main
    if what == "ladder":
        world, names = main.model.session.world, main.model.session.names
        return show_wire.drawing(world, names, _DRAWN_WIDTH)
    if what == "answer":
        return "\n".join(map(text_of, main.answer))
    if what == "screen":
        strips = app.screen._compositor.render_strips()  # noqa: SLF001 (nothing public has the cells)
        return "\n".join(strip.text.rstrip() for strip in strips)
    pane = next(iter(main.query(f"#{what}").results(Pane)), None) or made(what, main.view)
    return pane.text()


async def _enlarged(app: Rdmalab, what: str) -> None:
    """Show the prompt or a pane alone; a pane is made if it is not there yet."""
    if what in TABS:
        app.main.bring(what)
        while not app.main.query(f"#{what}"):
            await asyncio.sleep(0)
    widget = app.main.query_one(f"#{what}")
    widget.focus()
    app.main.maximize(widget)


async def _snapshot(app: Rdmalab, what: str, file: str) -> None:
    """Write the file in a thread, because a PNG takes another program's time."""
    drawn = what not in ("screen", "ladder", "answer")
    if drawn:
        await _enlarged(app, what)
        await asyncio.sleep(_DRAWN_S)
    svg = app.main.model.lab.ladder().svg if what == "ladder" else _picture(app)
    words = text(app, what)
    if drawn:
        app.action_leave()
    default = f"rdmalab-{what}-ev{max(0, app.main.model.session.world.event)}"
    hand_out = app.face.hand_out
    message = await asyncio.to_thread(written, file, default, words, svg, hand_out)
    app.prompt.write(plain(message, "class:dim"))


def _picture(app: Rdmalab) -> str:
    """The screen as SVG; Fira Code, which Rich asks for, would join the letters of 0x11 or ->."""
    rule = ".rich-terminal text { font-variant-ligatures: none }"
    return app.export_screenshot().replace("<style>", f"<style>\n    {rule}", 1)


def copied(text: str, send: Callable[[str], None]) -> str:
    """Send a text to the terminal, and write it to a file; returns where it is."""
    send(text)
    count = text.count("\n") + 1
    lines = f"copied {count} line{'s' if count > 1 else ''}: sent to the terminal (OSC 52)"
    try:
        path = state_path() / COPIED
        disk.write(str(path), text.encode(), lambda _octets: True)
    except OSError as wrong:
        return f"{lines}; no file: {wrong.strerror or wrong}"
    return f"{lines}, and in {path}"


def written(
    name: str, default: str, text: str, svg: str, hand_out: Callable[[str], str] | None = None
) -> str:
    """Write a picture (svg, png) or text (txt); returns what was written.

    name: empty: `default`.svg in the current directory. hand_out: gives the file to the user, as
    SVG, because where it is needed there is no other program.
    """
    path = Path(name or f"{default}.svg").expanduser()
    is_picture = path.suffix in (".svg", ".png")
    source = path.with_suffix(".svg") if is_picture else path
    octets = (svg if is_picture else text).encode()
    try:
        disk.write(str(source), octets, _is_picture if is_picture else lambda _octets: False)
    except disk.FileExistsAsOther:
        return f"{source} exists; choose another name"
    except OSError as wrong:
        return f"{source} cannot be written: {wrong.strerror or wrong}"
    if hand_out is not None:
        return hand_out(str(source))
    if path.suffix != ".png":
        return f"written to {source.resolve()}"
    return _converted(source.resolve(), path.resolve())


def _is_picture(octets: bytes) -> bool:
    return b"<svg" in octets[:200]


def _converted(svg: Path, png: Path) -> str:
    for program, *words in _CONVERTERS:
        if (found := shutil.which(program)) is None:
            continue
        command = [found, *(word.format(svg, png) for word in words)]
        done = subprocess.run(command, capture_output=True, timeout=_CONVERT_S, check=False)
        if done.returncode == 0 and png.exists():
            return f"written to {png}"
    names = ", ".join(program for program, *_ in _CONVERTERS)
    return f"written to {svg}; a PNG needs one of {names}"
