"""The limits of a worker process, set in one."""

import sys

import pytest

from rdmalab.jobs.limits import Limits, limit_next_item

resource = pytest.importorskip("resource")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of a process")
def test_each_item_may_use_as_many_seconds_as_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soft: list[int] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: soft.append(pair[0]))
    for used in (0.2, 7.9):
        usage = type("Usage", (), {"ru_utime": used, "ru_stime": 0.5})
        monkeypatch.setattr(resource, "getrusage", lambda _, usage=usage: usage)
        limit_next_item(Limits(cpu_s=8))
    assert soft == [9, 17]
