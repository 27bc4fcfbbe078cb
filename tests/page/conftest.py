"""The folder of the page, made once for all processes of a run."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdmalab import cli
from tests.each import ALL
from tests.page.lab_tab import INSTALLED, TABS, LabTab
from tests.page.serving import Site

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE, DOWNLOADS = "RDMALAB_SITE", "RDMALAB_SITE_DOWNLOADS"
"""A folder that `rdmalab site` has made, and one with its downloads: .ci/run names both."""


def missing_programs() -> list[str]:
    """The programs that make the page and that are not installed."""
    programs = ("node", "npm") if SITE not in os.environ else ()
    return [program for program in programs if shutil.which(program) is None]


def missing() -> str:
    """The programs that the tests of the page need and that are not installed; empty if none."""
    return ", ".join(
        missing_programs() + [name for name, is_there in INSTALLED.items() if not is_there]
    )


needs_a_browser = pytest.mark.skipif(
    bool(missing()), reason=f"{missing()} is not installed; .ci/run installs it"
)

in_each_browser = pytest.mark.parametrize("browser", list(TABS), scope="module")
in_chromium = pytest.mark.parametrize(
    "browser", list(TABS) if os.environ.get(ALL) else ["chromium"], scope="module"
)
"""Tests of what does not depend on the browser: RDMALAB_ALL=1 runs them in Firefox, too."""


def downloads() -> str:
    """Where packages are kept between runs."""
    usual = Path(tempfile.gettempdir()) / f"rdmalab-site-downloads-{os.getuid()}"
    return os.environ.get(DOWNLOADS, str(usual))


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `rdmalab site` makes; the first process that needs it makes it for all."""
    if made := os.environ.get(SITE):
        return Path(made)
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / "site"
    with (base / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "files.txt").exists():
            assert cli.main(["site", str(folder), "--downloads", downloads()]) == 0
    return folder


@pytest.fixture(scope="module")
def site(site_folder: Path) -> Iterator[Site]:
    """The folder, served."""
    with Site(site_folder) as served:
        yield served


@pytest.fixture(scope="module")
def shared_tab(
    browser: str, site: Site, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabTab]:
    """A tab for tests that begin with a new world."""
    tab = TABS[browser](tmp_path_factory.mktemp("profile"))
    try:
        tab.visit(site.address)
        yield tab
    finally:
        tab.close()
