"""Each command as its call of C: looked up, and refused with the number of its entry."""

from rdmalab.export.c import builders, completions, host, objects, requests, shared_queues, states
from rdmalab.export.c.text import Scope, Text, Verb, Writer
from rdmalab.export.replay.calls import Call, NotExportable, judged

_ROOMS = (objects, states, shared_queues, requests, builders, completions, host)
VERBS: dict[str, Verb] = {word: verb for room in _ROOMS for word, verb in room.VERBS.items()}


def begin(writer: Writer, call: Call) -> Text | None:
    """The call before it is carried out; None: nothing is called. NotExportable: no program can."""
    with judged(call):
        if call.word not in VERBS:
            raise NotExportable(f"{call.word} is no verb of libibverbs")
        return VERBS[call.word].begin(Scope(call, writer))


def end(writer: Writer, call: Call, text: Text | None) -> list[str]:
    """Its lines, when its result is known; NotExportable as of `begin`."""
    with judged(call):
        return VERBS[call.word].end(Scope(call, writer), text)
