"""Each command as its call of pyverbs, by name."""

from rdmalab.export.pyverbs import (
    builders,
    completions,
    host,
    objects,
    requests,
    shared_queues,
    states,
)
from rdmalab.export.pyverbs.text import Lines, Scope, Writer
from rdmalab.export.replay.program import Language

CALLS = Language[Writer, Lines](
    (objects, states, shared_queues, requests, builders, completions, host),
    Scope,
    "is not in pyverbs, or not in its skin",
)
