"""Which test of its key an access fails, in words."""

from rdmalab.hca.dma import Denied
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE, RecvWR
from rdmalab.lab import Lab
from rdmalab.spec.access import Access
from rdmalab.views import key_denials
from rdmalab.views.key_denials import Denial
from tests.doctor.asking import played
from tests.each import each
from tests.labs import lab_of
from tests.windows import BOUND, lab_with, thing


def text_of(lab: Lab, why: Denied, key: int, *, at: int = 0, element: int = -1) -> str:
    world, names = lab.session.world, lab.session.names
    rights = int(Access.REMOTE_WRITE | Access.REMOTE_ATOMIC)
    denial = Denial("B", why, key, at, 8, rights, element)
    qp = world.find(thing(lab, "B.qp0"), QueuePair)
    return key_denials.denial_text(world.nodes["B"], names, denial, qp)


def denied(lab: Lab, *sg: SGE) -> list[tuple[int, Denied]]:
    hca = lab.session.world.nodes["A"]
    (qp,) = hca.qps.items.values()
    found = key_denials.denials(hca, qp, RecvWR(sg=list(sg)), int(Access.LOCAL_WRITE))
    return [(denial.element, denial.why) for denial in found]


def test_each_element_that_may_not_be_accessed_is_found() -> None:
    lab = lab_of("reg_mr A.mr1 pd=A.pd0 length=64 access=0")
    good, mute = list(lab.session.world.nodes["A"].mrs.items.values())
    sg = (SGE(good.addr, 8, good.lkey), SGE(mute.addr, 8, mute.lkey), SGE(1, 8, 0xBAD))
    assert denied(lab, *sg) == [(1, Denied.RIGHTS), (2, Denied.KEY)]
    assert denied(lab, SGE(good.addr, 0, good.lkey)) == [(0, Denied.RANGE)]


def test_each_test_names_the_region_and_what_it_lacks() -> None:
    lab = lab_of("alloc_pd B.pd1", "reg_mr B.mr1 pd=B.pd1 length=64 access=LOCAL_WRITE")
    (mine, other) = lab.session.world.nodes["B"].mrs.items.values()
    assert text_of(lab, Denied.KEY, 0xDEAD) == (
        "rkey 0xdead is the key of no MR or bound window on B"
    )
    assert text_of(lab, Denied.KEY, 0xDEAD, element=1) == (
        "sge[1]: lkey 0xdead is the key of no MR on B"
    )
    assert text_of(lab, Denied.KEY, mine.lkey) == (
        f"rkey {mine.lkey:#x} is the lkey of B.mr0, whose rkey is {mine.rkey:#x}"
        " (rxe and mlx5 have one key for both)"
    )
    assert text_of(lab, Denied.PD, other.rkey).endswith("opens B.mr1 in B.pd1, B.qp0 is in B.pd0")
    assert text_of(lab, Denied.RIGHTS, other.rkey).endswith(
        "opens B.mr1 for LOCAL_WRITE; REMOTE_WRITE|REMOTE_ATOMIC is missing"
    )
    assert text_of(lab, Denied.RANGE, mine.rkey, at=mine.iova + 4090).endswith(
        "opens bytes 0..4096 of B.mr0; bytes 4090..4098 were named"
    )
    below = text_of(lab, Denied.RANGE, mine.rkey, at=0x1000)
    assert below.endswith(f"opens B.mr0, which begins at {mine.iova:#x}; address 0x1000 is below")
    above = text_of(lab, Denied.RANGE, mine.rkey, at=1 << 40)
    assert above.endswith("and has 4096 bytes; address 0x10000000000 is far above")


@each("extra", ["hca_va=0x5000 access=REMOTE_WRITE|LOCAL_WRITE", ""])
def test_an_address_in_memory_is_named_where_requests_use_another(extra: str) -> None:
    zero_based = "reg_mr B.mr9 pd=B.pd0 length=256 access=LOCAL_WRITE|REMOTE_WRITE|ZERO_BASED"
    lab = lab_with(f"reg_mr_iova B.mr9 pd=B.pd0 length=256 {extra}" if extra else zero_based)
    (*_, mine) = lab.session.world.nodes["B"].mrs.items.values()
    assert text_of(lab, Denied.RANGE, mine.rkey, at=mine.addr).endswith(
        f"which begins at {mine.iova:#x} in requests; {mine.addr:#x} is the address of its bytes "
        "in memory"
    )


def test_a_key_of_a_window_names_the_window() -> None:
    lab = lab_with(BOUND)
    keys = lab.session.world.nodes["B"].rkeys
    (bound,) = (key for key, opened in keys.items() if opened.qp is not None)
    assert text_of(lab, Denied.RANGE, bound, at=0x20000000).startswith(
        f"rkey {bound:#x} opens B.mw0, which begins at 0x"
    )
    assert text_of(lab, Denied.QP, bound).endswith(
        "is of B.mw0, which only B.qp0 may use: B.qp0 bound it"
    )


def test_rkey_0_of_a_region_without_remote_rights_is_no_key() -> None:
    lab = played("use rc_pair", "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE", profile="rxe")
    (mine, mute) = lab.session.world.nodes["B"].mrs.items.values()
    assert mute.rkey == 0
    assert text_of(lab, Denied.KEY, 0, at=mute.iova) == (
        "rkey 0x0 is no key: B.mr1 has no remote right, and on this device its rkey is 0"
    )
    assert text_of(lab, Denied.KEY, 0, at=mine.iova).endswith("key of no MR or bound window on B")
