"""Each command as its call of C, by name."""

from rdmalab.export.c import builders, completions, host, objects, requests, shared_queues, states
from rdmalab.export.c.text import Scope, Text, Writer
from rdmalab.export.replay.program import Language

CALLS = Language[Writer, Text](
    (objects, states, shared_queues, requests, builders, completions, host),
    Scope,
    "is no verb of libibverbs",
)
