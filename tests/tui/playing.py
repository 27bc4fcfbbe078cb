"""Panes with a world behind them and no application around them."""

from dataclasses import dataclass
from pathlib import Path

from rdmalab.classroom.lab_session import LabSession
from rdmalab.doctor.report import Report
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.tui import layout
from rdmalab.tui.app_model import FIRST
from rdmalab.tui.pane import Appearance, Pane
from rdmalab.tui.pane_table import made_panes
from rdmalab.tui.stylesheet import sheet
from rdmalab.tui.world_view import SceneLike, WorldView
from rdmalab.vocabulary import VOCABULARY

ROOT = Path(__file__).parents[2]


@dataclass
class Playing:
    """A scenario on stage."""

    walk: Runner
    exercise: LabSession | None = None
    diagnosis: Report | None = None
    busy: bool = False

    @property
    def session(self) -> Session:
        return self.walk.session


@dataclass
class Free:
    """A world on stage, without a scenario."""

    lab: Lab
    walk: Runner | None = None
    exercise: LabSession | None = None
    diagnosis: Report | None = None
    busy: bool = False

    @property
    def session(self) -> Session:
        return self.lab.session


def playing(name: str) -> tuple[Playing, dict[str, Pane]]:
    scenario = load(str(ROOT / f"scenarios/{name}.rdmalab.yaml"), VOCABULARY)
    scene = Playing(Runner(scenario, open_session))
    return scene, panes_of(scene)


def first(*lines: str) -> tuple[Lab, dict[str, Pane]]:
    """The world of the first screen, and what was said then."""
    lab = Lab()
    for line in (*FIRST, *lines):
        assert not lab.do(line)[-1].failed, line
    return lab, panes_of(Free(lab))


def panes_of(scene: SceneLike, columns: int = 200, rows: int = 40) -> dict[str, Pane]:
    stage = WorldView(scene)
    look = Appearance(sheet(colour=True), colour=True, ascii_only=False)
    panes = made_panes(stage, look)
    for name, pane in panes.items():
        pane.place = layout.PanePlace(name, 0, 0, columns, rows)
    return panes
