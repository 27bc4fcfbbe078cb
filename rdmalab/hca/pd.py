"""Protection domains: the fence that memory and queue pairs must share."""


class ProtectionDomain:
    """`ibv_pd`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number
