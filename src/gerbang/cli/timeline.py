"""A run as a list of lines: what was proposed, decided and done, with the time since it began."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.texts import say
from gerbang.compose.waiting import Waits
from gerbang.values.principal import MAX_NAME
from gerbang.values.record import EventRow, RunRow, RunState

_WIDTH: Final = 300
_LABELS: Final = 12
_NAMED: Final = 3
_WAITS: Final = {"person": "waits_person", "resume": "waits_resume", "caller": "waits_caller"}
_TOLD: Final = (
    *("approval_id", "state", "approver", "policy_decision", "error_code", "code", "status"),
    *("target", "by", "reason"),
)
"""What the line of an event without words of its own says, who did it among it."""
_STYLES: Final[dict[str, str]] = {RunState.COMPLETED: "green", RunState.DENIED: "red", RunState.FAILED: "red"}


def timeline(
    screen: Screen, run: RunRow, events: Sequence[EventRow], waits: Waits | None = None
) -> Iterator[str]:
    """Yield the lines of one run's timeline. Everything in it is safe to print."""
    yield f"{_label(screen, 'run')}{one_line(run.run_id)}  {_state(screen, run)}"
    actor = say("for_whom", user=one_line(run.user), tenant=one_line(run.tenant))
    model = "  " + say("with_model", model=one_line(run.model)) if run.model else ""
    profile = "  " + say("with_profile", profile=one_line(run.profile)) if run.profile else ""
    yield f"{_label(screen, 'for')}{actor}{model}{profile}"
    if run.prompt:
        yield f"{_label(screen, 'request')}{one_line(run.prompt, _WIDTH)}"
    yield ""
    for event in events:
        body = _body(event)
        at = _time(body)
        since = f"+{max(0.0, at - run.started_at):8.3f} s" if at else " " * 11
        yield f"{event.seq:>4}  {since}  {_line(event.kind, body)}"
    if waits is not None:
        yield ""
        yield f"{_label(screen, 'next')}{next_step(run.run_id, waits)}"
    if run.answer:
        yield ""
        yield f"{_label(screen, 'answer')}{printable(run.answer[:2_000])}"


def next_step(run_id: str, waits: Waits) -> str:
    """Return what somebody has to do for a run that waits."""
    names = waits.approvals[:_NAMED]
    more = " …" if len(waits.approvals) > _NAMED else ""
    run, ids = one_line(run_id, 10 * MAX_NAME), one_line(", ".join(names)) + more
    return say(_WAITS[waits.what], run=run, ids=ids)


def _label(screen: Screen, name: str) -> str:
    text = say(f"label_{name}")
    return screen.styled(text, "bold") + " " * (_LABELS - len(text))


def _state(screen: Screen, run: RunRow) -> str:
    text = say("open_run", state=run.state) if run.state == RunState.RUNNING else one_line(run.state)
    return screen.styled(text, _STYLES.get(run.state, "yellow"))


def _line(kind: str, body: dict[str, Any]) -> str:
    step = one_line(str(body.get("step_id", "")), 20)
    tool = one_line(str(body.get("tool_name", "")), 80)
    match kind:
        case "run.started":
            return say("run_started")
        case "run.finished":
            return say("run_ended", status=_said(body, "status"), steps=body.get("steps", 0))
        case "model.answered":
            calls = ", ".join(one_line(str(name), 80) for name in body.get("calls", ()))
            return f"{step}  {say('answered_calls', calls=calls) if calls else say('answered')}"
        case "call.dispatched":
            return (
                f"{step}  {tool} {_said(body, 'input_redacted', 160)}  "
                f"{_said(body, 'policy_decision')}{_reasons(body)}{_approver(body)}"
            )
        case "call.finished":
            error = f" {_said(body, 'error_code')}" if body.get("error_code") else ""
            took = say("call_in", ms=f"{body.get('latency_ms', 0):g}")
            return f"{step}  {tool}  {_said(body, 'state')}{error} {took}"
        case "call.refused":
            refused = say("call_refused", code=_said(body, "error_code"))
            return f"{step}  {tool}  {refused}{_reasons(body)}{_approver(body)}"
        case "call.replayed":
            return f"{step}  {tool}  {say('call_replayed')}"
    rest = " ".join(f"{name}={_said(body, name)}" for name in _TOLD if body.get(name))
    return "  ".join(part for part in (step, tool, one_line(kind, 60), rest) if part)


def _reasons(body: dict[str, Any]) -> str:
    reasons = ", ".join(one_line(str(reason), 64) for reason in body.get("reasons", ()))
    rule = " " + say("by_rule", rule=one_line(str(body["rule"]), 80)) if body.get("rule") else ""
    return f" ({reasons}{rule})" if reasons else ""


def _approver(body: dict[str, Any]) -> str:
    return f"  approver={_said(body, 'approver')}" if body.get("approver") else ""


def _said(body: dict[str, Any], name: str, limit: int = 80) -> str:
    return one_line(str(body.get(name, "")), limit)


def _time(body: dict[str, Any]) -> float:
    for name in ("at", "finished_at", "started_at"):
        value = body.get(name)
        if isinstance(value, int | float) and value:
            return float(value)
    return 0.0


def _body(event: EventRow) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(event.body)
    except msgspec.MsgspecError:  # shown as it is; `verify` is what judges it
        return {"code": event.body[:200].decode("utf-8", "backslashreplace")}
    return body if isinstance(body, dict) else {}
