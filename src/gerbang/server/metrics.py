"""Figures for Prometheus, counted from the records that were written and the requests that were answered."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gerbang.server.tally import Tally, Times
from gerbang.values import Principal
from gerbang.values.event import NewEvent, Said

if TYPE_CHECKING:
    from gerbang.server.service import Service

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_MAX_NAMES: Final = 2_000
_UNKNOWN: Final = "(unknown)"
_OTHER: Final = "(other)"
_CLIENTS: Final = "client."


class _Body(Struct, frozen=True, gc=False):
    """What is counted of an event's body."""

    tool_name: str = ""
    call_id: str = ""
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
    """The figures of one server. `observe` and `answered` count; `text` shows."""

    def __init__(self) -> None:
        self._tallies: list[Tally | Times] = []
        tool = ("tool",)
        self._calls = self._tally(
            "tool_calls", "Calls that ended, by tool and how.", "tool", "status", "error_code"
        )
        self._dispatched = self._tally("tool_dispatches", "Attempts that were started.", *tool)
        self._retries = self._tally("tool_retries", "Attempts after the first.", *tool)
        self._timeouts = self._tally("tool_timeouts", "Calls that ran out of time.", *tool)
        self._replays = self._tally("tool_replays", "Calls answered by a stored result.", *tool)
        self._denials = self._tally(
            "policy_denials", "Calls that the policy denied, by its code.", "tool", "error_code"
        )
        self._invalid = self._tally("output_validation_failures", "Results that broke their contract.", *tool)
        self._hallucinated = self._tally("hallucinated_tool_calls", "Calls of tools that do not exist.")
        self._cost = self._tally("tool_cost_units", "Cost of calls that ran, in the contracts' units.", *tool)
        self._spent = self._tally(
            "cost_units", "The same cost, by whom calls were made for.", "tenant", "team", "user"
        )
        self._approvals = self._tally(
            "approvals", "Approval requests, by what became of them.", "tool", "state"
        )
        self._answers = self._tally("model_answers", "Answers of the model.")
        self._fallbacks = self._tally(
            "model_stream_fallbacks",
            "Answers asked for once more without streaming: the stream held nothing.",
        )
        self._faults = self._tally("model_call_faults", "Calls of the model whose text could not be read.")
        self._tokens = self._tally("model_tokens", "Tokens that the model's server counted.", "direction")
        self._runs = self._tally("runs", "Agent runs that ended, by how.", "status")
        self._requests = self._tally(
            "http_requests", "Requests that were answered.", "route", "method", "status"
        )
        self._latency = self._times("tool_latency_seconds", "Time of calls that ran.", "tool")
        self._request_latency = self._times("http_request_seconds", "Time of requests.", "route")
        self._labels: dict[str, tuple[str]] = {}
        self._costs: dict[str, float] = {}
        """What calls cost whose results have not come to `spent` yet."""
        self._service: Service | None = None
        self._registry = CollectorRegistry()
        self._registry.register(_Collector(self))

    def watch(self, service: "Service") -> None:
        """Show how many runs and followers there are now. The names of its tools are labels from now on."""
        self._service = service
        for name in service.toolsets.names:
            self._of(name)

    def observe(self, events: list[NewEvent]) -> None:
        """Count events that have become durable."""
        for event in events:
            said = event.said
            if isinstance(said, Said):
                self._count(event.kind, said.facts)
                continue
            try:
                self._count(event.kind, _DECODER.decode(said))
            except msgspec.MsgspecError:  # a kind of event with other fields counts nowhere
                continue

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. `route` is the path's pattern, never the path itself."""
        self._requests.add((route, method, str(status)))
        self._request_latency.add((route,), seconds)

    def spent(self, who: Principal, call_id: str) -> None:
        """Count what a call cost, if it ran, for whom it was made.

        A run is no label: there would be one more for each. What a run cost is in its record.
        """
        cost = self._costs.pop(call_id, 0.0)
        if cost:
            labels = (who.tenant, who.team or "", who.user)
            known = labels in self._spent.counts or len(self._spent.counts) < _MAX_NAMES
            self._spent.add(labels if known else (_OTHER, _OTHER, _OTHER), cost)

    def text(self) -> bytes:
        """Return all figures in the text format of Prometheus."""
        return generate_latest(self._registry)

    def families(self) -> Iterator[Any]:
        """Yield the families of all figures."""
        for tally in self._tallies:
            yield from tally.families()
        if self._service is not None:
            yield _gauge("gerbang_runs_active", "Agent runs going on now.", self._service.runs.active)
            yield _gauge("gerbang_followers", "Clients that follow runs now.", self._service.followers)

    def _tally(self, name: str, about: str, *labels: str) -> Tally:
        made = Tally(f"gerbang_{name}", about, labels)
        self._tallies.append(made)
        return made

    def _times(self, name: str, about: str, *labels: str) -> Times:
        made = Times(f"gerbang_{name}", about, labels)
        self._tallies.append(made)
        return made

    def _count(self, kind: str, body: Any) -> None:
        """Count an event by its members: a `_Body`, or the facts that the event was made of."""
        if kind in ("call.dispatched", "call.retried"):
            tool = self._of(body.tool_name)
            self._dispatched.add(tool)
            if body.attempt > 1:
                self._retries.add(tool)
        elif kind in ("call.finished", "call.refused"):
            self._ended(kind, body)
        elif kind == "call.replayed":
            self._replays.add(self._of(body.tool_name))
        elif kind.startswith("approval."):
            self._approvals.add((*self._of(body.tool_name), kind.removeprefix("approval.")))
        elif kind == "model.answered":
            self._answers.add(())
            self._fallbacks.add((), body.asked - 1)
            self._faults.add((), body.faults)
            self._tokens.add(("input",), body.input_tokens)
            self._tokens.add(("output",), body.output_tokens)
        elif kind == "run.finished":
            self._runs.add((body.status,))

    def _ended(self, kind: str, body: _Body) -> None:
        code = body.error_code
        if code in ("TOOL_UNKNOWN", "TOOL_RETIRED"):
            self._hallucinated.add(())
            self._calls.add((_UNKNOWN, "error", code))
            return
        ran = kind == "call.finished"
        tool = self._of(body.tool_name if ran or body.tool_name in self._labels else _OTHER)
        self._calls.add((tool[0], body.status, code))
        if ran:
            self._latency.add(tool, body.latency_ms / 1000)
            if body.cost_units:
                self._cost.add(tool, body.cost_units)
                self._costs[body.call_id] = body.cost_units
                if len(self._costs) > _MAX_NAMES:  # results that nobody waited for
                    self._costs.pop(next(iter(self._costs)))
        if code in _TIMEOUTS:
            self._timeouts.add(tool)
        elif code == "OUTPUT_SHAPE":
            self._invalid.add(tool)
        if not ran and body.policy_decision == "denied_by_policy":
            self._denials.add((tool[0], code))

    def _of(self, tool: str) -> tuple[str]:
        """Return the tool's label: a model that makes up names cannot make up labels without end."""
        found = self._labels.get(tool)
        if found is None and tool.startswith(_CLIENTS):
            tool = _CLIENTS + "*"  # nor can the tools that clients bring
            found = self._labels.get(tool)
        if found is None:
            found = (tool if len(self._labels) < _MAX_NAMES else _OTHER,)
            self._labels[found[0]] = found
        return found


class _Collector:
    """What the library asks when somebody reads the figures."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Any]:
        """Yield all families."""
        return self._metrics.families()


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value=value)
