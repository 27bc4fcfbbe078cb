"""Asynchronous events: numbers and texts of libibverbs, and whose events they are."""

from rdmalab.spec.async_events import EVENTS, AsyncEvent, EventKind

# enum ibv_event_type in order, with ibv_event_type_str(), the object, and E error V event U none
VERBS_H = [
    ("CQ_ERR", "CQ error", "cq", "E"),
    ("QP_FATAL", "local work queue catastrophic error", "qp", "E"),
    ("QP_REQ_ERR", "invalid request local work queue error", "qp", "E"),
    ("QP_ACCESS_ERR", "local access violation work queue error", "qp", "E"),
    ("COMM_EST", "communication established", "qp", "V"),
    ("SQ_DRAINED", "send queue drained", "qp", "V"),
    ("PATH_MIG", "path migrated", "qp", "V"),
    ("PATH_MIG_ERR", "path migration request error", "qp", "E"),
    ("DEVICE_FATAL", "local catastrophic error", "device", "U"),
    ("PORT_ACTIVE", "port active", "port", "U"),
    ("PORT_ERR", "port error", "port", "U"),
    ("LID_CHANGE", "LID change", "port", "U"),
    ("PKEY_CHANGE", "P_Key change", "port", "U"),
    ("SM_CHANGE", "SM change", "port", "U"),
    ("SRQ_ERR", "SRQ catastrophic error", "srq", "E"),
    ("SRQ_LIMIT_REACHED", "SRQ limit reached", "srq", "V"),
    ("QP_LAST_WQE_REACHED", "last WQE reached", "qp", "V"),
    ("CLIENT_REREGISTER", "client reregistration", "port", "U"),
    ("GID_CHANGE", "GID table change", "port", "U"),
    ("WQ_FATAL", "WQ fatal", "wq", "E"),
    ("DEVICE_SPEED_CHANGE", "Device link speed change", "port", "U"),
]
LETTERS = {EventKind.ERROR: "E", EventKind.EVENT: "V", EventKind.UNAFFILIATED: "U"}


def test_rows_are_those_of_libibverbs() -> None:
    ours = [
        (event.name, row.text, row.noun, LETTERS[row.kind]) for event, row in sorted(EVENTS.items())
    ]
    assert ours == VERBS_H
    assert [event.value for event in AsyncEvent] == list(range(21))


def test_an_event_is_affiliated_exactly_if_its_object_can_be_destroyed() -> None:
    for row in EVENTS.values():
        assert (row.kind is EventKind.UNAFFILIATED) == (row.noun in {"port", "device"})
        assert row.when
