"""Counting without locks: plain numbers in this process, made into Prometheus families when they are read."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
"""Upper bounds of times, in seconds."""
_NAMES: Final = (*map(str, BUCKETS), "+Inf")


class Tally:
    """A counter with labels. `counts` is open: adding to it is what is done for every call."""

    __slots__ = ("_about", "_labels", "_name", "counts")

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        self._name = name
        self._about = about
        self._labels = labels
        self.counts: dict[tuple[str, ...], float] = {}

    def add(self, labels: tuple[str, ...], amount: float = 1) -> None:
        """Count."""
        self.counts[labels] = self.counts.get(labels, 0) + amount

    def families(self) -> Iterator[CounterMetricFamily]:
        """Yield what there is to show. A counter without labels shows its zero."""
        family = CounterMetricFamily(self._name, self._about, labels=self._labels)
        counts = self.counts or ({} if self._labels else {(): 0})
        for labels, count in counts.items():
            family.add_metric(labels, count)
        yield family


class Times:
    """A histogram of times with labels."""

    __slots__ = ("_about", "_labels", "_name", "_rows")

    def __init__(self, name: str, about: str, labels: Sequence[str]) -> None:
        self._name = name
        self._about = about
        self._labels = labels
        self._rows: dict[tuple[str, ...], list[float]] = {}

    def add(self, labels: tuple[str, ...], seconds: float) -> None:
        """Count one time. Each row holds the buckets' numbers, then the sum."""
        row = self._rows.get(labels)
        if row is None:
            row = self._rows[labels] = [0.0] * (len(BUCKETS) + 2)
        row[bisect_left(BUCKETS, seconds)] += 1
        row[-1] += seconds

    def families(self) -> Iterator[HistogramMetricFamily]:
        """Yield what there is to show."""
        family = HistogramMetricFamily(self._name, self._about, labels=self._labels)
        for labels, row in self._rows.items():
            family.add_metric(labels, list(zip(_NAMES, accumulate(row[:-1]), strict=True)), row[-1])
        yield family
