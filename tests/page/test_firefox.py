"""The lab in Firefox: it starts, takes keys, keeps a session, opens links, asks no other host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: the extra test has it")

from tests.page.conftest import missing_programs
from tests.page.firefox import FIREFOX, Firefox
from tests.page.lab_tab import TEXT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.serving import Site

_MISSING = ", ".join([*missing_programs(), *([] if FIREFOX else ["firefox"])])
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(_MISSING), reason=f"{_MISSING} is not installed; .ci/run installs it"),
]
LOG = "document.querySelector('[aria-live=polite]').innerText"


def seen(text: str) -> str:
    return f"({TEXT.strip()}).includes({json.dumps(text)})"


async def test_a_line_is_answered_kept_and_continued(site: Site, tmp_path: Path) -> None:
    async with Firefox(tmp_path / "profile") as it:
        await it.open(site.address)
        await it.wait(seen("A>"))
        await it.type("alloc_pd A.pd7")
        await it.wait(seen("A.pd7 created"))
        assert "A> alloc_pd A.pd7" in await it.ask(LOG)  # the live region has it, too
        await it.open("about:blank")
        await it.open(site.address)
        await it.wait(seen("was interrupted: continue restores it"))
        await it.type("continue")
        await it.wait(seen("Continued: 1 line"))
        await it.type("show pd")
        await it.wait(f"{LOG}.includes('A.pd7 ')")
        await it.open("about:blank")
        await it.open(f"{site.address}#scenario=err/rnr-retry-exceeded")
        await it.wait(seen("A SEND meets an empty receive queue"))
        await it.type("share")
        await it.wait("(page.copied ?? '').includes('#rdmalab:2:')")
        assert it.errors == []
        own = (site.address, f"blob:{site.address}", "data:", "about:")
        assert [each for each in it.requests if not each.startswith(own)] == []


async def test_a_run_is_stopped(site_folder: Path, tmp_path: Path) -> None:
    from tests.page.serving import Site

    with Site(site_folder) as site:
        async with Firefox(tmp_path / "profile") as it:
            await it.open(site.address)
            await it.wait(seen("A>"))
            await it.type("post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
            await it.wait(seen("SQ 2/8"))
            await it.type("run 10000s")
            await it.wait(seen("running"))
            await it.ask("page.terminal.input('\\x03'); 1")
            await it.wait(seen("; stopped."))
            assert it.errors == []
