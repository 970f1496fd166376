"""What a person is shown before they decide: the call in full, secrets masked, nothing invisible."""

import unicodedata
from typing import Any

import msgspec

from gerbang.audit.redact import MASK, redact
from gerbang.values import Contract, Decision

_PREVIEW_CHARS = 20_000
_MARGIN = 8_000  # a cut may fall inside a credential: it is masked first
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK = frozenset(
    {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", "\u3164", "\uffa0"}
    | {chr(code) for code in range(0xFE00, 0xFE10)}
)  # letters and marks without a shape


def preview(contract: Contract, arguments: dict[str, Any], decision: Decision) -> str:
    """Return the text for the approver: tool, effect class, every argument, and why they are asked."""
    lines = [f"{contract.name} ({contract.risk})"]
    for name, value in arguments.items():
        shown = MASK if name in contract.sensitive else _text(value)
        lines.append(f"  {_line(name, shown)}")
    if not arguments:
        lines.append("  (no arguments)")
    lines.append(f"Asked because: {', '.join(decision.reasons)}")
    text = "\n".join(lines)
    if len(text) > _PREVIEW_CHARS:
        return f"{text[:_PREVIEW_CHARS]}\n… [{len(text)} characters in all; the rest is not shown]"
    return text


def visible(text: str) -> str:
    """Return the text with control, bidirectional and other invisible characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char == "\n" or not _unseen(char) else _escape(char) for char in text)


def _unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN_KINDS or char in _BLANK


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _line(name: str, text: str) -> str:
    """Return one argument. A credential that shows by the argument's name is masked as well."""
    cut = text[: _PREVIEW_CHARS + _MARGIN]
    shown = visible(redact(f"{name}: {cut}")[: _PREVIEW_CHARS + len(name)]).replace("\n", "\n    ")
    if len(text) <= _PREVIEW_CHARS:
        return shown
    return f"{shown}… [{len(text)} characters in all; the rest is not shown]"


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
