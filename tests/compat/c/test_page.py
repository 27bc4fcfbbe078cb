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
from contextlib import suppress
from pathlib import Path

import pytest

from rdmalab.command import Invocation, Noun, Ref
from rdmalab.compat.c import page as pages
from rdmalab.compat.c import wire
from rdmalab.compat.c.page import ENTRIES, PAIRS, SHOWN, SIZE, SLOTS, Page
from rdmalab.compat.c.polls import Poll
from rdmalab.compat.c.server import Server
from rdmalab.grammar.trees import render
from rdmalab.lab import Lab
from rdmalab.spec.states import QPState, QPType
from tests.compat.c.running import compiled
from tests.compat.c.test_robustness import start
from tests.compat.c.test_server import Peer, serving
from tests.each import chance_of
from tests.tools import needs

BUSY, INSIDE, MADE, SEEN, NEWS, BLOCKED, WANTS = range(7)
PAIRS_AT = 10  # in words
SENDS_AT = PAIRS_AT + PAIRS
QUEUES_AT = SENDS_AT + PAIRS
SHOWN_WORDS = wire.WC.size // 4 + 2
SLOT = 2 + SHOWN * SHOWN_WORDS
ENTRIES_AT = QUEUES_AT + SLOTS * SLOT
POLL, RECEIVE = wire.NUMBERS["poll_cq"], wire.NUMBERS["post_recv"]
SEND = wire.NUMBERS["post_send"]


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

    def create_cq(self, cqe: int = 8) -> tuple[int, int]:
        """Handle and slot."""
        error, octets = self.ask("create_cq", self.at, cqe=cqe)
        assert error == 0
        handle, _, slot = struct.unpack("<3I", octets)
        return handle, slot

    def create_qp(self, cq: int) -> tuple[int, int]:
        """Handle and slot of a queue pair in INIT."""
        pd = struct.unpack("<I", self.ask("alloc_pd", self.at)[1])[0]
        cap = {"max_send_wr": 32, "max_recv_wr": 4, "max_send_sge": 1, "max_recv_sge": 1}
        given = {"pd": pd, "qp_type": int(QPType.RC), "send_cq": cq, "recv_cq": cq, "cap": cap}
        self.send("create_qp", self.at, given)
        error, octets = self.answer()
        assert error == 0
        handle, slot = struct.unpack_from("<2I", octets)
        self.modify_qp(handle, QPState.INIT)
        return handle, slot

    def modify_qp(self, handle: int, state: QPState) -> None:
        attr = {"qp_state": int(state), "port_num": 1}
        mask = 1 | (1 << 3 | 1 << 4 | 1 << 5 if state is QPState.INIT else 0)
        self.send("modify_qp", self.at, {"handle": handle, "mask": mask, "attr": attr})
        assert self.answer()[0] == 0

    def produced(self, slot: int) -> int:
        """Number of completions that a queue ever showed."""
        return self.words[QUEUES_AT + (slot - 1) * SLOT]

    def is_whole(self, slot: int) -> bool:
        return bool(self.words[QUEUES_AT + (slot - 1) * SLOT + 1])

    def enter(self, word: int, body: bytes, thread: int = 0) -> bool:
        """One more entry as the library makes it; False where a message is due."""
        if self.words[BUSY]:
            return False
        octets = wire.HEAD.pack(len(body), word, self.at, thread or os.getpid(), 0, 0) + body
        at = 4 * ENTRIES_AT + self.words[MADE] % ENTRIES * wire.ENTRY_SIZE
        self.words.cast("B")[at : at + len(octets)] = octets
        self.words[MADE] = (self.words[MADE] + 1) & 0xFFFFFFFF
        return True

    def poll(self, handle: int, taken: int = 0, entries: int = 3) -> bool:
        """A poll that has taken so many completions of those that are shown."""
        fields = {"handle": handle, "num_entries": entries, "taken": taken}
        return self.enter(POLL, wire.POLL_ENTRY.pack(fields))

    def receive(self, handle: int, wr_id: int) -> bool:
        """A receive without a buffer."""
        return self.enter(RECEIVE, wire.RECEIVE_ENTRY.pack({"handle": handle, "wr_id": wr_id}))

    def granted(self, slot: int) -> int:
        """Number of receives that ever were promised to be accepted."""
        return self.words[PAIRS_AT + slot - 1]


@pytest.fixture
def looker() -> Iterator[Looker]:
    with serving() as server:
        yield Looker(*server)


def journal(server: Server) -> list[str]:
    return [entry.invocation.name for entry in server.calls.session.journal]


def test_a_look_is_journaled_before_the_next_call(looker: Looker) -> None:
    handle, _ = looker.create_cq()
    assert looker.poll(handle)
    assert looker.poll(handle)  # says nothing new
    looker.ask("alloc_pd")
    assert looker.poll(handle)
    looker.ask("alloc_pd")
    assert journal(looker.server) == ["create_cq", "poll_cq", "alloc_pd", "poll_cq", "alloc_pd"]
    polled = looker.server.calls.session.journal[1].invocation
    assert (str(polled.arguments["cq"]), polled.arguments["num_entries"]) == ("A.cq0", 3)


def test_a_look_is_journaled_before_what_another_program_does(looker: Looker) -> None:
    other = Peer(looker.server, Path(looker.sock.getpeername()))
    other.hello("B")
    handle, _ = looker.create_cq()
    assert looker.poll(handle)
    other.ask("alloc_pd", 1)
    assert journal(looker.server) == ["create_cq", "poll_cq", "alloc_pd"]
    caller = looker.server.calls.callers[looker.server.calls.session.journal[1].event]
    assert caller.program == looker.server.calls.programs[0].name


def test_a_look_and_a_poll_make_a_program_that_waits(looker: Looker) -> None:
    handle, _ = looker.create_cq()
    program = looker.server.calls.programs[0]
    assert looker.poll(handle)
    looker.server.calls.see()
    assert not program.waits
    looker.say("poll_cq", handle=handle, num_entries=1)
    looker.server.turn(0)
    assert program.waits
    assert program in looker.server.polls.held


def test_a_look_before_a_sleep_does_not_end_it(looker: Looker) -> None:
    handle, _ = looker.create_cq()
    program = looker.server.calls.programs[0]
    assert looker.poll(handle)
    looker.say("sleep", noun=0, number=0, thread=os.getpid())
    looker.server.turn(0)
    looker.server.calls.see()
    assert program.waits
    assert [word for word, *_ in program.blocks.values()] == ["get_async_event"]


def test_a_program_that_polls_in_vain_under_a_held_world_is_stuck(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdmalab.compat.c.pace.STILL_S", 0.0)
    handle, _ = looker.create_cq()
    looker.server.calls.is_held = True
    for _ in range(2):
        looker.say("poll_cq", handle=handle, num_entries=1)
        looker.turn()
    until_s = time.monotonic() + 5
    while not looker.server.trouble.stuck and time.monotonic() < until_s:
        looker.server.turn()
    assert looker.server.trouble.stuck
    assert [str(each) for each in map(render, looker.server.calls.session.unanswered)] == ["A.cq0"]


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


def failed_receives(looker: Looker, *wr_ids: int) -> None:
    """Receives on A.qp0 that complete with an error, of which programs are told."""
    for wr_id in wr_ids:
        post_recv(looker, wr_id)
    looker.server.happened()


def connected(looker: Looker) -> tuple[int, int, int]:
    """Handle and slot of A.cq0, on which A.qp0 completes; the handle of A.qp0, a peer of B.qp0."""
    cq, slot = looker.create_cq(64)
    qp, _ = looker.create_qp(cq)
    for line in ("alloc_pd B.pd0", "create_cq B.cq0 cqe=64",
                 "create_qp B.qp0 pd=B.pd0 send_cq=B.cq0 recv_cq=B.cq0 qp_type=RC max_recv_wr=64",
                 "modify_qp A.qp0 state=RESET", "connect A.qp0 B.qp0"):  # fmt: skip
        typed(looker, line)
    return cq, slot, qp


def typed(looker: Looker, line: str) -> None:
    """A line of a person, of which programs are told."""
    looker.server.calls.close_gates()
    replies = looker.server.calls.lab.do(line)
    assert not any(reply.failed for reply in replies), replies
    looker.server.happened()


def send(looker: Looker, *wr_ids: int) -> None:
    """Sends on A.qp0 that complete with SUCCESS."""
    calls = looker.server.calls
    for wr_id in wr_ids:
        calls.lab.do(f"post_recv B.qp0 wr_id={wr_id}")
        calls.lab.do(f"post_send A.qp0 wr_id={wr_id} opcode=SEND flags=SIGNALED")
        calls.lab.do("run")
        calls.lab.do("poll_cq B.cq0")
    looker.server.happened()


def polls(looker: Looker) -> list[int]:
    """How many completions each poll of A.cq0 in the journal asked for."""
    entries = [each.invocation for each in looker.server.calls.session.journal]
    asked = [each.arguments for each in entries if each.name == "poll_cq"]
    return [each.get("num_entries", 1) for each in asked if str(each["cq"]) == "A.cq0"]


def test_a_queue_shows_what_has_come_until_the_program_takes_it(looker: Looker) -> None:
    cq, slot, _ = connected(looker)
    send(looker, 1, 2, 3)
    assert (looker.produced(slot), looker.is_whole(slot)) == (3, True)
    at = 4 * (QUEUES_AT + (slot - 1) * SLOT + 2)
    octets = looker.words.cast("B")
    wr_ids = [wire.WC.unpack(octets, at + n * 4 * SHOWN_WORDS)["wr_id"] for n in range(3)]
    assert wr_ids == [1, 2, 3]
    assert looker.poll(cq, taken=2, entries=2)
    assert looker.poll(cq, taken=1, entries=16)
    looker.ask("alloc_td")
    assert polls(looker) == [2, 16]
    queue = looker.server.calls.queue(("A", Noun.CQ, cq))
    assert queue
    assert not queue.cqes
    assert looker.produced(slot) == 3
    assert journal(looker.server)[-1] == "alloc_td"


def test_a_poll_that_is_read_late_asks_for_what_it_has_got(looker: Looker) -> None:
    """Else the same poll would find more when the session is played again."""
    cq, slot, _ = connected(looker)
    send(looker, 1)
    assert looker.poll(cq, taken=1, entries=16)
    send(looker, 2)
    looker.server.calls.see()
    assert polls(looker) == [1]
    assert looker.produced(slot) == 2


def test_an_empty_poll_that_is_read_late_is_no_poll_of_what_has_come(looker: Looker) -> None:
    cq, _, _ = connected(looker)
    assert looker.poll(cq)
    send(looker, 1)
    looker.server.calls.see()
    assert not polls(looker)


def test_of_many_completions_some_are_shown(looker: Looker) -> None:
    cq, slot, _ = connected(looker)
    send(looker, *range(SHOWN + 2))
    assert (looker.produced(slot), looker.is_whole(slot)) == (SHOWN, False)
    assert looker.poll(cq, taken=3)
    looker.ask("alloc_td")
    assert (looker.produced(slot), looker.is_whole(slot)) == (SHOWN + 2, True)


def test_a_completion_with_an_error_needs_a_message(looker: Looker) -> None:
    handle, slot = looker.create_cq()
    pair_in_error(looker)
    failed_receives(looker, 1, 2)
    left = []
    for _ in range(2):
        left.append((looker.produced(slot), looker.is_whole(slot)))
        octets = looker.ask("poll_cq", handle=handle, num_entries=1)[1]
        assert len(octets) == wire.WC.size
    assert [*left, (looker.produced(slot), looker.is_whole(slot))] == [
        (0, False), (0, False), (0, True),
    ]  # fmt: skip


def test_while_a_command_may_take_completions_away_a_poll_is_a_message(looker: Looker) -> None:
    cq, slot, _ = connected(looker)
    send(looker, 1, 2)
    looker.server.calls.close_gates()
    assert not looker.poll(cq, taken=1)
    looker.server.calls.lab.do("poll_cq A.cq0")
    looker.server.happened()
    assert (looker.produced(slot), looker.is_whole(slot)) == (1, True)
    at = 4 * (QUEUES_AT + (slot - 1) * SLOT + 2)
    assert wire.WC.unpack(looker.words.cast("B"), at)["wr_id"] == 2


def test_completions_of_a_queue_pair_that_is_reset_go_with_it(looker: Looker) -> None:
    cq, slot, qp = connected(looker)
    send(looker, 1, 2)
    queue = looker.server.calls.queue(("A", Noun.CQ, cq))
    assert queue
    queue.cqes.clear()  # mlx5 does so
    looker.modify_qp(qp, QPState.RESET)
    assert (looker.produced(slot), looker.is_whole(slot)) == (0, True)


def test_receives_are_posted_before_the_next_call(looker: Looker) -> None:
    cq, _ = looker.create_cq()
    qp, slot = looker.create_qp(cq)
    assert looker.granted(slot) == 0
    tail = wire.RECEIVE.pack({"wr_id": 1})
    assert looker.ask("post_recv", 0, tail, handle=qp, count=1)[0] == 0
    assert looker.granted(slot) == 3  # of four
    for wr_id in (2, 3, 4):
        assert looker.receive(qp, wr_id)
    assert looker.poll(cq)
    error, _ = looker.ask("post_recv", 0, wire.RECEIVE.pack({"wr_id": 5}), handle=qp, count=1)
    assert error == errno.ENOMEM
    assert journal(looker.server)[-6:] == [*["post_recv"] * 4, "poll_cq", "post_recv"]
    queue = looker.server.calls.world.nodes["A"].qps.items[qp].rq
    assert [wqe.wr.wr_id for wqe in queue.wqes] == [1, 2, 3, 4]
    assert looker.granted(slot) == 3


def test_a_promise_to_a_queue_pair_ends_with_its_state(looker: Looker) -> None:
    qp, slot = looker.create_qp(looker.create_cq()[0])
    looker.ask("post_recv", 0, wire.RECEIVE.pack({"wr_id": 1}), handle=qp, count=1)
    assert looker.receive(qp, 2)
    looker.modify_qp(qp, QPState.ERR)
    assert looker.granted(slot) == 1  # as many as were posted
    looker.ask("post_recv", 0, wire.RECEIVE.pack({"wr_id": 3}), handle=qp, count=1)
    assert looker.granted(slot) == 1  # each completes at once


def test_a_program_that_stays_inside_loses_its_connection(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_INSIDE_S", 0.01)
    looker.words[INSIDE] = 1
    looker.say("alloc_pd")
    looker.turn()
    assert not looker.server.calls.programs
    assert looker.sock.recv(4096)[:4] == wire.ANSWER.pack(4, 0, 0)[:4]
    assert not looker.sock.recv(1)


@pytest.mark.parametrize("what", ["taken", "word", "node", "handle", "count", "pieces"])
def test_nonsense_in_a_page_ends_the_page(looker: Looker, what: str) -> None:
    cq, _ = looker.create_cq()
    qp, _ = looker.create_qp(cq)
    if what == "taken":
        looker.poll(cq, taken=1)
    elif what == "word":
        looker.enter(wire.NUMBERS["destroy_qp"], wire.POLL_ENTRY.pack({"handle": qp}))
    elif what == "node":
        looker.at = 7
        looker.poll(cq)
        looker.at = 0
    elif what == "handle":
        looker.receive(qp + 1, 1)
    elif what == "count":
        looker.words[MADE] = ENTRIES + 1
    else:
        looker.enter(RECEIVE, wire.RECEIVE_ENTRY.pack({"handle": qp, "num_sge": 2}))
    before = journal(looker.server)
    assert looker.ask("alloc_td")[0] == 0
    assert journal(looker.server) == [*before, "alloc_td"]
    assert looker.server.calls.programs[0].page is None
    assert looker.words[BUSY]
    assert looker.ask("poll_cq", handle=cq, num_entries=1) == (0, b"")


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
    handle, _ = looker.create_cq()
    looker.server.calls.session.perform(Invocation("destroy_cq", {"cq": Ref("A", "cq0")}))
    assert looker.poll(handle)
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
    for add, remove, most in (
        (page.add, page.remove, SLOTS), (page.add_pair, page.remove_pair, PAIRS),
    ):  # fmt: skip
        slots = [add() for _ in range(most + 1)]
        assert sorted(slots) == list(range(most + 1))
        remove(slots[0])
        assert add() == slots[0]
    page.close()


def test_no_program_takes_the_page_from_under_the_lab(looker: Looker) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(looker.descriptor, 0)
    for word in range(SIZE // 4):
        looker.words[word] = 0xFFFFFFFF
    assert looker.ask("alloc_pd")[0] == 0
    assert looker.ask("alloc_pd")[0] == 0
    assert journal(looker.server) == ["alloc_pd", "alloc_pd"]


def test_after_the_end_of_the_lab_a_poll_is_a_message(looker: Looker) -> None:
    handle, _ = looker.create_cq()
    looker.server.close()
    assert not looker.poll(handle)


def served(program: subprocess.Popen[str], made: Server) -> None:
    """Serve a program until it ends."""
    until_s = time.monotonic() + 30
    while program.poll() is None and time.monotonic() < until_s:
        made.turn()


@needs("gcc")
def test_a_program_that_polls_in_vain_says_it_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, asked = Server(Lab(), tmp_path / "lab", lambda _: None), list[Poll]()
    serve = made.polls.serve

    def counted(poll: Poll) -> None:
        asked.append(poll)
        serve(poll)

    monkeypatch.setattr(made.polls, "serve", counted)
    with start(tmp_path / "lab", compiled("polls"), "300") as program:
        served(program, made)
        assert program.stdout is not None
        assert program.stdout.read() == "ready\n0 completions\n"
    made.close()
    assert 1 <= len(asked) <= 1 + 300 // 32
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


def test_hostile_entries_do_no_harm(looker: Looker) -> None:
    """A program that was there before goes on, and so does the one that wrote them."""
    other = Looker(looker.server, Path(looker.sock.getpeername()), "B")
    handle, _ = other.create_cq()
    program = Looker(looker.server, Path(looker.sock.getpeername()))
    cq, _ = program.create_cq()
    qp, slot = program.create_qp(cq)
    page = looker.server.calls.programs[-1].page
    for number in range(1_000):
        chance = chance_of("hostile entries", number)
        program.words[PAIRS_AT + slot - 1] = chance.getrandbits(32)
        program.at = chance.choice((0, 0, 0, 1, 65_535))
        named = chance.choice((cq, qp, handle, chance.getrandbits(32)))
        small = chance.choice((0, 1, 1, 2, 2**31, 2**32 - 1))
        fields = {"handle": named, "num_entries": small, "num_sge": small}
        fields |= {name: chance.getrandbits(32) for name in ("wr_id", "addr", "length", "lkey")}
        fields["taken"] = chance.choice((0, 1))
        fields |= {name: chance.getrandbits(32) for name in ("opcode", "send_flags", "imm_data")}
        kind, layout = chance.choice(
            ((POLL, wire.POLL_ENTRY), (RECEIVE, wire.RECEIVE_ENTRY), (SEND, wire.SEND_ENTRY))
        )
        program.enter(kind, layout.pack(fields))
        assert page is not None
        with suppress(ValueError):  # then the lab would look no more into the page
            looker.server.calls.on_page(looker.server.calls.programs[-1], page)
    program.at = 0
    assert program.ask("alloc_td")[0] == 0
    assert other.poll(handle)
    assert other.ask("alloc_td", 1)[0] == 0
    assert journal(looker.server)[-2:] == ["poll_cq", "alloc_td"]
