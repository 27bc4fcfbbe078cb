"""The connection manager: the numbers of librdmacm and of the kernel's ib_cm.h."""

from rdmalab.spec.connections import (
    EVENTS,
    PACKET_LIFETIME,
    REASONS,
    SIDR_SILENCE_MS,
    CmEvent,
    Number,
    RejectReason,
    ack_timeout,
    code_ms,
    silence_ms,
    unanswered_ms,
)

# enum rdma_cm_event_type in order; the events with a number are those that rdma_cm sets a status in
RDMA_CMA_H = [
    "ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST",
    "CONNECT_RESPONSE", "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "ESTABLISHED", "DISCONNECTED",
    "DEVICE_REMOVAL", "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE", "TIMEWAIT_EXIT",
    "ADDRINFO_RESOLVED", "ADDRINFO_ERROR",
]  # fmt: skip
# enum ib_cm_rej_reason: 34 is missing there, too
IB_CM_H = {
    1: "NO_QP", 3: "NO_RESOURCES", 4: "TIMEOUT", 5: "UNSUPPORTED", 8: "INVALID_SERVICE_ID",
    10: "STALE_CONN", 12: "INVALID_GID", 17: "INVALID_PACKET_RATE", 24: "PORT_CM_REDIRECT",
    26: "INVALID_MTU", 27: "INSUFFICIENT_RESP_RESOURCES", 28: "CONSUMER_DEFINED",
    29: "INVALID_RNR_RETRY", 33: "INVALID_ALT_FLOW_LABEL", 35: "VENDOR_OPTION_NOT_SUPPORTED",
}  # fmt: skip


def test_events_have_the_numbers_of_librdmacm() -> None:
    assert [event.name for event in CmEvent] == RDMA_CMA_H
    assert [event.value for event in CmEvent] == list(range(18))
    assert list(EVENTS) == list(CmEvent)


def test_reject_reasons_have_the_numbers_of_the_kernel() -> None:
    assert {number: RejectReason(number).name for number in IB_CM_H} == IB_CM_H
    assert [int(reason) for reason in RejectReason] == [*range(1, 34), 35]
    assert list(REASONS) == list(RejectReason)


def test_failures_have_a_number_and_a_reject_has_a_reason() -> None:
    for event, row in EVENTS.items():
        assert row.when
        if event.name.endswith("ERROR"):
            assert row.number is Number.ERRNO
    reasoned = [event for event, row in EVENTS.items() if row.number is Number.REASON]
    assert reasoned == [CmEvent.REJECTED]


def test_timers_are_those_of_the_kernel() -> None:
    """cm_convert_to_ms, cm_ack_timeout and the retries of cma.c, Linux 6.1."""
    assert [code_ms(code) for code in (0, 8, 9, 19, 24)] == [1, 1, 2, 2048, 65_536]
    assert [ack_timeout(delay, PACKET_LIFETIME) for delay in (4, 15, 18, 20)] == [19, 19, 20, 21]
    assert ack_timeout(31, 31) == 31
    assert silence_ms(PACKET_LIFETIME) == 98_304
    assert unanswered_ms(PACKET_LIFETIME, 19) == 1_019_904
    assert SIDR_SILENCE_MS == 65_536
