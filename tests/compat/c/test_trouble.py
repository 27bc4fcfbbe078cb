"""Reports of `rdmalab exec` about programs that fail or hang, of programs that many know."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.c.running import Ended, compiled, execute, free_port, pair
from tests.tools import needs

pytestmark = needs("ibv_rc_pingpong")


def pingpong(server: str, client: str, host: str = "localhost") -> Ended:
    """Two ends of ibv_rc_pingpong with their options."""
    words = ["ibv_rc_pingpong", "-p", free_port()]
    return execute("--", *words, *server.split(), ":", *words, *client.split(), host)


def test_a_refused_call_after_which_a_program_fails_is_explained() -> None:
    ended = pingpong("", "")  # without -g: an address without a GRH
    assert ended.code == 1
    assert "ended with 1 after modify_qp was refused with EINVAL" in ended.err
    assert "no-grh" in ended.err
    assert ended.err.count("REFUSED") == 1


def test_no_refused_call_of_a_program_that_ends_well_is_reported() -> None:
    ended = execute("--", "ibv_devinfo", "-v")
    assert (ended.code, "rdmalab:" in ended.err) == (0, False)


def test_a_wait_in_accept_is_reported_when_the_client_has_ended() -> None:
    ended = pingpong("-g 1", "-g 1", "nobody.invalid")
    assert "ibv_rc_pingpong ended with 1" in ended.err
    assert "on A waits outside of the lab, in accept at TCP port" in ended.err
    assert "at localhost" in ended.err
    assert "the programs are ended: they hang" in ended.err


def test_no_answer_about_a_program_offers_a_word_of_the_prompt() -> None:
    ended = pingpong("-g 1 -s 4096", "-g 1 -s 1024")
    assert "fix:" in ended.err
    assert "apply" not in ended.err


def test_of_several_requests_of_one_wr_id_the_failed_one_is_explained() -> None:
    ended = pingpong("-g 1 -s 4096", "-g 1 -s 1024")
    polled = next(row for row in ended.err.splitlines() if "has polled" in row).split()[-1]
    answer = ended.err.partition("has polled")[2]
    assert polled in answer.partition("cause")[0].partition("\n")[2]
    assert "WR_FLUSH_ERR" not in answer.splitlines()[2]


@pytest.mark.parametrize("is_asked", [False, True])
def test_a_hanging_program_is_answered_first(is_asked: bool) -> None:
    words = ["ibv_rc_pingpong", "-p", free_port(), "-g", "1", "-n"]
    options = ["--why"] if is_asked else []
    ended = execute(*options, "--", *words, "100", ":", *words, "3", "localhost")
    verdicts = [row.split()[0] for row in ended.err.splitlines() if row.split()[:1] in
                (["NEVER"], ["WELL"], ["COMPLETED"], ["FAILED"], ["PENDING"])]  # fmt: skip
    assert set(verdicts) == {"NEVER"}, ended.err


@pytest.mark.parametrize("is_sent_to_all", [False, True])
def test_a_hang_that_is_ended_by_an_interrupt_is_saved_and_explained(
    tmp_path: Path, is_sent_to_all: bool
) -> None:
    words, saved = ["ibv_rc_pingpong", "-p", free_port(), "-g", "1", "-n"], tmp_path / "it.rdmalab"
    line = [sys.executable, "-m", "rdmalab", "exec", "--limit", "60", "--why", "--save", str(saved)]
    line += ["--", *words, "100", ":", *words, "3", "localhost"]
    with subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stderr is not None
        rows = iter(running.stderr.readline, "")
        assert next(row for row in rows if "^C ends the programs" in row)
        if is_sent_to_all:  # as a terminal does
            os.killpg(running.pid, signal.SIGINT)
        else:
            running.send_signal(signal.SIGINT)
        answer = "".join(rows)
        assert running.wait(30) == 130
    assert "NEVER" in answer, answer
    assert saved.exists()


def verdicts_of(ended: Ended) -> set[str]:
    """The verdicts of all answers that were printed."""
    known = {"NEVER", "WELL", "COMPLETED", "FAILED", "PENDING", "REFUSED"}
    return known & {row.split()[0] for row in ended.err.splitlines() if row.strip()}


def test_a_poll_for_the_completion_of_an_unsignaled_request_never_ends(tmp_path: Path) -> None:
    ended = execute("--why", *pair("counts_unsignaled", tmp_path))
    assert "1. unsignaled" in ended.err
    assert "wr2 RDMA_WRITE 64 B was posted without IBV_SEND_SIGNALED" in ended.err
    assert verdicts_of(ended) == {"NEVER"}, ended.err


def test_a_wait_for_the_completion_of_a_peer_s_write_never_ends(tmp_path: Path) -> None:
    ended = execute("--why", *pair("waits_for_write", tmp_path))
    assert "write-no-signal: B.qp0 did wr2 RDMA_WRITE 64 B" in ended.err
    assert verdicts_of(ended) == {"NEVER"}, ended.err


def test_a_wait_for_the_event_of_a_peer_that_has_ended_never_ends() -> None:
    ended = pingpong("-g 1 -e -n 100", "-g 1 -e -n 3")
    assert "blocks in get_cq_event of A.channel0" in ended.err
    assert "1. peer-destroyed of A.qp0.recv_wr" in ended.err, ended.err
    assert verdicts_of(ended) == {"NEVER"}, ended.err


@pytest.mark.parametrize("is_helper", [False, True])
def test_a_wait_for_an_asynchronous_event_is_a_cause_where_nothing_else_waits(
    is_helper: bool, tmp_path: Path
) -> None:
    words = pair("async_wait", tmp_path)
    ended = execute("--why", *([*words, "helper"] if is_helper else words))
    assert "they hang" in ended.err, ended.err
    assert ("1. async-never" in ended.err) is not is_helper, ended.err


def test_the_last_call_and_the_last_bytes_are_named_at_the_end_of_the_time(tmp_path: Path) -> None:
    ended = execute(*pair("wrong_place", tmp_path), limit_s=4)
    row = next(row for row in ended.err.splitlines() if " on A: " in row)
    assert "sleeps, and not in the lab" in row
    assert "its last call was modify_qp at pair.h" in row
    assert "the last 64 bytes came to A.mr0[0] at ev" in row


def test_a_sleep_in_epoll_wait_for_the_event_of_a_channel_is_a_hang(tmp_path: Path) -> None:
    ended = execute("--why", *pair("listens", tmp_path), limit_s=20)
    assert "sleeps in epoll_wait until get_cq_event of A.channel0 has an event" in ended.err
    assert "they hang" in ended.err, ended.err
    assert "1. cq-not-armed" in ended.err, ended.err


def test_what_is_left_open_in_rdma_cm_is_the_reason_of_a_hang() -> None:
    program = compiled("cm_left_open")
    ended = execute("--why", "--", program, "serve", "no_ack", ":", program, "ask", "no_ack")
    reason = "has read an event of this id, and not called rdma_ack_cm_event"
    told = " ".join(ended.err.split())
    assert told.count(reason) == 2, ended.err
    assert reason in told.rpartition("NEVER")[2], ended.err


def test_a_connect_request_that_is_not_answered_fails_after_all_retries() -> None:
    program = compiled("cm_left_open")
    ended = execute("--why", "--", program, "serve", "no_accept", ":", program, "ask", "no_accept")
    told = " ".join(ended.err.split())
    assert "on B asked for 10.0.0.1:7471: unreachable, cm_left_open" in told, ended.err
    reason = "has neither accepted nor rejected the request"
    assert reason in told.rpartition("FAILED")[2], ended.err


def test_a_refused_call_of_rdma_cm_is_explained() -> None:
    ended = execute("--", compiled("cm_left_open"), "ask", "no_route")
    assert "ended with 2 after rdma_connect was refused with EINVAL" in ended.err
    assert "the id is RESOLVED, not ROUTED" in ended.err
