"""What a person is shown before they decide: the call in full, secrets masked, nothing invisible."""

import unicodedata
from typing import Any

import msgspec

from gerbang.audit.redact import MASK, redact
from gerbang.values import Contract, Decision

_PREVIEW_CHARS = 20_000


def preview(contract: Contract, arguments: dict[str, Any], decision: Decision) -> str:
    """Return the text for the approver: tool, effect class, every argument, and why they are asked."""
    lines = [f"{contract.name} ({contract.risk})"]
    for name, value in arguments.items():
        shown = MASK if name in contract.sensitive else _value(value)
        lines.append(f"  {visible(name)}: {shown}")
    if not arguments:
        lines.append("  (no arguments)")
    lines.append(f"Asked because: {', '.join(decision.reasons)}")
    text = "\n".join(lines)
    if len(text) > _PREVIEW_CHARS:
        return f"{text[:_PREVIEW_CHARS]}\n… [{len(text)} characters in all; the rest is not shown]"
    return text


def visible(text: str) -> str:
    """Return the text with control, bidirectional and zero-width characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char
        if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
        else _escape(char)
        for char in text
    )


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return visible(redact(text)).replace("\n", "\n    ")


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
