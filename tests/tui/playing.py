"""Worlds for panes, without an application around them."""

from pathlib import Path

from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.tui.app_model import FIRST, AppModel
from rdmalab.tui.world_view import WorldView
from rdmalab.vocabulary import VOCABULARY

ROOT = Path(__file__).parents[2]


class Playing(AppModel):
    """A loaded scenario."""

    def __init__(self, walk: Runner) -> None:
        super().__init__()
        self._walk = walk

    @property
    def walk(self) -> Runner:
        return self._walk

    @property
    def session(self) -> Session:
        return self._walk.session


def playing(name: str) -> tuple[Playing, WorldView]:
    scenario = load(str(ROOT / f"scenarios/{name}.rdmalab.yaml"), VOCABULARY)
    model = Playing(Runner(scenario, open_session))
    return model, WorldView(model)


def first(*lines: str) -> tuple[Lab, WorldView]:
    """The world of the first screen, after some more lines."""
    lab = Lab()
    for line in (*FIRST, *lines):
        assert not lab.do(line)[-1].failed, line
    return lab, WorldView(AppModel(lab))
