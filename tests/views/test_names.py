"""Names: whoever gives names to a session can be asked by a view."""

from typing import TYPE_CHECKING

from rdmalab.command import Noun, Thing
from rdmalab.session.names import Names as Given
from tests.pairs import Pair
from tests.views.looking import QP, names_of

if TYPE_CHECKING:
    from rdmalab.views.names import Names


def test_the_names_of_a_session_are_what_a_lens_asks() -> None:
    given = Given(("A", "B"))
    given.give("A.qp0", QP)
    asked: Names = given
    assert asked.of(QP) == "A.qp0"
    assert asked.find("A.qp0") == QP
    assert asked.all(Noun.QP) == ["A.qp0"]


def test_a_thing_without_a_name_can_still_be_said() -> None:
    asked: Names = names_of(Pair())
    assert asked.of(Thing(Noun.QP, "A", 99)) == "A.qp#99"
