"""Figures for Prometheus, counted from the records that were written and the requests that were answered."""

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gerbang.values.record import NewEvent

if TYPE_CHECKING:
    from gerbang.server.service import Service

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
_MAX_NAMES: Final = 2_000
_UNKNOWN: Final = "(unknown)"
_OTHER: Final = "(other)"


class _Body(Struct, frozen=True, gc=False):
    """What is counted of an event's body."""

    tool_name: str = ""
    asked: int = 1
    status: str = ""
    error_code: str = ""
    policy_decision: str = ""
    latency_ms: float = 0.0
    cost_units: float = 0.0
    attempt: int = 0
    steps: int = 0
    faults: int = 0
    calls: int | tuple[str, ...] = 0
    input_tokens: int = 0
    output_tokens: int = 0


_DECODER: Final = msgspec.json.Decoder(_Body)
_TIMEOUTS: Final = frozenset({"TOOL_TIMEOUT", "IDLE_TIMEOUT"})


class Metrics:
    """One registry and its figures. Children of labels are kept: finding them costs more than counting."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        prefix = "gerbang"

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"{prefix}_{name}", about, labels, registry=registry)

        self._calls = counter(
            "tool_calls", "Calls that ended, by tool and how.", "tool", "status", "error_code"
        )
        self._dispatched = counter("tool_dispatches", "Attempts that were started.", "tool")
        self._retries = counter("tool_retries", "Attempts after the first.", "tool")
        self._timeouts = counter("tool_timeouts", "Calls that ran out of time.", "tool")
        self._replays = counter("tool_replays", "Calls answered by a stored result.", "tool")
        self._denials = counter(
            "policy_denials", "Calls that the policy denied, by its code.", "tool", "error_code"
        )
        self._invalid = counter("output_validation_failures", "Results that broke their contract.", "tool")
        self._hallucinated = counter("hallucinated_tool_calls", "Calls of tools that do not exist.")
        self._cost = counter("tool_cost_units", "Cost of calls that ran, in the contracts' units.", "tool")
        self._approvals = counter("approvals", "Approval requests, by what became of them.", "tool", "state")
        self._answers = counter("model_answers", "Answers of the model.")
        self._asked_again = counter(
            "model_asked_again", "Answers asked for once more, because their stream held nothing."
        )
        self._faults = counter("model_call_faults", "Calls of the model whose text could not be read.")
        self._tokens = counter("model_tokens", "Tokens that the model's server counted.", "direction")
        self._runs = counter("runs", "Agent runs that ended, by how.", "status")
        self._requests = counter("http_requests", "Requests that were answered.", "route", "method", "status")
        self._latency = Histogram(
            f"{prefix}_tool_latency_seconds",
            "Time of calls that ran.",
            ("tool",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._request_latency = Histogram(
            f"{prefix}_http_request_seconds",
            "Time of requests.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._tools: dict[str, _ToolFigures] = {}
        self._answered: dict[tuple[str, str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}

    def watch(self, service: "Service") -> None:
        """Show how many runs and followers there are now."""
        active = Gauge("gerbang_runs_active", "Agent runs going on now.", registry=self.registry)
        active.set_function(lambda: service.runs.active)
        followers = Gauge("gerbang_followers", "Clients that follow runs now.", registry=self.registry)
        followers.set_function(lambda: service.followers)

    def observe(self, events: list[NewEvent]) -> None:
        """Count events that have become durable."""
        for event in events:
            try:
                self._count(event.kind, _DECODER.decode(event.body))
            except msgspec.MsgspecError:  # a kind of event with other fields counts nowhere
                continue

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. `route` is the path's pattern, never the path itself."""
        key = (route, method, status)
        found = self._answered.get(key)
        if found is None:
            found = self._answered[key] = self._requests.labels(route, method, str(status))
        found.inc()
        timed = self._timed.get(route)
        if timed is None:
            timed = self._timed[route] = self._request_latency.labels(route)
        timed.observe(seconds)

    def text(self) -> bytes:
        """Return all figures in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _count(self, kind: str, body: _Body) -> None:
        if kind == "call.dispatched":
            figures = self._of(body.tool_name)
            figures.dispatched.inc()
            if body.attempt > 1:
                figures.retries.inc()
        elif kind in ("call.finished", "call.refused"):
            self._ended(kind, body)
        elif kind == "call.replayed":
            self._of(body.tool_name).replays.inc()
        elif kind.startswith("approval."):
            self._approvals.labels(self._of(body.tool_name).name, kind.removeprefix("approval.")).inc()
        elif kind == "model.answered":
            self._answers.inc()
            self._asked_again.inc(body.asked - 1)
            self._faults.inc(body.faults)
            self._tokens.labels("input").inc(body.input_tokens)
            self._tokens.labels("output").inc(body.output_tokens)
        elif kind == "run.finished":
            self._runs.labels(body.status).inc()

    def _ended(self, kind: str, body: _Body) -> None:
        if body.error_code in ("TOOL_UNKNOWN", "TOOL_RETIRED"):
            self._hallucinated.inc()
            self._calls.labels(_UNKNOWN, "error", body.error_code).inc()
            return
        figures = self._of(
            body.tool_name if kind == "call.finished" or body.tool_name in self._tools else _OTHER
        )
        figures.ended(body.status, body.error_code).inc()
        if kind == "call.finished":
            figures.latency.observe(body.latency_ms / 1000)
            if body.cost_units:
                figures.cost.inc(body.cost_units)
        if body.error_code in _TIMEOUTS:
            figures.timeouts.inc()
        elif body.error_code == "OUTPUT_SHAPE":
            figures.invalid.inc()
        if body.policy_decision == "denied_by_policy":
            self._denials.labels(figures.name, body.error_code).inc()

    def _of(self, tool: str) -> "_ToolFigures":
        found = self._tools.get(tool)
        if found is None:
            if len(self._tools) >= _MAX_NAMES:
                tool = _OTHER
            found = self._tools.setdefault(tool, _ToolFigures(tool, self))
        return found


class _ToolFigures:
    """The children of one tool's labels."""

    def __init__(self, name: str, metrics: Metrics) -> None:
        self.name = name
        self.dispatched = metrics._dispatched.labels(name)
        self.retries = metrics._retries.labels(name)
        self.timeouts = metrics._timeouts.labels(name)
        self.replays = metrics._replays.labels(name)
        self.invalid = metrics._invalid.labels(name)
        self.cost = metrics._cost.labels(name)
        self.latency = metrics._latency.labels(name)
        self._calls = metrics._calls
        self._ended: dict[tuple[str, str], Counter] = {}

    def ended(self, status: str, error_code: str) -> Counter:
        """Return the counter of calls that ended so."""
        found = self._ended.get((status, error_code))
        if found is None:
            found = self._ended[status, error_code] = self._calls.labels(self.name, status, error_code)
        return found
