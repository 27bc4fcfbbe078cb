"""Which test of its key some memory fails, and what became of a key that was good."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.facts import key_lookup
from rdmalab.hca.wr import SendWqe
from rdmalab.lab import Lab
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.work import WROpcode
from tests.doctor.asking import pair
from tests.doctor.tidying import why
from tests.labs import RECV, SEND, lab_of, well
from tests.windows import lab_with, thing

WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:16] remote=B.mr0[0]"


def case_of(lab: Lab, name: str = "A.qp0") -> Case:
    subject = Subject(Sort.QP, thing(lab, name))
    return Case(lab.session, subject, Log(lab.session), asked=True)


def test_former_key_of_a_deregistered_mr() -> None:
    lab = pair("reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE")
    mr = list(lab.session.world.nodes["A"].mrs.items.values())[-1]
    assert key_lookup.former(case_of(lab), "A", mr.lkey) is None
    well(lab, "dereg_mr A.mr1")
    for key in (mr.lkey, mr.rkey):
        gone = key_lookup.former(case_of(lab), "A", key)
        assert gone is not None
        assert (gone.thing, gone.dead) == (Thing(Noun.MR, "A", mr.number), True)
    assert key_lookup.former(case_of(lab), "A", mr.lkey ^ 0x40) is None  # never given out
    assert key_lookup.former(case_of(lab), "B", mr.lkey) is None


def test_former_key_of_a_reregistered_mr() -> None:
    lab = pair()
    mr = next(iter(lab.session.world.nodes["A"].mrs.items.values()))
    before = mr.lkey
    well(lab, "rereg_mr A.mr0 flags=CHANGE_ACCESS access=0")
    assert key_lookup.former(case_of(lab), "A", before) is None
    well(lab, f"rereg_mr A.mr0 flags=CHANGE_TRANSLATION addr={mr.addr:#x} length=64")
    gone = key_lookup.former(case_of(lab), "A", before)
    assert gone is not None
    assert (gone.event, gone.dead) == (lab.session.world.event, False)


def test_invalidated_key_of_a_window() -> None:
    bind = "post_send B.qp0 opcode=BIND_MW mw=B.mw0 bind=B.mr1[0:8] bind_access=REMOTE_READ"
    lab = lab_with(bind)
    key = lab.session.world.nodes["B"].mws.items[1].rkey
    assert key_lookup.invalidated(case_of(lab, "B.qp0"), "B", key) is None
    well(lab, "post_send B.qp0 opcode=LOCAL_INV invalidate_rkey=B.mw0")
    well(lab, "run")
    invalid = key_lookup.invalidated(case_of(lab, "B.qp0"), "B", key)
    assert invalid is not None
    assert invalid.why == "LOCAL_INV"


def posted(lab: Lab) -> SendWqe:
    qp = next(iter(lab.session.world.nodes["A"].qps.items.values()))
    return next(reversed(qp.sq.wqes.values()))


def test_rights_and_length_asked_of_the_peer() -> None:
    lab = Lab()
    for line in ("use rc_pair", WRITE):
        well(lab, line)
    assert key_lookup.asked_of_peer(posted(lab)) == (int(Access.REMOTE_WRITE), 16)
    well(lab, "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[0]")
    assert key_lookup.asked_of_peer(posted(lab)) == (int(Access.REMOTE_ATOMIC), 8)
    well(lab, "post_send A.qp0 opcode=FLUSH remote=B.mr0[0:99] flush_type=PERSISTENT")
    assert posted(lab).wr.opcode == WROpcode.FLUSH
    assert key_lookup.asked_of_peer(posted(lab)) == (int(Access.FLUSH_PERSISTENT), 99)


def test_a_rereg_mr_that_took_the_access_is_evidence() -> None:
    lab = lab_of(RECV,
                 "rereg_mr B.mr0 flags=CHANGE_ACCESS access=REMOTE_READ", SEND, "run",
                 "destroy_qp B.qp0")  # fmt: skip
    (cause, *_) = why(lab.session, "").causes
    (found,) = (each for each in cause.finding.evidence if "rereg_mr" in each.text)
    (call,) = Log(lab.session).of(Kind.REREGISTERED, "B")
    assert found.event == event_of(call)


def test_a_bind_without_a_range_leaves_a_window_without_a_key() -> None:
    bind = "bind_mw B.qp0 B.mw0 {} bind_access=REMOTE_READ flags=SIGNALED"
    lab = pair(
        "reg_mr B.mr1 pd=B.pd0 length=512 access=LOCAL_WRITE|REMOTE_READ|MW_BIND",
        "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1", bind.format("bind=B.mr1[0:256]"), "run",
        bind.format(""), "run",
        "post_send A.qp0 wr_id=7 opcode=RDMA_READ sg=A.mr0[0:16] remote_addr=B.mr1[0] rkey=B.mw0",
    )  # fmt: skip
    text = why(lab.session, "A.qp0.wr[7]").text
    assert "is of B.mw0, which is not bound (unbound in ev" in text
