"""The exceptions: texts and errno."""

import errno

import pytest

from rdmalab.compat.pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError, PyverbsUserError
from tests.compat.real import needs_pyverbs, ours, real

CODES = (-1, 0, 1, *sorted(errno.errorcode), 4711)


@needs_pyverbs
@pytest.mark.parametrize("name", ["PyverbsError", "PyverbsRDMAError"])
def test_the_texts_are_those_of_pyverbs(name: str) -> None:
    given = [[], *([code] for code in CODES)]
    ask = ["errors", name, [["Failed to do it", *more] for more in given]]
    assert ours(ask) == real(ask)


@needs_pyverbs
def test_a_user_error_takes_no_errno() -> None:
    ask = ["errors", "PyverbsUserError", [["No such device"]]]
    assert ours(ask) == real(ask)
    with pytest.raises(TypeError):
        PyverbsUserError("No such device", 22)  # type: ignore[call-arg]


def test_the_errno_is_asked_from_the_error() -> None:
    error = PyverbsRDMAError("Failed to create QP", errno.EINVAL)
    assert str(error) == "Failed to create QP. Errno: 22, Invalid argument"
    assert error.error_code == errno.EINVAL
    assert PyverbsRDMAError("Failed").error_code == -1


def test_both_are_pyverbs_errors() -> None:
    assert issubclass(PyverbsRDMAError, PyverbsError)
    assert issubclass(PyverbsUserError, PyverbsError)
    assert not issubclass(PyverbsUserError, PyverbsRDMAError)
