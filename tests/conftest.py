"""What every test run does: nobody's own things are touched, and bound tests say so."""

import gc
import os
import secrets
import signal
import tempfile
import traceback
from collections.abc import Generator, Iterator
from types import FrameType

import pytest
from hypothesis import settings

from rdmalab.guide.sentences import MOST_PER_ITEM
from tests.each import ALL, DRAWING, SEED, examples
from tests.logs import close_all

DRAWN = ("drawn", "cases")


def pytest_configure() -> None:
    """A new seed for drawn cases in each run; the workers of pytest-xdist inherit it.

    Processes that tests start can be interrupted, also where the run is a background job of a shell
    without job control, which ignores SIGINT.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault(SEED, str(secrets.randbelow(1 << 32)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The seed, if a test of a module ran that draws its cases."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    if any(DRAWN in getattr(report, "user_properties", ()) for report in reports):
        terminalreporter.write_line(f"{SEED}={os.environ[SEED]} draws the same cases again")


# A deadline would make every property a timed test, which fails on a busy machine. A usual run
# tries the same examples each time: no change fails by an example that nobody has tried before.
settings.register_profile(
    "rdmalab", deadline=None, max_examples=examples(100), derandomize=not os.environ.get(ALL)
)
settings.load_profile("rdmalab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bindings travel as properties of the test, so that each report of pytest has them."""
    for item in items:
        if isinstance(item, pytest.Function) and not DRAWING.isdisjoint(vars(item.module)):
            item.user_properties.append(DRAWN)
        bound = [number for mark in item.iter_markers("covers") for number in mark.args]
        if len(bound) > MOST_PER_ITEM:
            message = f"{item.nodeid} covers {len(bound)} statements, {MOST_PER_ITEM} at most"
            raise pytest.UsageError(message)
        item.user_properties += [("covers", number) for number in bound]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: the garbage collector need not visit it at all."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer() -> Generator[None, object, object]:
    """A test that is ended by its time limit prints where it was.

    The plugin raises an exception there; a task of asyncio that takes long keeps it to itself.
    """
    done = yield
    ended = signal.getsignal(signal.SIGALRM)

    def end(number: int, frame: FrameType | None) -> None:
        traceback.print_stack(frame)
        if callable(ended):
            ended(number, frame)

    signal.signal(signal.SIGALRM, end)
    return done


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
