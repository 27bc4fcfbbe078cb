"""pyverbs.pyverbs_error: the exceptions, with the texts of pyverbs."""

import os

NO_ERRNO = -1


class PyverbsError(Exception):
    """Any error of pyverbs; with an errno its text ends in the number and what it means."""

    def __init__(self, msg: str, error_code: int = NO_ERRNO) -> None:
        """Add `. Errno: 22, Invalid argument` to the message where there is an errno."""
        if error_code != NO_ERRNO:
            msg = f"{msg}. Errno: {error_code}, {os.strerror(error_code)}"
        super().__init__(msg)


class PyverbsRDMAError(PyverbsError):
    """A verb failed."""

    def __init__(self, msg: str, error_code: int = NO_ERRNO) -> None:
        """Keep the errno of the verb."""
        super().__init__(msg, error_code)
        self._error_code = error_code

    @property
    def error_code(self) -> int:
        """The errno of the verb, -1: none."""
        return self._error_code


class PyverbsUserError(PyverbsError):
    """The caller gave something that cannot be."""

    def __init__(self, msg: str) -> None:
        """Without an errno: no verb was called."""
        super().__init__(msg)
