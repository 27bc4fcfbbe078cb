"""Areas of capabilities: every public enum, and reasons for what no engine names."""

from rdmalab.guide.evidence import AREAS
from rdmalab.spec.absent import REASONS
from rdmalab.spec.absent import VERBS as ABSENT_VERBS
from rdmalab.vocabulary import VERBS
from tests.guide.test_capabilities import found
from tests.guide.test_explain import public_enums

# Parts of tables, which are no capability of a device.
PARTS = {
    "Op", "PacketPlace", "Side", "Local", "EventKind", "Rounding", "SlotsFreed", "Field", "Kind",
    "Mishap", "Arm", "CmEvent", "RejectReason", "Number",
}  # fmt: skip


def test_areas_cover_every_public_enum() -> None:
    names = {cls.__name__ for _, cls, _ in AREAS}
    assert {cls.__name__ for cls in public_enums()} - PARTS == names


def test_no_reason_is_given_for_what_is_there() -> None:
    """A reason is read where the lab's own device lacks the thing, and nowhere else."""
    lacking = {(cls, r.name) for title, cls, _ in AREAS for r in found(title).values()
               if not r.emulated}  # fmt: skip
    given = {(cls, member.name) for cls, members in REASONS.items() for member in members}
    assert given == lacking
    assert not set(ABSENT_VERBS) & set(VERBS)
