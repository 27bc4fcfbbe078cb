"""`python -m tests.compat.c.replaying FILE`: play a session file and print its trace's digest.

Without the rooms that need pydantic or YAML, so that any Python can do it that has none of them.
"""

import sys
from pathlib import Path

from rdmalab.grammar.line import parse
from rdmalab.lab import open_session
from rdmalab.scenario.session_file import rows_of, unpacked
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest


def replayed(path: Path) -> Session:
    """The session in a file, by the meaning of its lines alone."""
    head, *rows = rows_of(unpacked(path.read_bytes()))
    nodes = head["nodes"]
    assert isinstance(nodes, dict)
    profiles = {name: PROFILES[keys["profile"]] for name, keys in nodes.items()}
    session = open_session(profiles, seed=int(str(head["seed"])))
    for row in rows:
        if isinstance(at_ns := row.get("at"), int):
            session.history.run(10**6, at_ns)
            session.history.advance(at_ns)
        (invocation,) = parse(str(row.get("do", row.get("run"))), VOCABULARY, file=True)
        if "bytes" in row:
            invocation.arguments["text"] = row["bytes"]
        outcome = session.perform(invocation)
        assert (outcome.refusal is not None) == ("errno" in row), row
        if isinstance(outcome.value, RunControl):
            outcome.value.finish()
    return session


def main() -> None:
    """Print the events, the time and the digest of a session."""
    world = replayed(Path(sys.argv[1])).world
    sys.stdout.write(f"{world.event} {world.now_ns} {digest(world.trace)}\n")


if __name__ == "__main__":
    main()
