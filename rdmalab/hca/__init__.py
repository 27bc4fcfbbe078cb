"""One adapter: a software HCA without input or output of its own.

Verbs, arriving packets and timers call it; `now_ns` is an argument. Requester, responder and
completer meet only in the device. Each writes only its own state (`qp.req`, `qp.resp`, `qp.comp`).
"""
