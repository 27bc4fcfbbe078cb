"""An app outside the terminal of its process: its driver, its files, its next start."""

from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from rdmalab.recovery.recovered_sessions import offer
from rdmalab.recovery.user_paths import STATE
from rdmalab.tui.face import Face
from rdmalab.tui.launch import application, left
from tests.tui.stand import Stand


class OtherDriver(HeadlessDriver):
    """What a face brings."""


async def test_the_app_has_the_driver_and_the_ways_out_of_its_face(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copied: list[str] = []

    def copy(text: str) -> str:
        copied.append(text)
        return "a link is copied"

    face = Face(OtherDriver, copy, lambda file: f"downloaded: {file}")
    app = application(["use rc_pair"], is_kept=False, face=face)
    assert issubclass(app.driver_class, OtherDriver)
    async with app.run_test(size=(120, 40)) as pilot:
        it = Stand(app, pilot)
        await it.until(lambda: app.is_ready)
        await it.say("save mine", "share", "snapshot screen x.svg")
        await it.until(lambda: "downloaded: x.svg" in it.said)
        assert "downloaded: mine.rdmalab.yaml" in it.said
        assert "a link is copied" in it.said
        assert copied[0].startswith("rdmalab:")


async def test_a_process_can_run_the_app_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))
    for number in range(2):
        app = application((), is_kept=True)
        async with app.run_test(size=(120, 40)) as pilot:
            it = Stand(app, pilot)
            await it.until(lambda app=app: app.is_ready)  # type: ignore[misc]
            await it.say(f"alloc_pd A.pd{number + 5}")
            app.exit(0)
        assert left(app) == 0
    assert offer(tmp_path / "sessions") == ""
    assert len(list((tmp_path / "sessions").iterdir())) == 2
