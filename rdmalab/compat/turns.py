"""Turns of a program's threads on the lab. ^C ends the program between two of them."""

import threading
from types import TracebackType
from weakref import WeakSet


class Turns:
    """A lock that its owner may take again.

    An interrupt during a turn of the main thread waits for the end of that turn, because half a
    call cannot be saved; a second interrupt does not wait.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._owner = 0
        self._interrupted = False
        here = threading.current_thread()
        # Daemons that ran before the lab was made belong to a notebook, a debugger or a client of
        # a cluster; until one calls the lab it is none of the program's threads.
        self._foreign = WeakSet(t for t in threading.enumerate() if t.daemon and t is not here)

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._foreign:
            self._foreign.discard(threading.current_thread())
        self._owner, self._depth = threading.get_ident(), self._depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._depth -= 1
        ends = self._interrupted and not self._depth and self._is_main()
        self._lock.release()
        if ends:
            self._interrupted = False
            raise KeyboardInterrupt

    def is_alone(self) -> bool:
        """Whether no other thread of the program is alive."""
        here = threading.current_thread()
        return all(t is here or t in self._foreign for t in threading.enumerate())

    def _is_main(self) -> bool:
        return self._owner == threading.main_thread().ident

    def interrupt(self, _signal: int, _frame: object) -> None:
        """Handle SIGINT, in the main thread; KeyboardInterrupt now or at the end of the turn."""
        if self._depth and self._is_main() and not self._interrupted:
            self._interrupted = True
        else:
            raise KeyboardInterrupt
