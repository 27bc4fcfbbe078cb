"""Work requests that the documents and the devices read differently."""

import json

import pytest

from rdmalab.cli import main
from rdmalab.command import Ref
from rdmalab.compat.process import DeviceWarning, begin
from rdmalab.lab import Lab
from rdmalab.spec.document_differences import DIFFERENCES
from tests.scenario.mangle import ROOT
from tests.shell.prompts import Prompt

_SHARED = "create_srq B.srq0 pd=B.pd0 max_wr=8"
_LONG = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:4096],A.mr0[0:{}] {}"
_TO_B = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"
_EMPTY = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:0]"


@pytest.mark.parametrize(
    ("profile", "octets", "status"),
    [("strict", 2**31, "SUCCESS"), ("rxe", 0, "SUCCESS"), ("mlx5", 0, "LOC_LEN_ERR")],
)
def test_warning_at_post_has_the_behaviour_of_devices(
    profile: str, octets: int, status: str
) -> None:
    prompt = Prompt("use rc_pair", width=300, profile=profile)
    warned = " ".join(prompt.warned(_EMPTY))
    assert f"an SGE of length 0 means {octets} bytes here" in warned
    assert "mlx5 and Soft-RoCE take such an SGE as 0 bytes" in warned
    prompt = Prompt("use ud_pair", width=300, profile=profile)
    warned = " ".join(prompt.warned(_LONG.format(8, _TO_B)))
    assert f"4104 bytes do not fit the MTU of 4096: nothing is sent, IBV_WC_{status}." in warned
    assert "ConnectX completes it with IBV_WC_LOC_LEN_ERR" in warned


def test_no_warning_for_a_message_that_fits_or_is_empty() -> None:
    prompt = Prompt("use ud_pair", width=300)
    sent = f"post_send A.qp0 opcode=SEND sg=A.mr0[0:4096] {_TO_B}"
    assert prompt.warned(sent) == []
    assert prompt.warned(f"post_send A.qp0 opcode=SEND num_sge=0 {_TO_B}") == []


@pytest.mark.parametrize("post", ["post_recv B.qp0", "post_srq_recv B.srq0"])
def test_warning_of_a_receive_of_length_0(post: str) -> None:
    prompt = Prompt("use rc_pair", _SHARED, width=300)
    (warning,) = prompt.warned(f"{post} sg=B.mr0[0:0]")
    assert "means 2147483648 bytes here" in warning


def test_device_warnings_in_python_json_and_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    """Python, JSON and a scenario that is narrated, besides the prompt."""
    lab = Lab()
    lab.do("use rc_pair")
    (answer,) = lab.warnings(lab.do(_EMPTY)[-1])
    assert "means 2147483648 bytes here" in answer
    main(["repl", "--json", "-c", "use rc_pair", "-c", _EMPTY])
    assert json.loads(capsys.readouterr().out)["replies"][-1]["warnings"] == [answer]
    main(["run", "-v", str(ROOT / "scenarios" / "sge" / "nothing-or-everything.rdmalab.yaml")])
    assert f"warning: {answer}" in capsys.readouterr().out


def test_a_program_of_pyverbs_is_warned_where_it_posts() -> None:
    played = begin("strict")
    played.session.default_node = "A"
    played.lab.do("use rc_pair")
    sge = {"addr": 0, "length": 0, "lkey": 0}
    with pytest.warns(DeviceWarning, match="means 2147483648 bytes here"):
        played.call("post_recv", qp=Ref("B", "qp0"), wr=[{"wr_id": 1, "sg": [sge]}])


def test_warning_of_an_opcode_without_a_packet_for_the_type() -> None:
    prompt = Prompt("use uc_pair", width=300)
    warned = prompt.warned("post_send A.qp0 opcode=SEND_WITH_INV num_sge=0 invalidate_rkey=1")
    assert "no packet of UC carries SEND_WITH_INV" in warned[0]
    assert "lists SEND_WITH_INV for UC" in warned[1]


_INV = "post_send A.qp0 opcode=SEND_WITH_INV num_sge=0 flags=SIGNALED invalidate_rkey="


def test_a_region_that_a_send_cannot_invalidate() -> None:
    prompt = Prompt("use rc_pair", "post_recv B.qp0 sg=B.mr0", width=300)
    (warning,) = prompt.warned(f"{_INV}B.mr0")
    assert DIFFERENCES["send-inv-region"].sentence in warning
    assert prompt.warned(f"{_INV}0x77") == []


def test_send_with_inv_over_xrc_meets_no_window() -> None:
    prompt = Prompt("use xrc_pair", width=300)
    (warning,) = prompt.warned(f"{_INV}0x77 remote_srqn=B.srq0")
    assert DIFFERENCES["xrc-send-with-inv"].sentence in warning


def test_a_fence_after_work_that_it_does_not_wait_for() -> None:
    prompt = Prompt("use rc_pair max_rd_atomic=4 max_dest_rd_atomic=4", width=300)
    fenced = "post_send A.qp0 wr_id=9 opcode=SEND num_sge=0 flags=SIGNALED|FENCE"
    assert prompt.warned(fenced.replace("wr_id=9", "wr_id=8")) == []
    (warning,) = prompt.warned(fenced)
    assert "FENCE does not wait for wr8: " in warning
    assert DIFFERENCES["fence-prior-work"].sentence in warning
    read = "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0"
    quiet = Prompt("use rc_pair", read, width=300)
    assert quiet.warned(fenced) == []


def test_a_message_longer_than_the_port_takes() -> None:
    region = "reg_mr A.big pd=A.pd0 length=2147483648 access=LOCAL_WRITE"
    prompt = Prompt("use rc_pair", region, width=300, profile="mlx5")
    post = "post_send A.qp0 opcode=SEND flags=SIGNALED sg=A.big[0:{}]"
    assert prompt.warned(post.format(2**30)) == []
    (excess, row) = prompt.warned(post.format(2**30 + 1))
    assert "1073741825 bytes exceed max_msg_sz, 1073741824: nothing is sent" in excess
    assert "IBV_WC_LOC_LEN_ERR" in excess
    assert DIFFERENCES["long-message"].sentence in row
    soft = Prompt("use rc_pair", region, width=300, profile="rxe")
    assert soft.warned(post.format(2**31 - 1)) == []
