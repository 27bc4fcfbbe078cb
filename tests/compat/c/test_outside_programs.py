"""Programs of rdma-core and perftest, as they come from the distribution, run on the lab."""

import pytest

from tests.compat.c.running import both, execute, free_port
from tests.each import a_tenth, a_third
from tests.tools import needs

PINGPONGS = [
    "ibv_rc_pingpong", "ibv_rc_pingpong -c", "ibv_rc_pingpong -e", "ibv_rc_pingpong -c -e",
    "ibv_rc_pingpong -t", "ibv_rc_pingpong -N", "ibv_rc_pingpong -c -s 1048576 -m 4096 -n 5",
    "ibv_uc_pingpong -c", "ibv_ud_pingpong -c", "ibv_srq_pingpong -c", "ibv_srq_pingpong -e",
    "ibv_xsrq_pingpong",
]  # fmt: skip
"""-c: the contents are compared."""
PERFTEST = [
    "ib_send_lat", "ib_send_bw", "ib_send_bw -e", "ib_write_lat", "ib_write_bw -b", "ib_read_lat",
    "ib_read_bw", "ib_atomic_lat", "ib_atomic_bw", "ib_send_lat -c UD", "ib_send_bw -c UC",
    "ib_send_bw -r 32 --use-srq -q 4", "ib_send_bw -c XRC", "ib_send_bw -R", "ib_write_lat -R",
]  # fmt: skip
CONNECTED = [
    "rping -s -C 3 -v -a 10.0.0.1 : rping -c -C 3 -v -a 10.0.0.1",
    "ucmatose : ucmatose -s 10.0.0.1",
    "udaddy : udaddy -s 10.0.0.1",
    "rdma_server : rdma_client -s 10.0.0.1",
    "mckey -m 239.1.1.1 -b 10.0.0.1 -C 3 : mckey -m 239.1.1.1 -b 10.0.0.2 -s -C 3",
]


def ends_well(*words: str) -> str:
    """Run programs that have no mistake; returns what they print."""
    ended = execute(*words)
    assert ended.code == 0, ended.err + ended.out
    assert "rdmalab:" not in ended.err, ended.err
    return ended.out


@needs("ibv_rc_pingpong")
@pytest.mark.parametrize("line", a_tenth(PINGPONGS))
def test_a_pingpong_of_rdma_core_ends_well(line: str) -> None:
    program, *options = line.split()
    count = [] if "-n" in options else ["-n", "20"]
    out = ends_well(
        *both(program, "-g", "1", "-p", free_port(), *count, *options, client=("localhost",))
    )
    assert out.count("remote") >= 2


@needs("ib_send_bw")
@pytest.mark.parametrize("line", a_tenth(PERFTEST))
def test_a_program_of_perftest_ends_well(line: str) -> None:
    program, *options = line.split()
    host = "10.0.0.1" if "-R" in options else "localhost"
    out = ends_well(
        *both(program, "-x", "1", "-F", "-n", "50", "-p", free_port(), *options, client=(host,))
    )
    assert "#iterations" in out


@needs("rping")
@pytest.mark.parametrize("line", a_third(CONNECTED))
def test_a_program_of_rdma_cm_ends_well(line: str) -> None:
    assert ends_well("--", *line.split())


@needs("ibv_devinfo")
def test_ibv_devinfo_prints_the_device() -> None:
    out = ends_well("--node", "both", "--", "ibv_devinfo", "-v")
    assert out.count("hca_id:") == 2
    assert "PORT_ACTIVE (4)" in out
    assert "max_qp_wr:\t\t\t1024" in out
    assert "GID[  1]:\t\t::ffff:10.0.0.2, RoCE v2" in out


@needs("ibv_rc_pingpong")
def test_a_lost_packet_is_sent_again_under_a_program() -> None:
    fault = ["--world", "fault drop A->B nth=3"]
    words = both("ibv_rc_pingpong", "-g", "1", "-n", "5", "-p", free_port(), client=("localhost",))
    ended = execute(*fault, *words)
    assert ended.code == 0, ended.err
    assert ended.out.count("5 iters in") == 2
