"""Every row of every pane that shows an event, an object or a request reacts to a click."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from rdmalab.tui.pane import Pane
from rdmalab.tui.pane_table import PANES
from tests.classroom.labs import SEND, text_of
from tests.classroom.test_judging import NEXT
from tests.each import a_third
from tests.tui.stand import Stand, stand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from textual.geometry import Region

_ACTIONS = ("event", "explain", "open", "ask", "type_in", "say", "packet", "lessons")
_SHOWN = re.compile(
    r"\bev \d+|\b[AB]\.[a-z]+\d\w*|\bwr\d+\b|\b(?:mr|qp|cq|mw|srq|ah|ch|td)\d+\b"
    r"|\b[A-Z]{2,}_[A-Z_]{3,}\b"
    r"|\b(?:RESET|INIT|RTR|RTS|SQD|ERR|PSN|MSN|rkey|lkey|psn|path_mtu"
    r"|max_rd_atomic|retries|ack timeout|RNR)\b"
)
WORLD = (
    "alloc_mw A.mw0 pd=A.pd0 type=1",
    "create_comp_channel A.ch0",
    "create_srq B.srq0 pd=B.pd0 max_wr=4",
    "create_ah A.ah0 pd=A.pd0 ah=B",
    "program A.reader lines={\npoll A.cq0 status=SUCCESS wr_id=99\n}",
    "post_send A.qp0 opcode=RDMA_WRITE wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead "
    "flags=SIGNALED",
    "post_send A.qp0 opcode=RDMA_WRITE wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8] flags=SIGNALED",
    "run 4us",
    "why",
)


def _noting(it: Stand) -> list[str]:
    """A list that has the name of each action that is asked for."""
    asked: list[str] = []

    def note(action: str) -> Any:
        return lambda *_: asked.append(action)

    for action in _ACTIONS:
        setattr(it.app, f"action_{action}", note(action))
    vars(it.app)["say"] = note("say")
    vars(it.app)["type_in"] = note("type_in")
    return asked


def _places(grid: list[str], region: Region) -> Iterator[tuple[int, int, str]]:
    """Column, row and text of everything in a region that names something."""
    for y in range(region.y, region.bottom):
        row = grid[y][region.x : region.right]
        for found in _SHOWN.finditer(row):
            yield region.x + found.start() + 1, y, found[0]


LED = {"tour": ("why", "notes", "strip", "node-0"), "srq/example": ("node-1", "cq", "memory")}


@pytest.mark.parametrize(
    ("name", "lesson"),
    a_third(
        [
            *((row.name, "") for row in PANES if row.name != "strip"),
            *((name, lesson) for lesson, names in LED.items() for name in names),
        ]
    ),
)
async def test_what_a_row_names_reacts_to_a_click(name: str, lesson: str) -> None:
    size = (80, 24) if name == "strip" else (200, 60) if name == "apart" else (120, 60)
    async with stand(size) as it:
        await it.say(*{"": WORLD, "tour": ("tour",)}.get(lesson, (f"load {lesson}", "next")))
        if not isinstance(it.app.screen, type(it.app.main)):
            await it.press("escape")
        main = it.app.main
        if name in [row.name for row in PANES if row.tab]:
            main.bring(name)
        await it.until(lambda: bool(main.query(f"#{name}")))
        await it.pilot.pause(0.1)
        pane = main.query_one(f"#{name}")
        assert isinstance(pane, Pane)
        pane.read_if_seen()
        await it.pilot.pause(0.1)
        asked, deaf = _noting(it), []
        for x, y, text in [*_places(it.grid, pane.content_region)]:
            before = (len(asked), getattr(pane, "marked", None), getattr(pane, "part", None))
            await it.pilot.click(offset=(x, y))
            await it.pilot.pause()
            after = (len(asked), getattr(pane, "marked", None), getattr(pane, "part", None))
            if before == after and getattr(pane, "marked", None) is None:
                deaf.append(f"{text!r} in {it.grid[y][pane.region.x : pane.region.right]!r}")
        assert deaf == []


@pytest.mark.parametrize(("rules", "lines"), [("{doctor: 1}", []), ("{}", ["why A.qp0.wr[7]"])])
async def test_a_click_never_pays_for_why(tmp_path: Path, rules: str, lines: list[str]) -> None:
    """In a lab where why costs points a click only types the line."""
    lab = tmp_path / "own.lab.yaml"
    lab.write_text(text_of(NEXT.replace("needs: [fix], ", ""), f"rules: {rules}\n"), "utf-8")
    async with stand((120, 40)) as it:
        await it.say(f'load "{lab}" student=me', SEND)
        before = it.app.main.model.conversation.last_typed
        it.app.action_ask("A.qp0.wr[7]")
        await it.sees("why A.qp0.wr[7]")
        await it.settled()
        assert it.app.main.model.conversation.last_typed[len(before) :] == lines
