"""ONE ADAPTER: a software HCA without input or output of its own.

The host calls it (verbs), the wire calls it (a packet arrives), a timer calls it; `now_ns` is an
argument. Requester, responder and completer meet only in the device, and each writes only in its
own notebook (`qp.req`, `qp.resp`, `qp.comp`).
"""
