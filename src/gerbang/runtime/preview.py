"""What a person is shown before they decide: the call in full, secrets masked, nothing invisible."""

import unicodedata
from typing import Any

import msgspec

from gerbang.audit.redact import MASK, redact
from gerbang.values import Contract, Decision

_PREVIEW_CHARS = 20_000
_LEAST_ROOM = 200
_MAX_ARGUMENTS = 100
_MAX_ROWS = 40  # more would scroll the head off a terminal
_MARGIN = 8_000  # a cut may fall inside a credential: it is masked first
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK = frozenset(
    {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", "\u3164", "\uffa0"}
    | {chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x1810))}
)  # letters and marks without a shape


def preview(contract: Contract, arguments: dict[str, Any], decision: Decision) -> str:
    """Return the text for the approver: tool, effect class, every argument, and why they are asked. Of a call
    that is allowed, a dry run shows the same.

    Each argument has room of its own: a long one cannot push another out of sight. What was left out is named
    with its default, for that is what the tool goes by then.
    """
    lines = [f"{contract.name} ({contract.risk})"]
    room = max(_LEAST_ROOM, _PREVIEW_CHARS // max(1, len(arguments)))
    for count, (name, value) in enumerate(arguments.items()):
        if count == _MAX_ARGUMENTS:
            lines.append(f"  … [{len(arguments)} arguments in all; look before you approve]")
            break
        shown = MASK if name in contract.sensitive else _text(value)
        lines.append(f"  {_line(name[:_LEAST_ROOM], shown, room)}")
    if not arguments:
        lines.append("  (no arguments)")
    lines += _defaults(contract, arguments, room)
    why = "Asked" if decision.decision == "ask" else "Allowed"
    lines.append(f"{why} because: {', '.join(decision.reasons)}")
    return "\n".join(lines)


def _defaults(contract: Contract, arguments: dict[str, Any], room: int) -> list[str]:
    """Return a line for each parameter that was left out and has a default."""
    properties = contract.parameters.get("properties") or {}
    left_out = [
        (name, schema["default"])
        for name, schema in properties.items()
        if name not in arguments and isinstance(schema, dict) and schema.get("default") is not None
    ]
    lines = []
    for name, value in left_out[:_MAX_ARGUMENTS]:
        shown = MASK if name in contract.sensitive else _text(value)
        line = _line(name[:_LEAST_ROOM], shown, room)
        lines.append(f"  {line.replace(':', ' (not given; its default):', 1)}")  # no value can look like it
    return lines


def visible(text: str) -> str:
    """Return the text with control, bidirectional and other invisible characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char == "\n" or not _unseen(char) else _escape(char) for char in text)


def _unseen(char: str) -> bool:
    kind = unicodedata.category(char)
    return kind in _UNSEEN_KINDS or char in _BLANK or (kind == "Zs" and char != " ")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _line(name: str, text: str, room: int) -> str:
    """Return one argument. A credential that shows by the argument's name is masked as well."""
    masked = redact(f"{name}: {text[: room + _MARGIN]}")[: room + len(name)]
    rows = visible(masked).split("\n")
    shown = "\n    ".join(rows[:_MAX_ROWS])
    if len(text) <= room and len(rows) <= _MAX_ROWS:
        return shown
    return f"{shown}… [{len(text)} characters in all; the rest is not shown]"


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
