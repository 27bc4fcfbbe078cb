"""What an engine names it does; what only stands in a table it may not."""

from rdmalab.guide.capabilities import member_names, named_members
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.work import WROpcode


def test_named_members_are_those_in_functions_and_not_in_tables() -> None:
    assert (AsyncEvent, "SQ_DRAINED") in named_members()
    assert (AsyncEvent, "LID_CHANGE") not in named_members()
    assert (WROpcode, "DRIVER1") not in named_members()


def test_member_names_include_names_used_at_import() -> None:
    assert {"FENCE", "SOLICITED", "INLINE"} <= member_names()
    assert "LID_CHANGE" not in member_names()
