"""Protection domains: memory and queue pairs must be in the same one."""


class ProtectionDomain:
    """`ibv_pd`. A parent domain uses the protection of `base` and has a thread domain, `td`."""

    __slots__ = ("base", "number", "td")

    def __init__(self, number: int, base: int | None = None, td: int | None = None) -> None:
        self.number = number
        self.base = number if base is None else base
        self.td = td
