"""The process of a skin: its words are journaled, its memory is mirrored, its waits move time."""

import ctypes
import threading
from contextlib import AbstractContextManager, nullcontext
from errno import EINVAL

import pytest

from rdmalab.command import Invocation, New, Noun, Ref, Refused
from rdmalab.compat import process
from rdmalab.compat.process import DeviceWarning, Objects, Process
from rdmalab.hca import dma
from rdmalab.lab import Lab
from rdmalab.spec.access import Access
from tests.digest import digest

RIGHTS = int(Access.LOCAL_WRITE)
MS = 1_000_000


def with_region(played: Process, length: int = 4096) -> tuple[Ref, int]:
    """An MR on A over memory of this process; its name and where that memory is."""
    pd = played.make("alloc_pd", Noun.PD, "A")
    ref = played.make("reg_mr", Noun.MR, "A", pd=pd, length=length, access=RIGHTS)
    real = played.buffers.allocate(length)
    played.buffers.mirror("A", real, played.find(ref).addr, length).regions.append(ref)
    return ref, real


def words(played: Process) -> list[str]:
    return [entry.invocation.name for entry in played.session.journal]


def test_devices_are_the_nodes_in_order() -> None:
    assert Process().devices == {"rdmalab0": "A", "rdmalab1": "B"}


def test_objects_get_the_names_of_the_lab_and_never_the_same_twice() -> None:
    played = Process()
    names = [str(played.make("alloc_pd", Noun.PD, node)) for node in ("A", "A", "B")]
    assert names == ["A.pd0", "A.pd1", "B.pd0"]
    played.call("dealloc_pd", pd=Ref("A", "pd1"))
    assert str(played.make("alloc_pd", Noun.PD, "A")) == "A.pd2"


def test_a_refusal_is_raised_and_takes_no_name() -> None:
    played = Process()
    with pytest.raises(Refused) as caught:
        played.make("create_cq", Noun.CQ, "A", cqe=0)
    assert caught.value.errno == EINVAL
    assert str(played.make("create_cq", Noun.CQ, "A", cqe=1)) == "A.cq0"


def test_what_the_program_wrote_is_in_the_journal_before_the_next_call() -> None:
    played = Process()
    ref, real = with_region(played)
    ctypes.memmove(real + 16, b"\x00\xffhello", 7)
    played.call("create_cq", cq=New(Noun.CQ, "A", "cq0"), cqe=4)
    assert words(played) == ["alloc_pd", "reg_mr", "write", "create_cq"]
    region = played.find(ref)
    assert played.world.nodes["A"].memory.read(region.addr + 16, 7) == b"\x00\xffhello"


def test_what_an_adapter_wrote_is_in_the_memory_of_the_program() -> None:
    played = Process()
    ref, real = with_region(played)
    hca, region = played.world.nodes["A"], played.find(ref)
    dma.write(hca, region, region.addr + 8, b"from far")
    played.fetch()
    assert ctypes.string_at(real + 8, 8) == b"from far"
    played.publish()
    assert "write" not in words(played)  # it did not come from the program


def replayed(played: Process) -> Process:
    """The same journal in a fresh lab, each word as the event it was."""
    again = Process()
    for event, at_ns, invocation in played.session.journal:
        world = again.world
        between = event - 1 - world.event
        assert world.run(between) == between
        world.advance(at_ns)
        again.session.perform(invocation)
    return again


def writing_early(*, under_way: bool) -> AbstractContextManager[object]:
    """The device warns of bytes that the program changes under a send, and of no others."""
    early = r"these bytes belong to the HCA until wr\d of A.qp0 completes"
    return pytest.warns(DeviceWarning, match=early) if under_way else nullcontext()


def test_the_journal_alone_makes_the_same_world() -> None:
    """Nothing that a skin does is left out of it: names, bytes, times."""
    played = Process()
    assert not any(reply.failed for reply in played.lab.do("use rc_pair"))
    source, target = Ref("A", "mr0"), Ref("B", "mr0")
    real = played.buffers.allocate(4096)
    mirror = played.buffers.mirror("A", real, played.find(source).addr, 4096)
    mirror.regions.append(source)
    sg = [Ref("B", "mr0", 0, 64)]
    for number in range(5):
        ctypes.memmove(real + number, bytes([number + 1]) * 9, 9)
        with writing_early(under_way=number > 0):
            played.call("post_recv", qp=Ref("B", "qp0"), wr=[{"wr_id": number, "sg": sg}])
        wr = {"opcode": 2, "wr_id": number, "sg": [Ref("A", "mr0", 0, 64)], "flags": 2}
        played.call("post_send", qp=Ref("A", "qp0"), wr=[wr])
        played.glance()
        played.call("poll_cq", cq=Ref("A", "cq0"), num_entries=4)
    played.make("create_cq", Noun.CQ, "B", cqe=4)
    assert "write" in words(played)
    again = replayed(played)
    assert digest(again.world.trace) == digest(played.world.trace)
    region = again.find(target)
    assert again.world.nodes["B"].memory.read(region.addr, 5) == bytes([1, 2, 3, 4, 5])


def test_waiting_moves_the_time_of_the_lab() -> None:
    played = Process()
    played.sleep(7 * MS)
    assert played.world.now_ns == 7 * MS
    played.glance()  # nothing happens, so it takes as long as one may look
    assert played.world.now_ns == 8 * MS
    assert played.is_idle()
    before = played.clock_ns()
    assert played.clock_ns() > before


def test_a_glance_ends_with_the_first_news() -> None:
    played = Process()
    for line in (
        "use ud_pair",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED ah=A.ah0 remote_qpn=B.qp0"
        " remote_qkey=0x11111111",
    ):
        assert not any(reply.failed for reply in played.lab.do(line))
    played.glance()
    assert len(played.world.nodes["A"].cqs.items[1].cqes) == 1
    assert played.world.now_ns < MS


def test_there_is_one_process_until_another_is_begun() -> None:
    first = process.begin("rxe")
    assert process.here() is first
    assert first.world.nodes["A"].profile.name == "rxe"
    assert process.begin() is process.here() is not first


def test_who_waits_leaves_the_other_threads_their_turn() -> None:
    played = Process()
    assert not any(reply.failed for reply in played.lab.do("use rc_pair"))
    posted = threading.Event()

    def post() -> None:
        posted.wait(10)
        played.call("post_recv", qp=Ref("B", "qp0"), wr=[{"sg": [Ref("B", "mr0", 0, 64)]}])
        wr = {"opcode": 2, "sg": [Ref("A", "mr0", 0, 64)], "flags": 2}
        played.call("post_send", qp=Ref("A", "qp0"), wr=[wr])

    other = threading.Thread(target=post)
    other.start()
    assert not played.is_idle()  # it may still do something
    posted.set()
    queue = played.find(Ref("B", "cq0"))
    while not queue.cqes:
        assert not played.is_idle()
        played.glance()
    other.join()
    played.sleep(MS)
    assert played.is_idle()


def test_many_threads_at_once_do_no_harm() -> None:
    played = Process()

    def work(node: str) -> None:
        for _ in range(50):
            played.call("dealloc_pd", pd=played.make("alloc_pd", Noun.PD, node))

    threads = [threading.Thread(target=work, args=(node,)) for node in "ABAB"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(words(played)) == 400
    assert not played.world.nodes["A"].pds.items


def test_a_name_is_the_first_free_one_and_not_given_again() -> None:
    lab = Lab()
    lab.do("alloc_pd A.pd0")
    objects = Objects(lab.session)

    def perform(word: str, **arguments: object) -> None:
        assert lab.session.perform(Invocation(word, arguments)).refusal is None

    assert objects.make(perform, "alloc_pd", Noun.PD, "A") == Ref("A", "pd1")
    assert objects.find(Ref("A", "pd1")).number
    perform("dealloc_pd", pd=Ref("A", "pd1"))
    assert objects.make(perform, "alloc_pd", Noun.PD, "A") == Ref("A", "pd2")
    assert objects.make(perform, "alloc_pd", Noun.PD, "B") == Ref("B", "pd0")
    with pytest.raises(KeyError):
        objects.find(Ref("A", "pd9"))


def test_a_refused_command_leaves_its_name_free() -> None:
    objects = Objects(Lab().session)

    def refuse(_word: str, **_arguments: object) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        objects.make(refuse, "alloc_pd", Noun.PD, "A")
    names: list[object] = []
    objects.make(lambda _, **given: names.extend(given.values()), "alloc_pd", Noun.PD, "A")
    assert str(names[0]).endswith("pd0")
