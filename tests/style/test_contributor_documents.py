"""The pages for contributors name files, commands and workflow steps that exist."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = (".github/CONTRIBUTING.md", "rdmalab/ARCHITECTURE.md")
# `rdmalab/hca/qp.py`, `hca/qp.py`, `tests/bench`, `doctor/checks/`; NAME and NOUN stand for any
_PATH = re.compile(r"`((?:[a-z_]+/)+[a-zA-Z_]*(?:\.(?:py|toml|md|yaml))?)`")


@pytest.mark.parametrize("page", PAGES)
def test_each_path_in_a_page_exists(page: str) -> None:
    named = _PATH.findall((ROOT / page).read_text())
    places = [path for path in named if "NAME" not in path and "NOUN" not in path]
    missing = [p for p in places if not any((ROOT / base / p).exists() for base in ("", "rdmalab"))]
    assert len(places) > 20
    assert not missing, f"{page} names files that do not exist: correct the page"


def test_each_room_of_the_package_stands_on_a_floor() -> None:
    text = (ROOT / "rdmalab/ARCHITECTURE.md").read_text()
    floors = text.partition("```text")[2].partition("```")[0]
    rooms = [p.name for p in (ROOT / "rdmalab").iterdir() if (p / "__init__.py").exists()]
    assert rooms
    homeless = [room for room in rooms if f"{room}/" not in floors]
    assert not homeless, "write these rooms into The floors of rdmalab/ARCHITECTURE.md"


def test_the_workflow_runs_what_a_contributor_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert job["strategy"]["matrix"]["python"][0] == "3.11"


def test_pre_commit_downloads_nothing() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]
    assert all(hook["language"] == "system" for repo in hooks["repos"] for hook in repo["hooks"])
