"""A pool in its own process: requests and replies, and its end."""

import pytest

from rdmalab.jobs.cluster import Gone, JobRequest, ServedPool
from rdmalab.jobs.limits import Ending, Limits
from tests.jobs.items import work

LIMITS = Limits(cpu_s=5, events=9)


def test_several_requests_and_the_end() -> None:
    pool = ServedPool()
    for number in (3, 4):
        square, cut, broken = pool.outcomes(JobRequest(work, [number, "events", "wrong"], LIMITS))
        assert isinstance(square.value, tuple)
        assert square.value[0] == number * number
        assert (cut.ending, broken.ending) == (Ending.CUT, Ending.BROKEN)
    pool._process.kill()
    with pytest.raises(Gone, match="has ended"):
        pool.outcomes(JobRequest(work, [1], LIMITS))
    pool.end()
