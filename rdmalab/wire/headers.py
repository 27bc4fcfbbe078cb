"""The headers of RoCEv2 frames and InfiniBand packets: fields, order and widths."""

from rdmalab.wire.header import (
    B1,
    B2,
    B3,
    B4,
    B5,
    B6,
    B7,
    B8,
    B11,
    B13,
    B16,
    B20,
    B24,
    B26,
    B32,
    B48,
    B64,
    B128,
    Header,
    header,
)


@header
class Ethernet(Header):
    """Ethernet II header: MAC addresses and EtherType."""

    dst: B48
    src: B48
    ethertype: B16


@header
class IPv4(Header):
    """IPv4 header without options (RFC 791)."""

    version: B4
    ihl: B4
    tos: B8
    total_length: B16
    identification: B16
    flags: B3
    fragment_offset: B13
    ttl: B8
    protocol: B8
    checksum: B16
    src: B32
    dst: B32


@header
class IPv6(Header):
    """IPv6 header (RFC 8200)."""

    version: B4
    traffic_class: B8
    flow_label: B20
    payload_length: B16
    next_header: B8
    hop_limit: B8
    src: B128
    dst: B128


@header
class LRH(Header):
    """Local Route Header (IBA 7.7)."""

    ABOUT = "Local Route Header: where a packet goes inside an InfiniBand subnet (IBA 7.7)."

    vl: B4
    lver: B4
    sl: B4
    reserved2: B2
    lnh: B2
    dlid: B16
    reserved5: B5
    packet_length: B11
    slid: B16


@header
class GRH(Header):
    """Global Route Header."""

    ABOUT = "Global Route Header: on InfiniBand if asked for; also the 40 bytes before a datagram."

    ip_version: B4
    traffic_class: B8
    flow_label: B20
    payload_length: B16
    next_header: B8
    hop_limit: B8
    sgid: B128
    dgid: B128


@header
class UDP(Header):
    """UDP header (RFC 768)."""

    sport: B16
    dport: B16
    length: B16
    checksum: B16


@header
class TCP(Header):
    """TCP header without options (RFC 9293)."""

    sport: B16
    dport: B16
    seq: B32
    ack: B32
    data_offset: B4
    reserved: B4
    flags: B8
    window: B16
    checksum: B16
    urgent: B16


@header
class ARP(Header):
    """ARP packet for IPv4 over Ethernet (RFC 826)."""

    ABOUT = "Which MAC has an IPv4 address (RFC 826)."

    hardware: B16
    protocol: B16
    hardware_length: B8
    protocol_length: B8
    operation: B16
    sender_mac: B48
    sender_ip: B32
    target_mac: B48
    target_ip: B32


@header
class BTH(Header):
    """Base Transport Header."""

    ABOUT = (
        "Base Transport Header, in each RDMA packet: its opcode, the queue pair it is for, its PSN."
    )

    opcode: B8
    solicited: B1
    # Soft-RoCE sends MigReq=0 (captured); 1 means migrated.
    migrated: B1
    pad_count: B2
    tver: B4
    pkey: B16
    # These eight bits change on the way, so the ICRC reads ones in their place.
    fecn: B1
    becn: B1
    reserved6: B6
    dest_qp: B24
    ack_req: B1
    reserved7: B7
    psn: B24


@header
class RDETH(Header):
    """Reliable Datagram Extended Transport Header."""

    ABOUT = "Reliable Datagram: unused, because no device implements RD."

    reserved: B8
    ee_context: B24


@header
class DETH(Header):
    """Datagram Extended Transport Header."""

    ABOUT = (
        "Datagram Extended Transport Header, in each packet of UD: the Q_Key that must "
        "match, and the number of the queue pair that sent it."
    )

    qkey: B32
    reserved: B8
    src_qp: B24


@header
class XRCETH(Header):
    """XRC Extended Transport Header: the number of the target SRQ."""

    ABOUT = (
        "XRC Extended Transport Header, in requests of XRC: the number of the SRQ that "
        "gives the receive."
    )

    reserved: B8
    srqn: B24


@header
class FETH(Header):
    """Flush Extended Transport Header: selectivity and placement of a FLUSH."""

    ABOUT = (
        "Flush Extended Transport Header, in a FLUSH: which bytes must be where before the answer."
    )

    reserved: B26
    selectivity: B2
    placement: B4


@header
class RETH(Header):
    """RDMA Extended Transport Header: address, rkey and length of the remote memory."""

    ABOUT = (
        "RDMA Extended Transport Header, in the first packet of a WRITE and in a READ "
        "request: address, rkey and length of the remote memory."
    )

    va: B64
    rkey: B32
    # Of the whole message, also where this packet has only its first bytes.
    dma_length: B32


@header
class AtomicETH(Header):
    """Atomic Extended Transport Header: remote address, rkey and operands."""

    ABOUT = "Atomic Extended Transport Header, in an atomic request: remote address and operands."

    va: B64
    rkey: B32
    swap_add: B64
    # 0 in a FETCH_ADD.
    compare: B64


@header
class AETH(Header):
    """ACK Extended Transport Header: syndrome and message sequence number."""

    ABOUT = (
        "ACK Extended Transport Header, in answers of the responder: the syndrome says "
        "ACK, RNR NAK or NAK; the MSN says how many messages are complete."
    )

    # Bits 7-5: ACK, RNR NAK or NAK; bits 4-0: credits, timer code or NAK code. Credits are always
    # 31, none: as Soft-RoCE sends it, and as an SRQ must.
    syndrome: B8
    msn: B24


@header
class AtomicAckETH(Header):
    """Atomic ACK Extended Transport Header: the value before the atomic."""

    ABOUT = "Atomic ACK Extended Transport Header, in the answer to an atomic: the value before it."

    original: B64


@header
class ImmDt(Header):
    """Immediate Extended Transport Header: 4 bytes of immediate data."""

    ABOUT = (
        "Immediate Extended Transport Header, in the last packet of a SEND or WRITE with "
        "immediate: 4 bytes that go into the completion of the receive."
    )

    # As the program gave it: ibv_send_wr has it in network order already.
    imm_data: B32


@header
class IETH(Header):
    """Invalidate Extended Transport Header: the rkey to invalidate."""

    ABOUT = "Invalidate."

    rkey: B32
