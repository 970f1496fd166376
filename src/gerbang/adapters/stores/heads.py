"""The end of one run's chain, and whether somebody else has moved it."""


class Head:
    """The end of one run's chain: the run's number in the store, its last event's place and digest.

    All events after `since` are those of the writer `by`; 0 stands for one that nobody asks about.
    """

    __slots__ = ("by", "digest", "run", "seq", "since")

    def __init__(self, run: int, seq: int, digest: bytes) -> None:
        self.run = run
        self.seq = seq
        self.digest = digest
        self.by = 0
        self.since = seq

    def follow(self, former: "Head | None") -> None:
        """Go on from what was known of the chain before: nobody has written since, when it ends the same."""
        if former is not None and former.seq == self.seq and former.digest == self.digest:
            self.by, self.since = former.by, former.since


def is_behind(by: int, since: int, seq: int, writer: int, knows: int) -> bool:
    """Tell whether the chain has events of others after the one up to which a writer knows them all."""
    return (since if by == writer and writer else seq) > knows
