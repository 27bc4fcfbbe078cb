"""Verbs that programs call right before they tear down, and that are no trouble of their own."""

BESIDE_TEARDOWN = frozenset((
    "poll_cq", "start_poll", "next_poll", "wc_read", "end_poll", "req_notify_cq", "get_cq_event",
    "ack_cq_events", "get_async_event", "ack_async_event", "dereg_mr", "dealloc_mw", "destroy_ah",
    "destroy_flow", "detach_mcast", "query_qp",
))  # fmt: skip
