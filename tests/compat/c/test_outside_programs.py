"""Programs of rdma-core, perftest, qperf and libfabric, as they come from the distribution."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.compat.c.running import both, execute, free_port
from tests.each import ALL, a_tenth, a_third, each
from tests.tools import needs

PINGPONGS = [
    "ibv_rc_pingpong", "ibv_rc_pingpong -c", "ibv_rc_pingpong -e", "ibv_rc_pingpong -c -e",
    "ibv_rc_pingpong -t", "ibv_rc_pingpong -N", "ibv_rc_pingpong -c -s 1048576 -m 4096 -n 5",
    "ibv_uc_pingpong", "ibv_uc_pingpong -c -e", "ibv_ud_pingpong", "ibv_ud_pingpong -c -e",
    "ibv_srq_pingpong", "ibv_srq_pingpong -c -e", "ibv_xsrq_pingpong",
]  # fmt: skip
"""-c: the contents are compared."""
PERFTEST = [
    *(f"ib_{verb}_{kind}{options}" for verb in ("send", "write", "read", "atomic")
      for kind in ("lat", "bw") for options in ("", " -R")),
    "ib_send_lat -e", "ib_send_bw -e", "ib_read_bw -e", "ib_atomic_bw -e",
    "ib_send_bw -b", "ib_write_bw -b", "ib_read_bw -b", "ib_atomic_bw -b",
    "ib_send_lat -c UD", "ib_send_bw -c UD", "ib_send_lat -c UC", "ib_send_bw -c UC",
    "ib_write_lat -c UC", "ib_write_bw -c UC", "ib_send_bw -r 32 --use-srq -q 4",
    "ib_send_lat --use-srq", "ib_send_bw -c XRC", "ib_send_lat -c XRC",
    *(["ib_write_bw -a"] if os.environ.get(ALL) else []),  # 2 bytes to 8 MiB: it takes a minute
]  # fmt: skip
ELSEWHERE = [  # the devices differ in queue sizes, keys, atomics and INLINE
    (profile, line) for profile in ("rxe", "mlx5") for line in (
        "ibv_rc_pingpong -c -e", "ibv_ud_pingpong -c", "ibv_srq_pingpong -c", "ib_send_lat",
        "ib_write_bw", "ib_read_bw", "ib_atomic_bw", "ib_send_bw -c UD",
    )
]  # fmt: skip
_SHORT = {"64": "64", "4096": "4k", "65536": "64k"}  # as fi_pingpong prints them
CONNECTED = [
    "rping -s -C 3 -v -V -a 10.0.0.1 : rping -c -C 3 -v -V -a 10.0.0.1",  # -V: compares contents
    "ucmatose : ucmatose -s 10.0.0.1",
    "udaddy : udaddy -s 10.0.0.1",
    "rdma_server : rdma_client -s 10.0.0.1",
    "mckey -m 239.1.1.1 -b 10.0.0.1 -C 3 : mckey -m 239.1.1.1 -b 10.0.0.2 -s -C 3",
    "qperf : qperf -t 1 127.0.0.1 -cm 1 rc_lat rc_bw rc_rdma_read_lat rc_rdma_write_bw quit",
]


def ends_well(*words: str) -> str:
    """Run programs that have no mistake; returns what they print."""
    ended = execute(*words, limit_s=300 if "-a" in words else 60)
    assert ended.code == 0, ended.err + ended.out
    assert "rdmalab:" not in ended.err, ended.err
    return ended.out


def runs(line: str, profile: str = "strict") -> str:
    """Run both ends of a pingpong or of a program of perftest; returns what they print."""
    program, *options = line.split()
    is_pingpong = program.startswith("ibv_")
    usual = ["-g", "1"] if is_pingpong else ["-x", "1", "-F"]
    count = [] if "-n" in options else ["-n", "20" if is_pingpong else "50"]
    host = "10.0.0.1" if "-R" in options else "localhost"
    words = [*usual, "-p", free_port(), *count, *options]
    return ends_well("--profile", profile, *both(program, *words, client=(host,)))


@needs("ibv_rc_pingpong")
@pytest.mark.parametrize("line", a_tenth(PINGPONGS))
def test_a_pingpong_of_rdma_core_ends_well(line: str) -> None:
    assert runs(line).count("remote") >= 2


@needs("ib_send_bw")
@pytest.mark.parametrize("line", a_tenth(PERFTEST))
def test_a_program_of_perftest_ends_well(line: str) -> None:
    assert "#iterations" in runs(line)


@needs("ib_send_bw")
@pytest.mark.parametrize(("profile", "line"), a_tenth(ELSEWHERE))
def test_a_program_ends_well_on_another_device(profile: str, line: str) -> None:
    assert runs(line, profile)


@needs("rping")
@pytest.mark.parametrize("line", a_third(CONNECTED))
def test_a_program_of_rdma_cm_ends_well(line: str) -> None:
    assert ends_well("--", *line.split())


@needs("rping")
def test_a_persistent_server_of_rping_is_ended_after_its_client() -> None:
    """The queue that it polled last is destroyed while it waits for the next client."""
    line = "rping -s -P -a 10.0.0.1 : rping -c -a 10.0.0.1 -C 2"
    ended = execute("--", *line.split())
    assert ended.code == 0, ended.err
    assert "on A: blocks in rdma_get_cm_event of A, listens at 10.0.0.1:7174" in ended.err
    assert "the programs are ended: no program is left to connect" in ended.err


@needs("ibv_devinfo")
def test_ibv_devinfo_prints_the_device() -> None:
    out = ends_well("--node", "both", "--", "ibv_devinfo", "-v")
    assert out.count("hca_id:") == 2
    assert "PORT_ACTIVE (4)" in out
    assert "max_qp_wr:\t\t\t1024" in out
    assert "GID[  1]:\t\t::ffff:10.0.0.2, RoCE v2" in out


@needs("ibv_devinfo")
@pytest.mark.parametrize(
    ("profile", "vendor"), [("strict", "0x20000"), ("rxe", "0xffffff"), ("mlx5", "0x02c9")]
)
def test_the_vendor_is_that_of_the_device_model(profile: str, vendor: str) -> None:
    out = ends_well("--profile", profile, "--node", "both", "--", "ibv_devinfo")
    assert f"vendor_id:\t\t\t{vendor}" in out


@needs("ibv_rc_pingpong")
def test_a_lost_packet_is_sent_again_under_a_program() -> None:
    fault = ["--world", "fault drop A->B nth=3"]
    words = both("ibv_rc_pingpong", "-g", "1", "-n", "5", "-p", free_port(), client=("localhost",))
    ended = execute(*fault, *words)
    assert ended.code == 0, ended.err
    assert ended.out.count("5 iters in") == 2


@needs("cmtime")
def test_the_server_of_cmtime_which_never_ends_is_ended_after_its_client() -> None:
    words = "cmtime -b 10.0.0.1 : cmtime -s 10.0.0.1 -b 10.0.0.2 -c 10"
    ended = execute("--", *words.split(), limit_s=120)
    assert ended.code == 0, ended.err
    assert "on A: blocks in rdma_get_cm_event of A, listens at 10.0.0.1:7471" in ended.err
    rows = [row.split(":")[0].strip() for row in ended.out.splitlines() if "." in row]
    assert {"create id", "resolve addr", "connect", "disconnect", "destroy"} <= {*rows}


@needs("fi_pingpong")
@pytest.mark.parametrize("sizes", a_third(["64", "4096", "65536"]))
def test_libfabric_sends_over_verbs(sizes: str) -> None:
    """It makes a CQ of 262,144 completions, which strict and rxe do not have.

    Its ends do not wait for each other: whoever leaves first flushes the receives of the other,
    which may see that before it ends. So the tables count, not the exit codes. -c: each message is
    compared.
    """
    line = f"fi_pingpong -p verbs;ofi_rxm -e rdm -c -I 5 -S {sizes}"
    ended = execute("--profile", "mlx5", "--", *line.split(), ":", *line.split(), "127.0.0.1")
    assert ended.out.count("usec/xfer") == 2, ended.err
    assert len(re.findall(rf"^{_SHORT[sizes]} +5 +=5", ended.out, re.MULTILINE)) == 2


@needs("rdma_xserver")
@pytest.mark.parametrize("options", ["", "-c x"])
def test_inline_that_was_not_asked_for_is_explained(options: str) -> None:
    """rdma_xclient posts 16 INLINE bytes on a queue pair of max_inline_data=0."""
    words = f"rdma_xserver {options} : rdma_xclient -s 10.0.0.1 {options}".split()
    ended = execute("--why", "--", *words)
    assert ended.code
    assert "inline-too-long" in ended.err
    assert "B.qp0 was made with max_inline_data=0" in ended.err
    for profile in ("mlx5",) if options else ("mlx5", "rxe"):  # they round up; rxe has no XRC
        assert ends_well("--profile", profile, "--", *words).count("end 0") == 2


@needs("rping")
def test_a_server_that_no_client_can_reach_is_ended_with_its_address() -> None:
    words = "rping -s -a 10.0.0.1 -p 1111 -C 2 : rping -c -a 10.0.0.1 -p 2222 -C 2"
    ended = execute("--", *words.split(), limit_s=30)
    assert "every program waits, and nothing is planned" in ended.err
    assert re.search(
        r"rping \(\d+\) on A: blocks in rdma_get_cm_event.*, listens at 10\.0\.0\.1:1111\n",
        ended.err,
    )
    refused = r"rping \(\d+\) on B asked for 10\.0\.0\.1:2222: rejected, no program listens there\n"
    assert len(re.findall(refused, ended.err)) == 2, ended.err  # at once, and in the end


@needs("rping")
def test_why_at_the_end_knows_of_a_rejected_connection() -> None:
    words = "rping -s -a 10.0.0.1 -p 1111 -C 2 : rping -c -a 10.0.0.1 -p 2222 -C 2"
    ended = execute("--why", "--", *words.split(), limit_s=30)
    assert "FAILED  rping" in ended.err
    assert "WELL" not in ended.err


@needs("rping")
@each("name", ["kept.rdmalab", "kept.rdmalab.yaml"])
def test_why_of_a_saved_session_knows_of_a_rejected_connection(name: str) -> None:
    words = "rping -s -a 10.0.0.1 -p 1111 -C 2 : rping -c -a 10.0.0.1 -p 2222 -C 2"
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        ended = execute("--save", str(path), "--why", "--", *words.split(), limit_s=30)
        command = [sys.executable, "-m", "rdmalab", "why", str(path)]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert asked.returncode == 1
    assert "rejected, no program listens" in asked.stdout
    assert asked.stdout.strip() in ended.err
