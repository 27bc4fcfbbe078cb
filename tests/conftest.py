"""What every test run does: nobody's own things are touched, and bound tests say so."""

import gc
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from rdmalab.guide.sentences import MOST_PER_ITEM
from tests.diaries import close_all
from tests.each import SEED


def pytest_configure() -> None:
    """A new seed for tests.hostile in each run; the workers of pytest-xdist inherit it.

    Processes that tests start can be interrupted, also where the run is a background job of a shell
    without job control, which ignores SIGINT.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault(SEED, str(secrets.randbelow(1 << 32)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"tests/hostile: {SEED}={os.environ[SEED]} repeats its inputs")


# A deadline would make every property a timed test, which fails on a busy machine.
settings.register_profile("rdmalab", deadline=None)
settings.load_profile("rdmalab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bindings travel as properties of the test, so that each report of pytest has them."""
    for item in items:
        bound = [number for mark in item.iter_markers("covers") for number in mark.args]
        if len(bound) > MOST_PER_ITEM:
            message = f"{item.nodeid} covers {len(bound)} statements, {MOST_PER_ITEM} at most"
            raise pytest.UsageError(message)
        item.user_properties += [("covers", number) for number in bound]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected stays: the garbage collector need not visit it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _state_of_nobody() -> Iterator[None]:
    """Histories and diaries go where the run ends; processes that tests start inherit it."""
    with tempfile.TemporaryDirectory(prefix="rdmalab-state-") as folder:
        os.environ["RDMALAB_STATE"] = folder
        yield
        del os.environ["RDMALAB_STATE"]


@pytest.fixture(autouse=True)
def _closed_diaries() -> Iterator[None]:
    yield
    close_all()
