"""Bytes that the adapter owns: written by the program meanwhile, or filled by two requests."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok, warn
from rdmalab.doctor.subject import Sort, name_of
from rdmalab.doctor.work import past
from rdmalab.doctor.work.messages import Piece, meet
from rdmalab.doctor.work.ownership import Sink, filled_twice, overwrites


def _concerns(case: Case, piece: Piece, *sinks: Sink) -> bool:
    """Whether bytes, or one of the requests that fill them, are what is asked about."""
    if case.content is not None:
        return bool(meet([case.content.piece], [piece]))
    return case.asked and case.subject in [sink.subject for sink in sinks]


def _asks(case: Case) -> bool:
    return case.content is not None or case.subject.sort in (Sort.SEND, Sort.RECV)


def _posted(case: Case, sink: Sink) -> Evidence:
    name = name_of(case.names, sink.subject)
    return fact(f"{name} was posted, which fills these bytes", sink.posted)


# ------------------------------------------------------------ sink-overwritten
@check("sink-overwritten")
def sink_overwritten(case: Case) -> Finding:
    """Whether the program wrote there between the post and the end of what fills it."""
    if not _asks(case):
        return NA
    for each in reversed(overwrites(case.log, case.node)):
        if _concerns(case, each.piece, each.sink):
            where = past.words_for(case.session, case.node, each.piece) or f"{each.piece[0]:#x}"
            ended = each.sink.ended
            over = (
                [fact("it completed; it may have overwritten these bytes", ended)] if ended else []
            )
            return fail(
                _posted(case, each.sink), fact(f"the program wrote {where}", each.event), *over,
                cure=Fix(program="write into a buffer before the post or after its completion"),
                since=each.event,
            )  # fmt: skip
    return ok("the program wrote nothing into what a request was to fill")


# ------------------------------------------------------------ same-buffer-twice
@check("same-buffer-twice")
def same_buffer_twice(case: Case) -> Finding:
    """Whether what one request brought was overwritten by another before it was polled."""
    if not _asks(case):
        return NA
    for each in reversed(filled_twice(case.log, case.node)):
        if _concerns(case, each.piece, each.first, each.second):
            return warn(
                _posted(case, each.first), _posted(case, each.second),
                fact("the second was filled before the first was polled", each.second.ended),
                cure=Fix(program="post a buffer again only after its completion was polled"),
            )  # fmt: skip
    return ok("no two requests filled the same bytes before a poll")
