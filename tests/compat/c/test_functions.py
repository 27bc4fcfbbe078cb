"""Programs of this folder that have no mistake, for functions that no program elsewhere needs."""

from pathlib import Path

import pytest

from tests.compat.c.running import compiled, execute, pair
from tests.tools import needs


@needs("gcc")
def test_what_needs_no_peer_is_there_or_refuses_with_eopnotsupp() -> None:
    ended = execute("--", compiled("surface"))
    assert (ended.code, ended.out, ended.err) == (0, "all of it\n", "")


@needs("gcc")
def test_builders_extended_polls_and_windows_are_recorded_as_such(tmp_path: Path) -> None:
    saved = tmp_path / "kept.rdmalab.yaml"
    ended = execute("--save", str(saved), *pair("extended", tmp_path))
    assert (ended.code, ended.err) == (0, "")
    text = saved.read_text("utf-8")
    for word in ("wr_start", "wr_send_imm", "wr_rdma_write", "wr_set_inline_data_list",
                 "wr_atomic_fetch_add", "wr_atomic_write", "wr_bind_mw", "wr_abort", "bind_mw",
                 "start_poll", "next_poll", "end_poll"):  # fmt: skip
        assert f"{word} " in text, word
    assert "post_send" not in text


@needs("gcc")
@pytest.mark.parametrize("profile", ["rxe", "mlx5"])
def test_a_device_refuses_what_it_lacks(tmp_path: Path, profile: str) -> None:
    """rxe wants INLINE in wr_flags beside an inline setter; mlx5 has no atomic write."""
    ended = execute("--profile", profile, *pair("extended", tmp_path))
    assert ended.code
    told = {"rxe": "LOC_QP_OP_ERR", "mlx5": "Operation not supported"}
    assert told[profile] in ended.err


def test_options_of_rdma_cm_reach_both_queue_pairs_and_timewait_ends() -> None:
    program = compiled("cm_ends")
    ended = execute("--", program, "serve", ":", program, "ask")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.count("timeout 14 traffic_class 40\n") == 2
    for event in ("DISCONNECTED", "TIMEWAIT_EXIT"):
        assert ended.out.count(f"RDMA_CM_EVENT_{event} 0\n") == 2


@needs("gcc")
@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
def test_endpoints_of_rdma_cm_exchange_private_data(profile: str) -> None:
    program = compiled("endpoints")
    words = ["--", program, "-", "serve", ":", program, "-", "ask"]
    ended = execute("--why", "--profile", profile, *words)
    assert ended.code == 0, ended.err
