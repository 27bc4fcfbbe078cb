"""Tables: objects by number, and numbers that are never used twice."""

import pytest

from rdmalab.hca.pd import ProtectionDomain
from rdmalab.hca.tables import Table


def test_the_number_of_a_removed_object_is_not_used_again() -> None:
    table: Table[ProtectionDomain] = Table("pd", 7)
    first = ProtectionDomain(table.next_number)
    table.add(first)
    assert table.find(7) is first
    table.remove(first)
    assert table.next_number == 8
    with pytest.raises(KeyError):
        table.find(7)
