"""Figures of a tenant's calls, from its records: how many, how they ended, how long they took, the cost."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gerbang.ports import Store
from gerbang.server.console.charts import Chart, bars
from gerbang.server.console.instants import when
from gerbang.server.console.turns import Turns
from gerbang.server.console.visit import Page, Visit
from gerbang.server.replies import Reply
from gerbang.values.record import EventRow

PERIODS: Final = {"1h": 3_600, "24h": 86_400, "7d": 7 * 86_400, "30d": 30 * 86_400}
_BUCKETS: Final = 24
_RUNS: Final = 100
_MAX_RUNS: Final = 1_000
_MAX_EVENTS: Final = 50_000
"""What one page looks at; when there is more, it says so."""


class _Ended(Struct, frozen=True, gc=False):
    """What is read of the event of a call's end."""

    tool_name: str = ""
    status: str = ""
    error_code: str = ""
    latency_ms: float = 0.0
    cost_units: float = 0.0
    finished_at: float = 0.0
    started_at: float = 0.0


_DECODER: Final = msgspec.json.Decoder(_Ended)


class Tally:
    """Calls of one stretch of time, or of one tool."""

    __slots__ = ("calls", "cost", "errors", "latencies")

    def __init__(self) -> None:
        self.calls = 0
        self.errors = 0
        self.cost = 0.0
        self.latencies: list[float] = []

    def add(self, ended: _Ended, ran: bool) -> None:
        """Count a call. `ran` is False for one that was refused."""
        self.calls += 1
        self.errors += bool(ended.error_code) or not ran
        if ran:
            self.latencies.append(ended.latency_ms)
            self.cost += ended.cost_units

    def quantile(self, part: float) -> float:
        """Return a quantile of the latencies in milliseconds, 0 when nothing ran."""
        if not self.latencies:
            return 0.0
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


class Figures:
    """The tallies of a period."""

    def __init__(self, start: float, seconds: float) -> None:
        self.start = start
        self.width = seconds / _BUCKETS
        self.buckets = [Tally() for _ in range(_BUCKETS)]
        self.tools: dict[str, Tally] = {}
        self.total = Tally()
        self.runs = 0
        self.events = 0
        self.cut = False

    def add(self, row: EventRow) -> None:
        """Count an event, if it is the end of a call within the period."""
        if row.kind not in ("call.finished", "call.refused"):
            return
        try:
            ended = _DECODER.decode(row.body)
        except msgspec.MsgspecError:
            return
        place = int(((ended.finished_at or ended.started_at) - self.start) // self.width)
        if not 0 <= place < _BUCKETS:
            return
        ran = row.kind == "call.finished"
        for tally in (self.buckets[place], self.total, self.tools.setdefault(ended.tool_name, Tally())):
            tally.add(ended, ran)

    @property
    def labels(self) -> list[str]:
        """The beginning of each stretch of time."""
        return [when(self.start + place * self.width)[5:16] for place in range(_BUCKETS)]


async def gathered(store: Store, tenant: str, now: float, seconds: float) -> Figures:
    """Return the figures of the tenant's newest runs within the last `seconds`."""
    figures = Figures(now - seconds, seconds)
    before: str | None = None
    turns = Turns()
    while True:
        rows = await store.runs(limit=_RUNS, tenant=tenant, before=before)
        for run in rows:
            before = run.run_id
            if figures.runs >= _MAX_RUNS or figures.events >= _MAX_EVENTS:
                figures.cut = True
                return figures
            figures.runs += 1
            async for event in store.stream(run.run_id):
                figures.events += 1
                figures.add(event)
                await turns.step()
        if len(rows) < _RUNS:
            return figures


async def shown(visit: Visit) -> Reply:
    """Show the figures of a period."""
    period = visit.query(period=_period).get("period", "24h")
    figures = await gathered(visit.store, visit.tenant, visit.now, PERIODS[period])
    tools = sorted(figures.tools.items(), key=lambda item: (-item[1].calls, item[0]))
    return visit.page(
        "figures.html",
        period=period,
        periods=list(PERIODS),
        figures=figures,
        charts=_charts(visit, figures),
        tools=tools[:50],
    )


def _charts(visit: Visit, figures: Figures) -> Sequence[Chart]:
    made, labels = figures.buckets, figures.labels
    return (
        bars(
            "calls",
            visit.said("chart_calls"),
            labels,
            (
                (visit.said("calls"), [float(one.calls) for one in made]),
                (visit.said("errors"), [float(one.errors) for one in made]),
            ),
        ),
        bars(
            "latency",
            visit.said("chart_latency"),
            labels,
            (
                (visit.said("half"), [one.quantile(0.5) for one in made]),
                (visit.said("most"), [one.quantile(0.95) for one in made]),
            ),
        ),
        bars("cost", visit.said("chart_cost"), labels, ((visit.said("cost"), [one.cost for one in made]),)),
    )


def _period(value: str) -> str:
    if value not in PERIODS:
        raise ValueError(f"it is one of {', '.join(PERIODS)}")
    return value


PAGES: Final = (Page("GET", "/console/figures", "runs", shown),)
