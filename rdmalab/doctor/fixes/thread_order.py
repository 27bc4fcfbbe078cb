"""The fix for two threads of which one takes away what the other uses: an order between them."""

from rdmalab.doctor.finding import Fix
from rdmalab.doctor.log import Log


def ordered(log: Log, taken: int | None, used: int | None, name: str) -> Fix | None:
    """Advice that the thread of one event ends its use before the thread of another one acts.

    taken, used: the events in which an object was taken away, and used or posted. None where not
    two different threads made these calls.
    """
    if taken is None or used is None:
        return None
    owner, user = log.asked(taken)[1], log.asked(used)[1]
    if not owner or not user or owner == user:
        return None
    call = log.asked(taken)[0]
    act = call.line if call is not None else f"takes {name}"
    return Fix(program=f"let {user} end its use of {name} first: in {owner}, wait {user}.state == "
                       f"DONE before {act}")  # fmt: skip
