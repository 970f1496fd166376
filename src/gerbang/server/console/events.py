"""Events of the record as lines of a page, and a run's calls put together from them."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.audit.redact import MASK, redact
from gerbang.runtime.bodies import step_name
from gerbang.runtime.kept import read_answer
from gerbang.server.console.instants import when
from gerbang.values.record import AnswerRow, CallRow, CallState, EventRow

_FACTS: Final = (
    "tool_name",
    "step_id",
    "policy_decision",
    "reasons",
    "rule",
    "approval_id",
    "approver",
    "state",
    "status",
    "error_code",
    "effect",
    "attempt",
    "latency_ms",
    "calls",
    "steps",
    "code",
    "target",
    "by",
    "reason",
    "input_redacted",
)
_TEXT: Final = 4_000
_TIMES: Final = ("at", "finished_at", "started_at")


class Line(Struct, frozen=True):
    """One event. `facts` are names and texts of what is worth a look; `at` is empty when it is not known."""

    run_id: str
    seq: int
    kind: str
    at: str
    facts: tuple[tuple[str, str], ...]
    digest: str


class CallView(Struct):
    """What became of one call: proposal, decision, approval, effect, result. Empty: not known, or not yet."""

    step: str
    call_id: str
    tool: str
    proposal: str = ""
    risk: str = ""
    decision: str = ""
    reasons: tuple[str, ...] = ()
    rule: str = ""
    approval_id: str = ""
    approver: str = ""
    state: str = ""
    attempts: int = 0
    latency_ms: float | None = None
    error_code: str = ""
    effect: str = ""
    result: str = ""


def body_of(row: EventRow) -> dict[str, Any]:
    """Return an event's body. What is no JSON object is shown as it is: judging it is the chain's part."""
    try:
        found = msgspec.json.decode(row.body)
    except msgspec.MsgspecError:
        return {"code": row.body[:200].decode("utf-8", "backslashreplace")}
    return found if isinstance(found, dict) else {"code": str(found)[:200]}


def line_of(row: EventRow) -> Line:
    """Return an event as a line."""
    body = body_of(row)
    facts = [(name, _fact(body[name])) for name in _FACTS if body.get(name) not in (None, "", [], 0, 0.0)]
    return Line(row.run_id, row.seq, row.kind, when(time_of(body)), tuple(facts), row.digest.hex()[:16])


def time_of(body: dict[str, Any]) -> float | None:
    """Return when an event was, in seconds since the epoch."""
    for name in _TIMES:
        value = body.get(name)
        if isinstance(value, int | float) and value > 0:
            return float(value)
    return None


def calls_of(
    events: Sequence[EventRow],
    rows: Sequence[CallRow],
    answers: Sequence[AnswerRow],
    sensitive: Callable[[str], frozenset[str]],
) -> list[CallView]:
    """Return the calls of a run in the order in which they were proposed, as far as the events go.

    `sensitive` tells of a tool the arguments that nobody is shown.
    """
    found: dict[tuple[str, str], CallView] = {}
    for answer in answers:
        for call_id, tool, written in _proposals(answer):
            step = step_name(answer.step)
            found[step, call_id] = CallView(step, call_id, tool, _shown(written, sensitive(tool)))
    for event in events:
        if event.kind.startswith("call."):
            body = body_of(event)
            key = str(body.get("step_id", "")), str(body.get("call_id", ""))
            view = found.setdefault(key, CallView(*key, str(body.get("tool_name", ""))))
            _add(view, event.kind, body)
    for row in rows:
        step = step_name(int(row.step_id)) if row.step_id.isdecimal() else row.step_id
        view = found.setdefault((step, row.call_id), CallView(step, row.call_id, row.tool))
        if row.is_denial and view.state not in ("", CallState.REFUSED):
            continue  # another call was made in its place
        view.state = row.state
        view.approval_id = row.approval_id or view.approval_id
        view.result = redact(row.for_model[:_TEXT])
        if not view.proposal:
            view.proposal = _shown(row.arguments.decode("utf-8", "replace"), sensitive(row.tool))
    return list(found.values())


def _shown(written: str, sensitive: frozenset[str]) -> str:
    """Return arguments as they may be shown: bounded, what is sensitive and credentials masked."""
    if sensitive:
        try:
            read = msgspec.json.decode(written)
        except msgspec.MsgspecError:
            return MASK
        if isinstance(read, dict):
            kept = {name: MASK if name in sensitive else value for name, value in read.items()}
            written = msgspec.json.encode(kept).decode()
    return redact(written[:_TEXT])


def _add(view: CallView, kind: str, body: dict[str, Any]) -> None:
    if body.get("input_redacted"):  # masked by the contract, so it stands before what the model wrote
        view.proposal = str(body["input_redacted"])
    view.tool = view.tool or str(body.get("tool_name", ""))
    view.risk = str(body.get("risk_class") or view.risk)
    view.decision = str(body.get("policy_decision") or view.decision)
    view.reasons = tuple(str(reason) for reason in body.get("reasons") or ()) or view.reasons
    view.rule = str(body.get("rule") or view.rule)
    view.approval_id = str(body.get("approval_id") or view.approval_id)
    view.approver = str(body.get("approver") or view.approver)
    view.state = str(body.get("state") or ("REFUSED" if kind == "call.refused" else view.state))
    view.error_code = str(body.get("error_code") or "")
    view.effect = str(body.get("effect") or view.effect)
    view.attempts = max(view.attempts, int(body.get("attempt") or 0))
    if kind == "call.finished":
        view.latency_ms = float(body.get("latency_ms") or 0.0)


def _proposals(answer: AnswerRow) -> list[tuple[str, str, str]]:
    """Return id, tool and arguments of what an answer proposed. Step 0 is the run's opening."""
    kept = read_answer(answer.message) if answer.step else None
    if kept is None:
        return []
    if kept.calls is not None:
        return [
            (call.id, call.name, msgspec.json.encode(call.arguments or {}).decode()) for call in kept.calls
        ]
    return [(call.id, call.name, call.arguments) for call in kept.tool_calls]


def _fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)[:_TEXT]
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)[:_TEXT]
