import pytest

from rdmalab.shell.show_wire import arrow


@pytest.mark.parametrize("width", [8, 12, 20, 40])
@pytest.mark.parametrize("lost", [0, 3])
@pytest.mark.parametrize("to_right", [True, False])
def test_an_arrow_fills_its_lane(width: int, lost: int, to_right: bool) -> None:
    drawn = arrow("SEND_ONLY psn=3", width, to_right=to_right, dash="─", head="▶◀", lost=lost)
    assert len(drawn) == width
    assert ("▶" in drawn) is to_right
    assert ("◀" in drawn) is not to_right
    assert drawn.endswith(" " * lost) if to_right else drawn.startswith(" " * lost)
