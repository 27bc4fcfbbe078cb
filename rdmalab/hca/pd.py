"""Protection domains: the fence that memory and queue pairs must share."""


class ProtectionDomain:
    """`ibv_pd`. A parent domain protects as its `base` does and remembers a thread domain, `td`."""

    __slots__ = ("base", "number", "td")

    def __init__(self, number: int, base: int | None = None, td: int | None = None) -> None:
        self.number = number
        self.base = number if base is None else base
        self.td = td
