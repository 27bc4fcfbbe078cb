"""Any header, flow and packet that can be on a wire."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.header import Header
from rdmalab.wire.packet import EXTENDED, Flow, LidFlow, Packet, mapped_gid


def bits(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << count) - 1)


def header_of(kind: type[Header]) -> st.SearchStrategy[Header]:
    values = st.tuples(*[bits(field.bits) for field in kind.layout()])
    return values.map(lambda given: kind(*given))


def any_header(kinds: Sequence[type[Header]]) -> st.SearchStrategy[Header]:
    return st.sampled_from(kinds).flatmap(header_of)


ipv4_flows = st.builds(
    Flow,
    src=bits(32).map(mapped_gid),
    dst=bits(32).map(mapped_gid),
    sport=bits(16),
    hop_limit=bits(8),
    traffic_class=bits(8),
    flow_label=st.just(0),
    src_mac=bits(48),
    dst_mac=bits(48),
)
ipv6_flows = st.builds(
    Flow,
    src=bits(128),
    dst=bits(120).map(lambda low: 0xFE << 120 | low),
    sport=bits(16),
    hop_limit=bits(8),
    traffic_class=bits(8),
    flow_label=bits(20),
    src_mac=bits(48),
    dst_mac=bits(48),
)
half_mapped_flows = st.builds(
    lambda flow, low: replace(flow, src=mapped_gid(low)), ipv6_flows, bits(32)
)
flows = st.one_of(ipv4_flows, ipv6_flows, half_mapped_flows)


lid_flows = st.builds(LidFlow, src=bits(16), dst=bits(16), sl=bits(4)) | st.builds(
    LidFlow,
    src=bits(16),
    dst=bits(16),
    hop_limit=bits(8),
    traffic_class=bits(8),
    flow_label=bits(20),
    sl=bits(4),
    sgid=bits(128),
    dgid=st.integers(1, (1 << 128) - 1),
)


@st.composite
def packets(
    draw: st.DrawFn, opcode: int | None = None, flows: st.SearchStrategy[Flow] = flows
) -> Packet:
    code = draw(st.sampled_from(sorted(OPCODES))) if opcode is None else opcode
    packet = Packet(
        draw(flows),
        code,
        dest_qp=draw(bits(24)),
        psn=draw(bits(24)),
        payload=draw(st.binary(max_size=80)),
        ack_req=draw(st.booleans()),
        solicited=draw(st.booleans()),
        pkey=draw(bits(16)),
        migrated=draw(st.booleans()),
        fecn=draw(st.booleans()),
        becn=draw(st.booleans()),
    )
    for name in OPCODES[code].headers:
        setattr(packet, name, draw(header_of(EXTENDED[name])))
    return packet


def roce_sport(flow: Flow) -> Flow:
    """The flow from a port that RoCE uses; other dissectors claim lower ones."""
    return replace(flow, sport=flow.sport | 0xC000)
