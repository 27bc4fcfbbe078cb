"""Panes alone: a small App with the themes of ours, which writes down what clicks ask for."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from textual.app import App

from rdmalab.tui import themes
from rdmalab.tui.pane import Pane
from tests.tui.playing import first, playing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from textual.app import ComposeResult
    from textual.pilot import Pilot

    from rdmalab.tui.world_view import WorldView

_WRITE = "post_send A.qp0 opcode=RDMA_WRITE flags=SIGNALED"
BAD_RKEY = (
    f"{_WRITE} wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead",
    f"{_WRITE} wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8]",
    "run",
)
SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED"
RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]"
MOMENTS: dict[str, tuple[str, ...]] = {
    "first": (),
    "wrong rkey": BAD_RKEY,
    "rnr": (SEND, "until A.qp0.rnr_timer.armed"),
    "lost": (RECV, "fault drop A->B nth=1", SEND, "step 1"),
    "dead": (
        "use rc_pair timeout=0", "post_recv B.qp1 sg=B.mr1[0:64]", "fault drop A->B nth=1",
        "post_send A.qp1 wr_id=4 opcode=SEND sg=A.mr1[0:64] flags=SIGNALED", "run",
    ),
    "sqd": ("modify_qp A.qp0 state=SQD", SEND),
    "five": (*["use rc_pair"] * 4, "modify_qp A.qp2 state=ERR", *BAD_RKEY),
    "forty": (
        *["use rc_pair"] * 39, "modify_qp A.qp16 state=ERR",
        *(line.replace("qp0", "qp17").replace("A.mr0", "A.mr17") for line in BAD_RKEY),
    ),
    "flushed": ("post_recv B.qp0 wr_id=7 sg=B.mr0[0:8]", "modify_qp B.qp0 state=ERR"),
    "init": (
        "create_qp A.qp9 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4",
        "modify_qp A.qp9 state=INIT pkey_index=0 port_num=1 qp_access_flags=LOCAL_WRITE",
    ),
    "destroyed": (*BAD_RKEY, "destroy_qp A.qp0"),
}  # fmt: skip
LESSONS = {"srq": "srq/example", "ud": "ud/example", "xrc": "xrc/sends"}
_WORLDS: dict[str, WorldView] = {}


def at(moment: str) -> WorldView:
    """The world of a moment; one that nothing changes."""
    if moment not in _WORLDS:
        if moment in LESSONS:
            model, view = playing(LESSONS[moment])
            model.walk.run()
        else:
            _, view = first(*MOMENTS[moment])
        _WORLDS[moment] = view
    return _WORLDS[moment]


class Alone(App[None]):
    """Panes in one row; `asked` has what was clicked."""

    CSS = """Screen { layout: horizontal }
    Screen > * { width: 1fr; height: 1fr; padding: 0 1; border-top: solid $dim; }"""

    def __init__(self, make: Callable[[], Iterator[Pane]]) -> None:
        super().__init__()
        self.make = make
        self.asked: list[tuple[str, object]] = []
        for theme in themes.own_themes():
            self.register_theme(theme)
        self.theme = themes.PREFIX + "dark"

    def compose(self) -> ComposeResult:
        yield from self.make()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.tones_of(self.current_theme)

    def _note(self, action: str) -> Callable[[Any], None]:
        return lambda about: self.asked.append((action, about))

    def __getattr__(self, name: str) -> Any:
        if name in ("action_ask", "action_explain", "action_event", "action_open", "say"):
            return self._note(name.removeprefix("action_"))
        if name == "action_type_in":
            return self._note("type_in")
        raise AttributeError(name)


class Seen:
    """What is on the screen of a small App."""

    def __init__(self, app: Alone, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def rows(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(part.text for part in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    async def read_rows(self) -> None:
        for pane in self.app.query("*"):  # a pane that is a table has the type of the table
            if isinstance(pane, Pane):
                pane.read_if_seen()
        await self.pilot.pause()

    async def click(self, word: str, nth: int = 0) -> list[tuple[str, object]]:
        """Click on the nth place of a word; what was asked since."""
        self.app.asked.clear()
        found = [(row.index(word), y) for y, row in enumerate(self.rows) if word in row]
        assert len(found) > nth, self.text
        await self.pilot.click(offset=(found[nth][0] + 1, found[nth][1]))
        await self.pilot.pause()
        return self.app.asked


@asynccontextmanager
async def alone(make: Callable[[], Iterator[Pane]], size: tuple[int, int]) -> AsyncIterator[Seen]:
    app = Alone(make)
    async with app.run_test(size=size) as pilot:
        seen = Seen(app, pilot)
        await seen.read_rows()
        yield seen
