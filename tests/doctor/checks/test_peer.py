"""Is the peer there, items 44 to 52: who is not to be blamed, and who takes the blame instead."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.evidence.log import Log
from rdmalab.lab import Lab
from tests.doctor.asking import blamed, evidence, findings, played, verdict, why
from tests.labs import RECV, SEND, lab_of, refusal, well

_WR = "A.qp0.wr[1]"
_FAST = "use rc_pair timeout=8 retry_cnt=1"
_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
_DATAGRAM = (
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED"
)
_PEER = (
    "wrong-qpn", "wrong-gid", "no-grh", "peer-state", "peer-type", "pkey", "peer-destroyed",
    "peer-port", "one-sided-connect",
)  # fmt: skip
_INIT = "modify_qp {} state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE"
_RTR = (
    "modify_qp {} state=RTR path_mtu=512 dest_qp_num={} rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 {}"
)
_RTS = "modify_qp {} state=RTS timeout=8 retry_cnt=1 rnr_retry=7 sq_psn=0 max_rd_atomic=1"


def lines_with(qp: str, number: str, where: str) -> list[str]:
    """Bring up one end by hand."""
    return [f"reset {qp}", _INIT.format(qp), _RTR.format(qp, number, where), _RTS.format(qp)]


def works(lab: Lab, what: str) -> bool:
    """Whether there is a fix, and it does what it should."""
    remedy = why(lab, what).remedy
    return remedy is not None and remedy.works is True


# --------------------------------------------------------------------------- all of them
@pytest.mark.parametrize("spoiled", ["fault drop A->B", "link down", "modify_qp B.qp0 rq_psn=0"])
def test_peer_checks_for_loss_on_the_cable(spoiled: str) -> None:
    lab = lab_of(pair=_FAST)
    lab.do(spoiled)
    for line in (RECV, SEND, "run"):
        well(lab, line)
    found = findings(lab, _WR)
    bad = [slug for slug in _PEER if found[slug].verdict in (Verdict.FAIL, Verdict.WARN)]
    assert bad == (["peer-port"] if spoiled == "link down" else [])


def test_no_peer_check_fails_after_a_successful_retry() -> None:
    lab = lab_of("port B ARMED", RECV, SEND, "run 10us", "port B ACTIVE", "run", pair=_FAST)
    assert not set(blamed(lab, _WR)) & set(_PEER)


def test_peer_checks_do_not_apply_to_cq_and_thread() -> None:
    lab = lab_of("program B.rx lines={poll B.cq0}", RECV, pair=_FAST)
    for asked in ("B.rx", "A.cq0", "A.qp0"):
        found = findings(lab, asked)
        assert {found[slug].verdict for slug in _PEER} <= {Verdict.NA, Verdict.OK}


# --------------------------------------------------------------------------- 44 wrong-qpn
def test_wrong_qpn_warns_while_retrying_and_fails_after() -> None:
    lab = lab_of(*lines_with("A.qp0", "0x17", "ah=B"), _WRITE, "run 20us", pair=_FAST)
    assert verdict(lab, _WR, "wrong-qpn") is Verdict.WARN
    well(lab, "run")
    assert verdict(lab, _WR, "wrong-qpn") is Verdict.FAIL
    assert "B.qp0 has number 0x11" in evidence(lab, _WR, "wrong-qpn")
    assert works(lab, _WR)


def test_wrong_qpn_has_advice_alone_with_two_candidates() -> None:
    two = [f"create_qp B.qp{n} pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0" for n in (1, 2)]
    lab = lab_of(
        "reset B.qp0", *two, *lines_with("A.qp0", "0x17", "ah=B"), _WRITE, "run", pair=_FAST
    )
    assert blamed(lab, _WR) == ["wrong-qpn"]
    cure = findings(lab, _WR)["wrong-qpn"].cure
    assert cure is not None
    assert not cure.lines
    assert "the number that create_qp returned on B" in cure.program


def test_wrong_qpn_of_a_datagram() -> None:
    lab = lab_of(_DATAGRAM.replace("B.qp0", "0x99"), "run", pair="use ud_pair")
    assert verdict(lab, _WR, "wrong-qpn") is Verdict.FAIL
    assert verdict(lab, _WR, "wrong-qpn", asked=False) is Verdict.NA
    assert why(lab).slug == "wrong-qpn"


# --------------------------------------------------------------------------- 45 wrong-gid
def test_wrong_gid_of_a_removed_source_address() -> None:
    lab = lab_of("gid del A 10.0.0.1", "gid add A 10.0.0.5", _WRITE, "run", pair=_FAST)
    assert blamed(lab, _WR) == ["wrong-gid"]
    assert "A no longer has that address" in evidence(lab, _WR, "wrong-gid")
    assert works(lab, _WR)


def test_fix_of_wrong_gid_of_a_datagram_creates_another_ah() -> None:
    far = "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=10.0.0.7 sgid_index=1 hop_limit=64 port_num=1"
    lab = lab_of(far, _DATAGRAM.replace("A.ah0", "A.ah1"), "run", pair="use ud_pair")
    assert blamed(lab, _WR) == ["wrong-gid"]
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert remedy.cure.lines[0] == "create_ah A.ah2 pd=A.pd0 to=B"


def test_wrong_qpn_with_another_gid_on_the_node() -> None:
    lab = lab_of(
        "gid add B 10.0.0.9", *lines_with("A.qp0", "0x17", "ah=B"), _WRITE, "run", pair=_FAST
    )
    assert blamed(lab, _WR) == ["wrong-qpn"]


# --------------------------------------------------------------------------- 46 no-grh
def test_another_mistake_in_an_address_is_not_a_missing_header() -> None:
    lab = lab_of("reset A.qp0", _INIT.format("A.qp0"), pair=_FAST)
    refusal(lab, _RTR.format("A.qp0", "B.qp0", "ah_attr={is_global=1 dgid=10.0.0.2 sgid_index=9 "
                                                "port_num=1}"))  # fmt: skip
    assert verdict(lab, "EINVAL", "no-grh") is Verdict.OK
    refusal(lab, "modify_qp A.qp0 state=SQD")
    assert verdict(lab, "EINVAL", "no-grh") is Verdict.OK


def test_fix_of_no_grh_finds_the_node_by_dlid() -> None:
    lab = Lab({"A": "strict", "B": "strict", "C": "strict"})
    for line in ("alloc_pd A.pd0", "create_cq A.cq0 cqe=4"):
        well(lab, line)
    refusal(lab, "create_ah A.ah0 pd=A.pd0 dlid=3 port_num=1")
    remedy = why(lab, "EINVAL").remedy
    assert remedy is not None
    assert (remedy.works, remedy.cure.lines) == (True, ["create_ah A.ah0 pd=A.pd0 to=C"])


# --------------------------------------------------------------------------- 47 peer-state
def test_a_peer_that_comes_up_in_time_is_not_blamed() -> None:
    up = [_RTR.format("B.qp0", "A.qp0", "ah=A"), _RTS.format("B.qp0")]
    lab = lab_of("reset B.qp0", _INIT.format("B.qp0"), _WRITE, "run 20us", pair=_FAST)
    assert verdict(lab, _WR, "peer-state") is Verdict.WARN
    assert why(lab).causes == []
    for line in (*up, "run"):
        well(lab, line)
    assert verdict(lab, _WR, "peer-state") is Verdict.NA


def test_peer_state_is_not_the_root_after_a_failure_of_the_peer() -> None:
    bad = "post_send B.qp0 wr_id=5 opcode=RDMA_WRITE sg=B.mr0[0:8] rkey=1 flags=SIGNALED"
    lab = lab_of(bad, "run", "reset A.qp0", "to_rts A.qp0 B.qp0 timeout=8 retry_cnt=1", _WRITE,
                 "run", pair=_FAST)  # fmt: skip
    assert verdict(lab, _WR, "peer-state") is Verdict.OK
    assert why(lab, _WR).slug == "rem-access"


def test_peer_state_of_a_peer_moved_to_err() -> None:
    lab = lab_of(RECV, "modify_qp B.qp0 state=ERR", _WRITE, "run", pair=_FAST)
    assert verdict(lab, _WR, "peer-state") is Verdict.FAIL
    assert "B.qp0 was in ERR [15]" in evidence(lab, _WR, "peer-state")
    assert works(lab, _WR)


def test_peer_state_warns_a_receive_of_a_peer_in_rtr() -> None:
    lab = lab_of("reset A.qp0", _INIT.format("A.qp0"), _RTR.format("A.qp0", "B.qp0", "ah=B"), RECV)
    assert verdict(lab, "B.qp0.recv_wr[2]", "peer-state") is Verdict.WARN
    assert "A.qp0 is in RTR" in evidence(lab, "B.qp0.recv_wr[2]", "peer-state")
    assert verdict(lab, "B.qp0.recv_wr[2]", "peer-state", asked=False) is Verdict.NA


# --------------------------------------------------------------------------- 48 peer-type
def test_a_datagram_to_a_connection_is_for_the_program_to_mend() -> None:
    made = "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0"
    lab = lab_of(made, _DATAGRAM.replace("B.qp0", "B.qp1"), "run", pair="use ud_pair")
    assert blamed(lab, _WR) == ["peer-type"]
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert "qp_type" in remedy.cure.program


def test_fix_of_peer_type_keeps_the_attributes_of_the_qp() -> None:
    made = (
        "create_qp B.qp1 pd=B.pd0 qp_type=UC send_cq=B.cq0 recv_cq=B.cq0 max_recv_wr=3 sq_sig_all=1"
    )
    up = [_INIT.format("B.qp1"), "modify_qp B.qp1 state=RTR path_mtu=512 dest_qp_num=A.qp0 "
          "rq_psn=0 ah=A"]  # fmt: skip
    lab = lab_of(made, *up, *lines_with("A.qp0", "B.qp1", "ah=B"), _WRITE, "run", pair=_FAST)
    assert blamed(lab, _WR) == ["peer-type"]
    assert works(lab, _WR)
    well(lab, "apply A.qp0.wr[1]")
    assert lab.look("B.qp1.cap.max_recv_wr") == 3


# --------------------------------------------------------------------------- 49 pkey
def test_pkey_of_two_limited_members() -> None:
    limited = ["pkey set A 0 0x0005", "pkey set B 0 0x0005"]
    lab = lab_of(pair=limited[0])
    for line in (limited[1], _FAST, _WRITE, "run"):
        well(lab, line)
    assert blamed(lab, _WR) == ["pkey"]
    assert "both are limited members" in evidence(lab, _WR, "pkey")
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert (remedy.works, remedy.cure.lines[0]) == (True, "pkey set B 0 0x8005")


def test_pkey_since_the_entry_of_the_table_was_changed() -> None:
    lab = lab_of("pkey set B 0 0x8001", SEND, "run", pair="use rc_pair timeout=6 retry_cnt=1")
    cause = why(lab, "A.qp0.wr[1]").causes[0]
    (changed,) = [c.event for c in Log(lab.session).calls("pkey")]
    assert [cause.check.slug, cause.finding.evidence[0].event] == ["pkey", changed]


def test_datagrams_have_partitions_too() -> None:
    lab = lab_of("pkey set B 1 0xffff", "use ud_pair", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:104]",
                 _DATAGRAM, "run", pair="pkey set B 0 0x8005")  # fmt: skip
    assert blamed(lab, _WR) == ["pkey"]
    assert works(lab, _WR)


# --------------------------------------------------------------------------- 50 peer-destroyed
def test_peer_destroyed_of_a_waiting_receive() -> None:
    lab = lab_of(RECV, "destroy_qp A.qp0")
    assert verdict(lab, "B.qp0.recv_wr[2]", "peer-destroyed") is Verdict.FAIL
    assert verdict(lab, "B.qp0.recv_wr[2]", "peer-destroyed", asked=False) is Verdict.OK
    assert why(lab).slug == "well"


def test_a_number_that_was_right_is_not_called_wrong() -> None:
    lab = lab_of("destroy_qp B.qp0", _WRITE, "run", pair=_FAST)
    assert blamed(lab, _WR) == ["peer-destroyed"]
    assert works(lab, _WR)


def test_peer_destroyed_not_after_completion() -> None:
    lab = lab_of(RECV, SEND, "run", "destroy_qp B.qp0")
    assert blamed(lab, _WR) == []


# --------------------------------------------------------------------------- 51 peer-port
def test_a_port_that_came_back_is_not_blamed() -> None:
    lab = lab_of("port B ARMED", _WRITE, "run 20us", pair=_FAST)
    assert verdict(lab, _WR, "peer-port") is Verdict.WARN
    for line in ("port B ACTIVE", "run"):
        well(lab, line)
    assert verdict(lab, _WR, "peer-port") is Verdict.NA


# --------------------------------------------------------------------------- 52 one-sided
def test_one_sided_connect_of_a_peer_with_a_third_node() -> None:
    lab = Lab({"A": "strict", "B": "strict", "C": "strict"})
    made = [
        line.format(n=n)
        for n in "ABC"
        for line in (
            "alloc_pd {n}.pd0", "create_cq {n}.cq0 cqe=8",
            "reg_mr {n}.mr0 pd={n}.pd0 length=64 access=LOCAL_WRITE|REMOTE_WRITE",
            "create_qp {n}.qp0 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0",
        )
    ]  # fmt: skip
    to_a, to_b = lines_with("B.qp0", "C.qp0", "ah=C")[1:], lines_with("A.qp0", "B.qp0", "ah=B")[1:]
    for line in (*made, *to_a, *to_b, _WRITE, "run"):
        well(lab, line)
    assert blamed(lab, _WR) == ["one-sided-connect"]
    assert "B.qp0 was connected to C.qp0" in evidence(lab, _WR, "one-sided-connect")
    assert works(lab, _WR)


def test_wrong_gid_of_the_other_address_of_the_peer() -> None:
    away = "ah_attr={is_global=1 dgid=fe80::200:a00:2 sgid_index=0 hop_limit=64 port_num=1}"
    lab = lab_of(*lines_with("A.qp0", "B.qp0", away), _WRITE, "run", pair=_FAST)
    assert blamed(lab, _WR) == ["wrong-gid"]


def test_wrong_gid_of_a_peer_with_an_unknown_address() -> None:
    unused_address = "ah_attr={is_global=1 dgid=10.0.0.7 sgid_index=1 hop_limit=64 port_num=1}"
    lab = lab_of(*lines_with("B.qp0", "A.qp0", unused_address), _WRITE, "run", pair=_FAST)
    assert blamed(lab, _WR) == ["wrong-gid"]
    assert "B.qp0 was given the peer address 10.0.0.7" in evidence(lab, _WR, "wrong-gid")
    assert works(lab, _WR)


def test_port_not_active_names_device_fatal() -> None:
    lab = played("use rc_pair timeout=8 retry_cnt=1", "device_fatal B",
                 "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]"
                 " flags=SIGNALED", "run")  # fmt: skip
    for question in ("", "A.qp0.wr[4]"):
        report = why(lab, question)
        assert report.slug == "port-not-active"
        assert "the device of B failed (DEVICE_FATAL)" in report.text
        assert "change the program: close_device B and open_device B" in report.text


def test_wrong_gid_of_a_connection_to_its_own_node() -> None:
    lab = lab_of(*lines_with("A.qp0", "B.qp0", "ah=A"), _WRITE, "run", pair=_FAST)
    assert blamed(lab, _WR) == ["wrong-gid"]
    assert "A.qp0 sends to 10.0.0.1, which is its own node, A" in evidence(lab, _WR, "wrong-gid")


def test_between_infiniband_ports_the_lid_is_named() -> None:
    made = [
        line.format(n) for n in "AB" for line in
        ("port {0} link_layer=InfiniBand", "alloc_pd {0}.pd0", "create_cq {0}.cq0 cqe=8",
         "reg_mr {0}.mr0 pd={0}.pd0 length=64 access=LOCAL_WRITE|REMOTE_WRITE",
         "create_qp {0}.qp0 pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0 max_send_wr=4"
         " max_recv_wr=4",
         "modify_qp {0}.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE")
    ]  # fmt: skip
    up = ("modify_qp {}.qp0 state=RTR path_mtu=512 dest_qp_num={}.qp0 rq_psn=0 max_dest_rd_atomic=1"
          " min_rnr_timer=12 ah_attr={{dlid=2 port_num=1}}")  # fmt: skip
    lab = played(*made, up.format("A", "B"), up.format("B", "A"),
                 "modify_qp A.qp0 state=RTS timeout=8 retry_cnt=1 rnr_retry=7 sq_psn=0"
                 " max_rd_atomic=1",
                 "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]"
                 " flags=SIGNALED", "run")  # fmt: skip
    report = why(lab, "A.qp0.wr[7]")
    assert report.slug == "wrong-gid"
    assert "A.qp0 sends to LID 2, which is its own node, A" in report.text
    assert "B has LID 4 and LID 5" in report.text


@pytest.mark.parametrize("asked", ["", "A.qp0.wr[5]"])
@pytest.mark.parametrize(
    ("closes", "slug"), [("sleep 2us", "peer-destroyed"), ("sleep 300us", "own-err")]
)
def test_of_a_peer_destroyed_and_an_own_err_the_first_is_the_root(
    closes: str, slug: str, asked: str
) -> None:
    lab = played(
        "use rc_pair", "fault delay B->A by=400us",
        "program A.tx lines={sleep 5us; post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:8] "
        "remote=B.mr0[0] flags=SIGNALED; poll A.cq0}",
        f"program B.close lines={{{closes}; destroy_qp B.qp0}}",
        "program A.watch lines={sleep 200us; modify_qp A.qp0 state=ERR}", "run 1s",
    )  # fmt: skip
    report = why(lab, asked)
    if slug == "peer-destroyed" or asked:
        assert report.slug == slug
    assert report.is_trouble is bool(slug == "peer-destroyed" or asked)


def test_one_sided_connect_of_two_pairs_that_are_crossed() -> None:
    second = [f"create_qp {n}.qp1 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0"
               for n in "AB"]  # fmt: skip
    ends = (("A.qp1", "B.qp1", "ah=B"), ("B.qp0", "A.qp1", "ah=A"), ("B.qp1", "A.qp0", "ah=A"))
    lab = lab_of(*second, *(line for end in ends for line in lines_with(*end)),
                 "post_recv B.qp1 wr_id=4 sg=B.mr0[0:8]", _WRITE, "run", pair=_FAST)  # fmt: skip
    assert blamed(lab, _WR) == ["one-sided-connect"]
    assert works(lab, _WR)
    lab.do(f"apply {_WR}")
    peers = [lab.look(f"{name}.dest_qp_num == {peer}") for name, peer in
             (("A.qp0", "B.qp0.qp_num"), ("A.qp1", "B.qp1.qp_num"), ("B.qp0", "A.qp0.qp_num"),
              ("B.qp1", "A.qp1.qp_num"))]  # fmt: skip
    assert peers == [True] * 4
    assert lab.look("B.qp1.rq.used") == 1
