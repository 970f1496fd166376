"""How `gerbang parse` shows events: JSON lines for programs, a marked-up reading for people."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from gerbang.cli.safe_text import json_safe, one_line, printable
from gerbang.cli.screen import Screen
from gerbang.parse.events import ArgumentsDelta, CallClosed, CallOpened, Content, ParseFault, Reasoning
from gerbang.values.counting import counted

_TYPES: Final[dict[type[Any], tuple[str, tuple[str, ...]]]] = {
    Content: ("content", ("text",)),
    Reasoning: ("reasoning", ("text",)),
    CallOpened: ("call_opened", ("index", "name")),
    ArgumentsDelta: ("arguments_delta", ("index", "fragment")),
    CallClosed: ("call_closed", ("index", "name", "arguments", "arguments_json", "repaired")),
    ParseFault: ("parse_fault", ("index", "code", "message", "raw")),
}
"""The `type` of each event and its further keys, in the order in which they are printed."""
_MAX_SHOWN: Final = 2_000


def print_events(events: Iterable[Any], *, flush: bool) -> int:
    """Print one JSON object a line and return how many faults there were."""
    faults = 0
    for event in events:
        kind, keys = _TYPES[type(event)]
        row = {"type": kind} | {key: getattr(event, key) for key in keys}
        sys.stdout.write(json_safe(json.dumps(row, ensure_ascii=False)) + "\n")
        if flush:
            sys.stdout.flush()
        faults += isinstance(event, ParseFault)
    return faults


def explain_events(events: Iterable[Any], screen: Screen) -> int:
    """Print the events for a person and return how many faults there were."""
    calls = faults = 0
    for event in _joined(events):
        match event:
            case Content(text):
                _block(screen, "text for the user", text, "green")
            case Reasoning(text):
                _block(screen, "reasoning, not shown to the user", text, "dim")
            case CallClosed(_, name, arguments, _, repaired):
                calls += 1
                note = "  (repaired: the text was not valid as it stood)" if repaired else ""
                screen.line(screen.styled(f"call {calls}: {one_line(name)}", "title") + note)
                for key, value in arguments.items():
                    screen.line(
                        f"    {one_line(key)} = {one_line(json.dumps(value, ensure_ascii=False), 500)}"
                    )
            case ParseFault(_, code, message, raw):
                faults += 1
                screen.line(screen.styled(f"not a call: {code}", "red"))
                screen.line(f"    {one_line(message, 500)}")
                if raw:
                    screen.line(f"    the text was: {one_line(raw, 500)}")
    screen.line(screen.styled(f"{counted(calls, 'call')}, {counted(faults, 'fault')}.", "bold"))
    return faults


def _joined(events: Iterable[Any]) -> Iterator[Any]:
    """Yield the events with neighbouring pieces of text as one."""
    for kind, group in groupby(events, key=type):
        if kind in (Content, Reasoning):
            yield kind("".join(event.text for event in group))
        else:
            yield from group


def _block(screen: Screen, title: str, text: str, style: str) -> None:
    shown = printable(text[:_MAX_SHOWN]).strip("\n")
    if not shown.strip():
        return
    screen.line(screen.styled(f"{title}:", style))
    for line in shown.split("\n"):
        screen.line(f"    {line}")
    if len(text) > _MAX_SHOWN:
        screen.line(f"    … {counted(len(text) - _MAX_SHOWN, 'more character')}")
