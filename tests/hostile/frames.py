"""Frames on the cable that no device has sent: most with a right ICRC, all with wrong content."""

from random import Random

from rdmalab.export.pcapng import capture, captured
from rdmalab.lab import Lab
from rdmalab.shell.show_wire import ladder as drawn
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.records import Kind
from rdmalab.views import ladder
from rdmalab.wire.checksum import icrc
from tests.digest import digest
from tests.hostile.account import Account, printed, shrunk, with_own_folders
from tests.labs import BUSY, played_again
from tests.machine.sessions import PAIRS

A_WORLD = 40  # frames injected in one world
MAX_EVENTS = 400
_ETHERNET, _IPV4, _UDP, _ICRC = 14, 20, 8, 4  # bytes


def attack(chance: Random, count: int, account: Account) -> None:
    """Inject so many frames, a world for each A_WORLD of them."""
    while account.tries < count:
        setup = (chance.choice(("strict", "rxe", "mlx5")), chance.choice(PAIRS))
        frames = _sent(_world(*setup))
        lines = [_line(chance, frames) for _ in range(min(A_WORLD, count - account.tries))]
        account.tries += len(lines)
        if problem := examined(setup, lines, account):
            smaller = shrunk(lines, lambda some, s=setup: bool(examined(s, some)))  # type: ignore[misc]
            account.failed(examined(setup, smaller) or problem, str(setup), *smaller)


def _world(profile: str, pair: str) -> Lab:
    """A pair that is in the middle of something."""
    lab = Lab(dict.fromkeys("AB", PROFILES[profile]))
    lab.session.max_events = MAX_EVENTS
    for line in (f"use {pair}", *BUSY, "run 20us"):
        lab.do(line)
    return lab


def _sent(lab: Lab) -> list[bytes]:
    """What was on the cable, and a frame of another making."""
    records = lab.session.world.trace.records
    return [frame.octets for frame in captured(records)] or [
        bytes.fromhex("02000a000002" + "11" * 90)
    ]


def _line(chance: Random, frames: list[bytes]) -> str:
    """`inject` with a frame that was sent, changed in some bytes."""
    frame = bytearray(chance.choice(frames))
    for _ in range(chance.randint(1, 3)):
        first = chance.choice((0, _ETHERNET, _ETHERNET + _IPV4, _ETHERNET + _IPV4 + _UDP))
        at = min(len(frame) - 1, first + chance.randrange(60))
        frame[at] = chance.choice(
            (0, 0xFF, frame[at] ^ 1 << chance.randrange(8), chance.randrange(256))
        )
    if chance.random() < 0.1:
        frame = frame[: chance.randrange(1, len(frame) + 1)]
    if chance.random() < 0.1:
        frame += chance.randbytes(chance.randint(1, 64))
    if chance.random() < 0.8:
        _seal(frame)
    way = chance.choice(("A->B", "B->A"))
    wait = chance.choice(("", "; step", "; run 5us", "; run"))
    return f'inject {way} "{frame.hex()}"{wait}'


def _seal(frame: bytearray) -> None:
    """A right ICRC, as far as the frame is one of RoCE v2 over IPv4."""
    inside = bytes(frame[_ETHERNET:-_ICRC])
    if len(inside) > _IPV4 + _UDP + 12:
        frame[-_ICRC:] = icrc(inside).to_bytes(_ICRC, "little")


@with_own_folders()
def examined(
    setup: tuple[str, str], lines: list[str], account: Account | None = None
) -> str | None:
    """What breaks when these lines are typed."""
    try:
        lab = _world(*setup)
        for line in lines:
            lab.do(line)
        world, names = lab.session.world, lab.session.names
        capture(world, names)
        text = "\n".join(
            "".join(part for _, part in row)
            for row in drawn([*ladder.rows(world, names, last=None)], 80)
        )
        twin = played_again(lab, Lab(dict.fromkeys("AB", PROFILES[setup[0]])))
    except Exception as bug:  # noqa: BLE001
        return f"{type(bug).__name__}: {bug}"
    if digest(twin.session.world.trace) != digest(world.trace):
        return "played again it is another world"
    if account is not None:
        received = [row for row in world.trace.records if row[3] is Kind.PACKET_RECEIVED]
        account.checked("received by a queue pair", len(received))
        account.checked("drawn, captured and played again")
    return printed(text)
