"""The loads that are measured: each returns CPU seconds for one unit of its work."""

import time
from collections.abc import Generator
from dataclasses import replace
from typing import Any, cast

import simpy

from rdmalab.command import Invocation, Ref, Thing
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.lab import tune_garbage_collection
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.verbs.cq import poll_cq
from rdmalab.verbs.post import post_recv, post_send
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.event_queue import Door
from rdmalab.world.trace import Trace
from rdmalab.world.world import World
from tests.bench.silence import Silence

POPULATION = 16  # entries in the heap, for both run loops
OUTSTANDING = 64
POLLED = 16
FOREVER = 10**9


def simpy_timeout(events: int = 40_000) -> float:
    """One timeout of a SimPy process: the yardstick of all other loads."""
    env = simpy.Environment()

    def process() -> Generator[simpy.Event]:
        for _ in range(events // POPULATION):
            yield env.timeout(1)

    for _ in range(POPULATION):
        env.process(process())
    start = time.process_time()
    env.run()
    return (time.process_time() - start) / events


def event(events: int = 40_000) -> float:
    """One turn of the world's run loop, through a door that only files the next entry."""
    world = World(trace=Silence())
    agenda, port = world.agenda, Door.PORT

    class Filing:
        def turn(self, now_ns: int) -> None:
            agenda.file(now_ns + POPULATION, port, "A", None, -1)

    world.nodes["A"] = cast("Any", Filing())
    for at_ns in range(POPULATION):
        agenda.file(at_ns, port, "A", None, -1)
    start = time.process_time()
    world.run(events)
    return (time.process_time() - start) / events


class Pair:
    """Two connected QPs, and the things that a program would hold."""

    def __init__(self, options: str, trace: Trace | None = None) -> None:
        self.session = Session(World(trace=trace), VOCABULARY)
        for reply in replies(self.session, f"use rc_pair {options}"):
            assert not reply.failed
        self.world = self.session.world
        self.a, self.b = self.end("A"), self.end("B")
        self.rkey = self.world.nodes["B"].mrs.find(1).rkey

    def end(self, node: str) -> tuple[Thing, Thing, SGE]:
        """Queue pair, CQ, and all of the memory of one node."""
        qp, cq, mr = (self.session.names.find(f"{node}.{name}") for name in ("qp0", "cq0", "mr0"))
        assert qp
        assert cq
        assert mr
        memory = self.world.find(mr, MemoryRegion)
        return qp, cq, SGE(memory.addr, memory.length, memory.lkey)


def typed_verbs(trace: Trace | None = None, length: int = 64, rounds: int = 12) -> float:
    """One SEND of `length` bytes by direct calls: receive, send, both polls; 64 outstanding."""
    pair = Pair(_roomy(length), trace)
    world, send, recv = pair.world, post_send.function, post_recv.function
    (qp_a, cq_a, mr_a), (qp_b, cq_b, mr_b) = pair.a, pair.b
    start = time.process_time()
    for _ in range(rounds):
        for wr_id in range(OUTSTANDING):
            recv(world, qp_b, wr=[RecvWR(wr_id, [SGE(mr_b.addr, length, mr_b.lkey)])])
        for wr_id in range(OUTSTANDING):
            sg = [SGE(mr_a.addr, length, mr_a.lkey)]
            send(world, qp_a, wr=[SendWR(WROpcode.SEND, wr_id, sg, SendFlags.SIGNALED)])
        world.run(FOREVER)
        _drain(world, cq_a)
        _drain(world, cq_b)
    return (time.process_time() - start) / (rounds * OUTSTANDING)


def _roomy(length: int) -> str:
    """Room for the outstanding messages of `length` bytes, sent at path MTU 1024."""
    return f"max_send_wr=64 max_recv_wr=64 cqe=128 length={max(length, 4096)} mtu=1024"


def _drain(world: World, cq: Thing) -> None:
    poll, left = poll_cq.function, OUTSTANDING
    while left:
        left -= len(poll(world, cq, num_entries=POLLED))


def silent_verbs() -> float:
    """The same with a trace that writes nothing."""
    return typed_verbs(Silence())


def packet_of_64k() -> float:
    """One packet of 64 KiB messages at path MTU 1024 (64 data packets and an ACK each)."""
    return typed_verbs(length=65_536, rounds=1) / 65


def write_packet_of_64k() -> float:
    """One packet of 64 KiB RDMA WRITEs at path MTU 1024 (64 data packets and an ACK each)."""
    pair, length = Pair(_roomy(65_536)), 65_536
    world, send = pair.world, post_send.function
    (qp_a, cq_a, mr_a), (_, _, mr_b) = pair.a, pair.b
    start = time.process_time()
    for wr_id in range(OUTSTANDING):
        sg = [SGE(mr_a.addr, length, mr_a.lkey)]
        wr = SendWR(WROpcode.RDMA_WRITE, wr_id, sg, SendFlags.SIGNALED)
        send(world, qp_a, wr=[replace(wr, remote_addr=mr_b.addr, rkey=pair.rkey)])
    world.run(FOREVER)
    _drain(world, cq_a)
    return (time.process_time() - start) / (65 * OUTSTANDING)


def commands(rounds: int = 12) -> float:
    """One 64 B SEND through the session: the same four words as Invocations."""
    pair = Pair("max_send_wr=64 max_recv_wr=64 cqe=128")
    session, world = pair.session, pair.world
    start = time.process_time()
    for _ in range(rounds):
        for wr_id in range(OUTSTANDING):
            wr = {"wr_id": wr_id, "sg": [Ref("B", "mr0", 0, 64)]}
            session.perform(Invocation("post_recv", {"qp": Ref("B", "qp0"), "wr": [wr]}))
        for wr_id in range(OUTSTANDING):
            sg = [Ref("A", "mr0", 0, 64)]
            wr = {"opcode": WROpcode.SEND, "wr_id": wr_id, "sg": sg, "flags": SendFlags.SIGNALED}
            session.perform(Invocation("post_send", {"qp": Ref("A", "qp0"), "wr": [wr]}))
        world.run(FOREVER)
        for node in ("A", "B"):
            poll = Invocation("poll_cq", {"cq": Ref(node, "cq0"), "num_entries": POLLED})
            for _ in range(OUTSTANDING // POLLED):
                session.perform(poll)
    return (time.process_time() - start) / (rounds * OUTSTANDING)


def settle() -> None:
    """The collector as the lab sets it: see `rdmalab.lab.calm_collector`."""
    tune_garbage_collection()
