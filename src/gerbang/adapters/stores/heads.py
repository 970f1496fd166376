"""The end of one run's chain."""


class Head:
    """The end of one run's chain: the run's number in the store, its last event's place and digest."""

    __slots__ = ("digest", "run", "seq")

    def __init__(self, run: int, seq: int, digest: bytes) -> None:
        self.run = run
        self.seq = seq
        self.digest = digest
