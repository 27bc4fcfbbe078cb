"""Every entry of post_errno.json, and how to ask it of a lab of any profile."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rdmalab.spec.profiles import Profile
from tests.oracle import bad_input, batches, posts, things
from tests.oracle.bench import RECORD, Bench

Section = Callable[[Profile, str], tuple[Any, Bench]]

SECTIONS: dict[str, Section] = {
    "destroy_busy": things.destroy_busy,
    "by_type_and_state": posts.by_type_and_state,
    "opcode_by_type": posts.opcode_by_type,
    "queue_full": posts.queue_full,
    "bad_input_rc_rts": bad_input.bad_input_rc_rts,
    "srq": things.srq,
    "ud": things.ud,
    "qpex_create_send_ops_flag": batches.qpex_create_send_ops_flag,
    "qpex": batches.qpex,
    "qpex_by_state": batches.qpex_by_state,
}
_OBJECTS = "objects"
_FIELDS = ("rc", "lkey", "rkey", "query", "cqe")


class Entry(NamedTuple):
    """One answer of the record. key: a text; of the list of objects, verb and case."""

    section: str
    key: Any

    @property
    def name(self) -> str:
        return f"{self.section}: {' '.join(str(part) for part in self.parts)}"

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.key if isinstance(self.key, tuple) else (self.key,)

    def recorded(self) -> Any:
        """What Soft-RoCE answered."""
        if self.section != _OBJECTS:
            return RECORD[self.section][self.key]
        verb, case = self.parts
        (row,) = [row for row in object_rows() if row.get(verb) == case]
        return things.keys_by_kind(row)

    def asked(self, profile: Profile) -> tuple[Any, list[tuple[str, int]]]:
        """What a device of this profile answers; rule and errno of what it refused."""
        play = things.objects if self.section == _OBJECTS else SECTIONS[self.section]
        answer, bench = play(profile, *self.parts)
        return answer, list(dict.fromkeys(bench.told))


def object_rows() -> list[dict[str, Any]]:
    """The one list in the record, of several verbs."""
    (rows,) = RECORD[_OBJECTS].values()
    found: list[dict[str, Any]] = rows
    return found


def _object_key(row: dict[str, Any]) -> tuple[Any, Any]:
    ((verb, case),) = [(key, value) for key, value in row.items() if key not in _FIELDS]
    return verb, case


ENTRIES: list[Entry] = [
    Entry(section, key)
    for section, found in RECORD.items()
    if section not in ("meta", _OBJECTS)
    for key in found
] + [Entry(_OBJECTS, _object_key(row)) for row in object_rows()]
