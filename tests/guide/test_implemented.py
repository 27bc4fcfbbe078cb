"""What an engine names it does; what only stands in a table it may not."""

from rdmalab.guide.evidence import member_names, named_members
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.work import WROpcode


def test_a_member_in_a_function_is_a_deed_and_a_row_of_a_table_is_none() -> None:
    assert (AsyncEvent, "SQ_DRAINED") in named_members()
    assert (AsyncEvent, "LID_CHANGE") not in named_members()
    assert (WROpcode, "DRIVER1") not in named_members()


def test_names_said_while_a_module_is_loaded_count_as_spoken() -> None:
    assert {"FENCE", "SOLICITED", "INLINE"} <= member_names()
    assert "LID_CHANGE" not in member_names()
