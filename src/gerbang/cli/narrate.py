"""What a run says about itself on the terminal, and the same as JSON."""

import json
from collections.abc import Mapping
from typing import Any, Final, assert_never

from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.texts import language, say
from gerbang.runtime.events import (
    AgentEvent,
    AnswerDelta,
    ApprovalNeeded,
    Decided,
    Finished,
    Notice,
    ReasoningSeen,
    RunResult,
    ToolCalled,
    ToolFinished,
    ToolOpened,
)
from gerbang.values import Decision, Result
from gerbang.values.sentences import advised, further_advice, in_language

_MAX_LINES: Final = 4
_MAX_LINE: Final = 160
_MAX_SHOWN: Final = 20_000
_STYLES: Final = {"allow": "green", "ask": "yellow", "deny": "red"}


class Narrator:
    """Prints the events of a run as they come. `detailed` also shows what the gate decided and why.

    With `asks_here` the person at the terminal is shown a call by whoever asks them about it, and only there.
    """

    def __init__(self, screen: Screen, *, detailed: bool = False, asks_here: bool = False) -> None:
        self._screen = screen
        self._asks_here = asks_here
        self._detailed = detailed
        self._numbers: dict[str, int] = {}
        self._decided: set[str] = set()
        self._running: dict[str, str] = {}

    def on(self, event: AgentEvent) -> None:
        """Print one event."""
        match event:
            case AnswerDelta(text=text):
                self._screen.write(printable(text.replace("\r", "")))
            case ReasoningSeen():
                self._screen.status(say("thinking"))
            case ToolOpened():
                self._screen.status(f"{one_line(event.tool)} …")
            case ToolCalled():
                self._called(event)
            case Decided():
                self._say_decision(event.call_id, event.decision)
            case ApprovalNeeded():
                self._screen.status("")
                self._needed(event)
            case ToolFinished():
                self._finished(event)
            case Notice():
                self._screen.note(self._screen.styled(f"({one_line(event.text)})", "dim"))
            case Finished():
                self._screen.status("")
            case _:
                assert_never(event)

    def result_only(self, result: Result) -> None:
        """Print what came of one call: the value on standard output, or the refusal on standard error."""
        screen = self._screen
        if result.status == "ok":
            value = result.value
            screen.line(printable(value if isinstance(value, str) else _json(value)).removesuffix("\n"))
            if result.replayed:
                screen.note(say("given_again"))
        else:
            for line in _trouble(result):
                screen.note(line)
            if result.error is not None and result.error.effect == "unknown":
                screen.note(say("in_doubt"))

    def _needed(self, event: ApprovalNeeded) -> None:
        if self._asks_here:
            return
        self._screen.note(say("waiting_for", id=one_line(event.approval_id)))
        for line in printable(event.preview).splitlines():
            self._screen.note(f"  {line}")

    def _called(self, event: ToolCalled) -> None:
        self._running[event.call_id] = event.tool
        self._tell_status()
        self._numbers[event.call_id] = len(self._numbers) + 1
        if self._detailed:
            self._item(event.call_id, say("proposes"), [_call(event.tool, event.arguments)])

    def _say_decision(self, call_id: str, decision: Decision) -> None:
        if self._detailed and call_id not in self._decided:
            self._decided.add(call_id)
            word = self._screen.styled(decision.decision, _STYLES[decision.decision])
            text = f"{word}  {', '.join(decision.reasons)}: {why(decision)}"
            self._item(call_id, say("decides"), [text])

    def _finished(self, event: ToolFinished) -> None:
        self._running.pop(event.call_id, None)
        self._tell_status()
        screen, result = self._screen, event.result
        if not self._detailed:
            mark = (
                screen.styled(say("done"), "dim")
                if result.status == "ok"
                else screen.styled(say("not_done"), "red")
            )
            text = "" if result.error is None else f": {one_line(result.error.message, 160)}"
            screen.note(screen.styled(f"[{one_line(event.tool)}] ", "dim") + mark + text)
            return
        if result.decision is not None:
            self._say_decision(event.call_id, result.decision)
        lines = _outcome(result)
        if result.replayed:
            lines.append(say("from_record"))
        self._item(event.call_id, say("came_back"), lines)

    def _item(self, call_id: str, label: str, lines: list[str]) -> None:
        head = f"  {self._numbers.get(call_id, 0)}. {label:<20} "
        for index, line in enumerate(lines):
            self._screen.line((head if index == 0 else " " * len(head)) + line)

    def _tell_status(self) -> None:
        names = ", ".join(one_line(name) for name in self._running.values())
        self._screen.status(say("running", names=names) if names else say("thinking"))


def event_json(event: AgentEvent) -> dict[str, Any]:
    """Return the JSON form of one event: its `type` and its fields."""
    kind = _TYPES[type(event)]
    if isinstance(event, Finished):
        return {"type": kind, "result": run_json(event.result)}
    body = {name: _plain(getattr(event, name)) for name in event.__struct_fields__}
    return {"type": kind, **body}


def run_json(result: RunResult) -> dict[str, Any]:
    """Return the JSON form of a run's result."""
    body = {name: getattr(result, name) for name in result.__struct_fields__}
    body["calls"] = [call.as_dict() for call in result.calls]
    return body


def _plain(value: Any) -> Any:
    return value.as_dict() if isinstance(value, Decision | Result) else value


_TYPES: Final[dict[type[Any], str]] = {
    AnswerDelta: "answer_delta",
    ReasoningSeen: "reasoning",
    ToolOpened: "tool_opened",
    ToolCalled: "tool_called",
    Decided: "decided",
    ApprovalNeeded: "approval_needed",
    ToolFinished: "tool_finished",
    Notice: "notice",
    Finished: "finished",
}


def why(decision: Decision) -> str:
    """Return one plain sentence on why the gate decided so."""
    code = decision.reasons[0] if decision.reasons else ""
    if decision.rule is not None:
        return say("why_rule", rule=decision.rule)
    if code.startswith("CLASS_"):
        risk = code.removeprefix("CLASS_").lower()
        return say(f"why_class_{decision.decision}", risk=risk)
    return say("why_no_rule" if decision.decision == "deny" else "why_unmatched")


def _call(tool: str, arguments: Mapping[str, Any] | None) -> str:
    return f"{one_line(tool)} {one_line(_json(arguments), 400)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _outcome(result: Result) -> list[str]:
    """Return what came of a call, shortened to a few lines."""
    if result.status != "ok":
        return _trouble(result)
    shown = result.value if isinstance(result.value, str) else _json(result.value)
    lines = [line[:_MAX_LINE] for line in printable(shown[:_MAX_SHOWN]).strip().splitlines()] or [
        say("nothing_in_it")
    ]
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], say("more_lines", count=len(lines) - _MAX_LINES)]
    return lines


def _trouble(result: Result) -> list[str]:
    if result.status == "pending":
        return [say("waits_id", id=result.approval_id) if result.approval_id else say("waits")]
    if result.error is None:
        return [say("failed")]
    error = advised(in_language(result.error, language()), language())
    lines = [f"{error.error_code}: {one_line(error.message, 600)}"]
    lines += [
        f"  {one_line(field.path) or say('whole_object')}: {one_line(field.message)}"
        for field in error.invalid_fields
    ]
    if advice := further_advice(error):
        lines.append(one_line(advice, 400))
    return lines
