"""Memory that processes and nodes have in common: what one side has written, the other gets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter

from rdmalab.command import Invocation, Noun, Ref
from rdmalab.compat.c.program import Handle, Program
from rdmalab.hca.memory import PAGE
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Record
from rdmalab.spec.work import WORK, Local
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door

_FILLS = frozenset(opcode for opcode, row in WORK.items() if row.local is Local.SCATTER)
_HAS_LONG = attrgetter("memory.has_long")
_PORT, _READ = Door.PORT, Op.RDMA_READ_REQUEST
_FILLED = 16  # so many equal bytes become `fill`, not `write`
_COPIES, _COPIES_ROOM = 1 << 47, 1 << 20  # where no program of user space has memory


class SharedMemory:
    """Copies between the memory of programs and that of their nodes.

    programs, names: those of the lab, by reference. perform: carries out a command of a program.
    """

    def __init__(
        self,
        session: Session,
        programs: list[Program],
        names: Mapping[Handle, Ref],
        perform: Callable[..., object],
    ) -> None:
        self.session, self.world = session, session.world
        self.programs, self.names, self.perform = programs, names, perform
        self.has_long = False  # some region is compared in part only
        self.compared: set[str] = set()  # nodes whose programs have been compared meanwhile

    def settle(self) -> None:
        """Programs may write again: all are compared before the next event that reads."""
        self.has_long = any(map(_HAS_LONG, self.programs))
        self.compared.clear()

    def map(self, program: Program, node: str, addr: int, length: int) -> int:
        """Give a node the memory that a process has at an address; returns the node's address."""
        place = addr + program.memory.distance
        if not self.world.nodes[node].memory.is_mapped(place, length):
            first = place & ~(PAGE - 1)
            last = (place + length + PAGE - 1) & ~(PAGE - 1)
            self.perform("map_memory", node=Ref(node), addr=first, length=last - first)
        return place

    def lend(self, program: Program, node: str, addr: int, octets: bytes) -> int:
        """Bytes that a call copies at once (INLINE): the node has them at the same address.

        At another one if they were copied from registered memory, and the program has changed it
        since: wr_set_inline_data copies, and wr_complete brings the bytes here.
        """
        place, length = self.map(program, node, addr, max(len(octets), 1)), len(octets)
        read = self.world.nodes[node].memory.read
        if read(place, length) != octets:
            self.publish(program)
        if read(place, length) != octets:
            if program.memory.has_any_of(addr, length):
                place = self.map(program, node, _COPIES + program.lent, length)
                program.lent = (program.lent + length) % _COPIES_ROOM
            self.perform("poke", node=Ref(node), addr=place, text=octets.decode("latin-1"))
        return place

    def publish(self, *writers: Program) -> None:
        """Copy what programs have written to the nodes, as far as they are about to be read.

        writers: those that act now; what others have written is copied when they act, or before an
        event that reads memory of their node, the first of several. To compare all before each
        event took a third of the time of a pingpong.
        """
        reader = self._next_reader()
        if reader in self.compared:
            reader = ""
        elif reader:
            self.compared.add(reader)
        for program in self.programs if reader else writers:
            if program in writers or program.node in (reader, ""):
                for addr, octets in program.memory.changes():
                    self._written(program, addr, octets)
        if self.has_long:
            for node, addr, length in self._next_reads():
                self._publish_long(node, addr, length)

    def publish_before_send(self, program: Program) -> None:
        """Copy what a program has written before it posted a send by its page.

        The program has gone on since: what it writes before the send is done is a race, as with a
        device. So where it is alone on its node, that node is compared.
        """
        for addr, octets in program.memory.changes():
            self._written(program, addr, octets)
        if sum(each.node in (program.node, "") for each in self.programs) == 1:
            self.compared.add(program.node)

    def publish_all(self) -> None:
        """Copy all of it, for several events."""
        self.publish(*self.programs)
        for program in self.programs:
            for addr, length in program.regions.values():
                for start, octets in program.memory.changes_in(addr, length):
                    self._written(program, start, octets)

    def _next_reader(self) -> str:
        """The node whose memory the next event may read; empty if it reads none."""
        heap = self.world.agenda.heap
        if not heap:
            return ""
        _, _, door, node, argument, _ = heap[0]
        if door is _PORT:
            return node if self.world.nodes[node].may_read_next else ""
        if isinstance(argument, Packet) and (
            argument.atomiceth is not None
            or (argument.reth is not None and argument.opcode_row.op is _READ)
        ):
            return node
        return ""

    def _publish_long(self, node: str, addr: int, length: int) -> None:
        for program in self.programs:
            if program.node in (node, ""):
                first = addr - program.memory.distance
                for start, octets in program.memory.changes_in(first, length):
                    self._written(program, start, octets)

    def publish_sges(self, node: str, sges: Iterable[Mapping[str, int]]) -> None:
        """Copy what a request will read or fill, before it is posted: it was written before."""
        if self.has_long:
            for sge in sges:
                for place in self._translated(node, sge["addr"], sge["length"]):
                    self._publish_long(*place)

    def _written(self, program: Program, addr: int, octets: bytes) -> None:
        place, text = addr + program.memory.distance, octets.decode("latin-1")
        is_fill = len(octets) > _FILLED and not octets.strip(octets[:1])
        for (node, noun, number), (start, length) in program.regions.items():
            if noun is Noun.MR and start <= addr and addr + len(octets) <= start + length:
                name = self.names[node, noun, number].name
                where = Ref(node, name, addr - start, addr - start + len(octets))
                if is_fill:
                    self.session.perform(Invocation("fill", {"where": where, "byte": octets[0]}))
                else:
                    self.session.perform(Invocation("write", {"where": where, "text": text}))
                return
        node = program.node or next(iter(self.world.nodes))
        if self.world.nodes[node].memory.is_mapped(place, len(octets)):
            given = {"node": Ref(node), "addr": place, "text": text}
            self.session.perform(Invocation("poke", given))

    def _next_reads(self) -> Iterator[tuple[str, int, int]]:
        """Memory that the next event will read: node, address, length in bytes."""
        heap = self.world.agenda.heap
        if not heap:
            return
        _, _, door, node, argument, _ = heap[0]
        if door is Door.PORT:
            yield from self._next_packets(node)
        elif isinstance(argument, Packet) and argument.opcode_row.op is Op.RDMA_READ_REQUEST:
            if argument.reth is not None:
                yield from self._translated(node, argument.reth.va, argument.reth.dma_length)
        elif isinstance(argument, Packet) and argument.atomiceth is not None:
            yield from self._translated(node, argument.atomiceth.va, 8)

    def _next_packets(self, node: str) -> Iterator[tuple[str, int, int]]:
        """The bytes of the packet that each request in a send queue will send next."""
        for qp in self.world.nodes[node].qps.items.values():
            mtu = 128 << int(qp.attr.path_mtu or 5)
            for wqe in qp.sq.wqes.values():
                if wqe.inline is not None or wqe.wr.opcode in _FILLS:
                    continue
                at = ((qp.req.psn - wqe.first_psn) & 0xFFFFFF) * mtu
                left = mtu
                for sge in wqe.sg:
                    if at < sge.length and left:
                        length = min(left, sge.length - at)
                        yield from self._translated(node, sge.addr + at, length)
                        left -= length
                    at = max(at - sge.length, 0)

    def _translated(self, node: str, va: int, length: int) -> Iterator[tuple[str, int, int]]:
        """By each MR that has this address: where its bytes lie in the node."""
        for mr in self.world.nodes[node].mrs.items.values():
            if mr.iova <= va < mr.iova + mr.length:
                yield node, mr.addr + va - mr.iova, length

    def receive(self, written: Iterable[Record]) -> None:
        """Copy what these records of MEMORY_WRITTEN have changed to the programs."""
        ranges: dict[str, tuple[int, int]] = {}  # node → where a range begins and ends
        for record in written:
            node, first, length = rec.node_of(record), rec.address_of(record), rec.length_of(record)
            start, stop = ranges.get(node, (first, first))
            if stop != first:  # packets of one message fill one range
                self._received(node, start, stop - start)
                start = first
            ranges[node] = start, first + length
        for node, (start, stop) in ranges.items():
            self._received(node, start, stop - start)

    def _received(self, node: str, addr: int, length: int) -> None:
        octets = self.world.nodes[node].memory.read(addr, length)
        for program in self.programs:
            if program.node in (node, ""):
                program.memory.receive(addr - program.memory.distance, octets)
