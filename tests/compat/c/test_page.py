"""The page of completion counts: empty polls without a message, in the journal all the same."""

import errno
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab.command import Invocation, Noun, Ref
from rdmalab.compat.c import wire
from rdmalab.compat.c.page import SIZE, SLOTS, Page
from rdmalab.compat.c.polls import Poll
from rdmalab.compat.c.server import Server
from rdmalab.lab import Lab
from rdmalab.spec.states import QPState, QPType
from tests.compat.c.running import compiled
from tests.compat.c.test_robustness import start
from tests.compat.c.test_server import Peer, serving
from tests.tools import needs

BUSY, ALL_LOOKS = 0, 1
READY, LOOKS, ENTRIES, THREAD = range(4)


class Looker(Peer):
    """A program by hand that has a page."""

    def __init__(self, server: Server, path: Path, node: str = "A") -> None:
        super().__init__(server, path)
        self.hello(node)
        self.at = "AB".index(node)
        self.say("share_page", self.at)
        self.turn()
        octets, descriptors, _, _ = socket.recv_fds(self.sock, wire.ANSWER.size, 1)
        assert wire.ANSWER.unpack(octets)[1] == 0
        self.descriptor = descriptors[0]
        self.words = memoryview(mmap.mmap(self.descriptor, SIZE)).cast("I")

    def create_cq(self) -> tuple[int, int]:
        """Handle and slot."""
        error, octets = self.ask("create_cq", self.at, cqe=8)
        assert error == 0
        handle, _, slot = struct.unpack("<3I", octets)
        return handle, slot

    def look(self, slot: int, entries: int = 3) -> bool:
        """An empty poll as the library makes it; whether it needs no message."""
        if self.words[BUSY] or self.words[4 * slot + READY]:
            return False
        self.words[4 * slot + ENTRIES], self.words[4 * slot + THREAD] = entries, os.getpid()
        self.words[4 * slot + LOOKS] += 1
        self.words[ALL_LOOKS] += 1
        return True


@pytest.fixture
def looker() -> Iterator[Looker]:
    with serving() as server:
        yield Looker(*server)


def journal(server: Server) -> list[str]:
    return [entry.invocation.name for entry in server.calls.session.journal]


def test_a_look_is_journaled_before_the_next_call(looker: Looker) -> None:
    _, slot = looker.create_cq()
    assert looker.look(slot)
    assert looker.look(slot)  # says nothing new
    looker.ask("alloc_pd")
    assert looker.look(slot)
    looker.ask("alloc_pd")
    assert journal(looker.server) == ["create_cq", "poll_cq", "alloc_pd", "poll_cq", "alloc_pd"]
    polled = looker.server.calls.session.journal[1].invocation
    assert (str(polled.arguments["cq"]), polled.arguments["num_entries"]) == ("A.cq0", 3)


def test_a_look_is_journaled_before_what_another_program_does(looker: Looker) -> None:
    other = Peer(looker.server, Path(looker.sock.getpeername()))
    other.hello("B")
    _, slot = looker.create_cq()
    assert looker.look(slot)
    other.ask("alloc_pd", 1)
    assert journal(looker.server) == ["create_cq", "poll_cq", "alloc_pd"]
    caller = looker.server.calls.callers[looker.server.calls.session.journal[1].event]
    assert caller.program == looker.server.calls.programs[0].name


def test_a_look_and_a_poll_make_a_program_that_waits(looker: Looker) -> None:
    handle, slot = looker.create_cq()
    program = looker.server.calls.programs[0]
    assert looker.look(slot)
    looker.server.calls.see_looks()
    assert not program.waits
    looker.say("poll_cq", handle=handle, num_entries=1)
    looker.server.turn(0)
    assert program.waits
    assert program in looker.server.polls.held


def pair_in_error(looker: Looker) -> None:
    """A.qp0, which completes a receive on A.cq0 as soon as it is posted."""
    calls, program = looker.server.calls, looker.server.calls.programs[0]
    pd, cq, qp = (Ref("A", name) for name in ("pd0", "cq0", "qp0"))
    calls.make(program, "alloc_pd", Noun.PD, "A")
    init = {"qp_type": QPType.UD, "send_cq": cq, "recv_cq": cq}
    calls.make(program, "create_qp", Noun.QP, "A", init_attr=init, pd=pd)
    up = {"qp_state": QPState.INIT, "pkey_index": 0, "port_num": 1, "qkey": 1}
    for attr in (up, {"qp_state": QPState.ERR}):
        calls.perform("modify_qp", qp=qp, attr=attr)


def post_recv(looker: Looker, wr_id: int) -> None:
    wr = [{"wr_id": wr_id, "sg": []}]
    looker.server.calls.perform("post_recv", qp=Ref("A", "qp0"), wr=wr)


def test_a_queue_shows_what_has_come_until_it_is_polled(looker: Looker) -> None:
    handle, slot = looker.create_cq()
    pair_in_error(looker)
    post_recv(looker, 1)
    post_recv(looker, 2)
    assert looker.words[BUSY]
    looker.server.happened()
    assert not looker.words[BUSY]
    left = []
    for _ in range(2):
        left.append(looker.words[4 * slot + READY])
        octets = looker.ask("poll_cq", handle=handle, num_entries=1)[1]
        assert len(octets) == wire.WC.size
    assert [*left, looker.words[4 * slot + READY]] == [1, 1, 0]


def test_an_answer_that_was_kept_back_is_the_call_of_who_has_polled(looker: Looker) -> None:
    """Though another program has called since."""
    calls, (handle, _) = looker.server.calls, looker.create_cq()
    pair_in_error(looker)
    other = Peer(looker.server, Path(looker.sock.getpeername()))
    other.hello("B")
    for _ in range(2):
        looker.say("poll_cq", handle=handle, num_entries=1)
        looker.server.turn(0)
        if calls.programs[0] not in looker.server.polls.held:
            looker.sock.recv(wire.ANSWER.size)
    calls.programs[1].name = "other"
    other.say("alloc_pd", 1)
    post_recv(looker, 1)
    looker.turn()
    polled = [entry for entry in calls.session.journal if entry.invocation.name == "poll_cq"]
    assert len(polled) == 2
    assert calls.callers[polled[-1].event].program == calls.programs[0].name
    looker.sock.recv(wire.ANSWER.size + wire.WC.size)


def test_a_queue_that_a_person_has_destroyed_is_no_queue(looker: Looker) -> None:
    handle, slot = looker.create_cq()
    looker.server.calls.session.perform(Invocation("destroy_cq", {"cq": Ref("A", "cq0")}))
    assert looker.look(slot)
    assert looker.ask("alloc_pd")[0] == 0
    assert looker.ask("poll_cq", handle=handle, num_entries=1)[0] == errno.EINVAL


def test_on_a_virtual_clock_each_poll_is_a_message(tmp_path: Path) -> None:
    made = Server(Lab(), tmp_path / "lab", lambda _: None, is_virtual=True)
    peer = Peer(made, tmp_path / "lab")
    peer.hello()
    assert peer.ask("share_page")[0] == errno.EOPNOTSUPP
    assert struct.unpack("<3I", peer.ask("create_cq", cqe=8)[1])[2] == 0
    made.close()
    peer.sock.close()


def test_a_page_has_as_many_queues_as_fit() -> None:
    page = Page()
    slots = [page.add() for _ in range(SLOTS)]
    assert sorted(slots) == [0, *range(1, SLOTS)]
    page.remove(slots[0])
    assert page.add() == slots[0]
    page.close()


def test_no_program_takes_the_page_from_under_the_lab(looker: Looker) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(looker.descriptor, 0)
    _, slot = looker.create_cq()
    for word in range(SIZE // 4):
        looker.words[word] = 0xFFFFFFFF
    assert looker.ask("alloc_pd")[0] == 0
    looker.words[4 * slot + LOOKS], looker.words[ALL_LOOKS] = 7, 8
    looker.words[4 * slot + ENTRIES] = 0
    assert looker.ask("alloc_pd")[0] == 0
    assert "poll_cq" not in journal(looker.server)


def test_after_the_end_of_the_lab_a_poll_is_a_message(looker: Looker) -> None:
    _, slot = looker.create_cq()
    looker.server.close()
    assert not looker.look(slot)


def served(program: subprocess.Popen[str], made: Server) -> None:
    """Serve a program until it ends."""
    until_s = time.monotonic() + 30
    while program.poll() is None and time.monotonic() < until_s:
        made.turn()


@needs("gcc")
def test_a_program_that_polls_in_vain_says_it_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, polls = Server(Lab(), tmp_path / "lab", lambda _: None), list[Poll]()
    serve = made.polls.serve

    def counted(poll: Poll) -> None:
        polls.append(poll)
        serve(poll)

    monkeypatch.setattr(made.polls, "serve", counted)
    with start(tmp_path / "lab", compiled("polls"), "300") as program:
        served(program, made)
        assert program.stdout is not None
        assert program.stdout.read() == "ready\n0 completions\n"
    made.close()
    assert 1 <= len(polls) <= 1 + 300 // 32
    assert journal(made) == ["create_cq", "poll_cq", "destroy_cq"]


@needs("gcc")
def test_a_program_that_only_polls_learns_that_the_lab_was_killed(tmp_path: Path) -> None:
    serve = (
        "import sys; from pathlib import Path; from rdmalab.lab import Lab;"
        "from rdmalab.compat.c.server import Server;"
        "made = Server(Lab(), Path(sys.argv[1]), print); print('here', flush=True)\n"
        "while True: made.turn()"
    )
    path = tmp_path / "lab"
    words = [sys.executable, "-c", serve, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        lab.stdout.readline()
        with start(path, compiled("polls"), "1000000") as program:
            assert program.stdout is not None
            program.stdout.readline()
            time.sleep(0.2)
            lab.send_signal(signal.SIGKILL)
            assert program.wait(20) == 3
            assert program.stdout.read() == "Input/output error\n"
