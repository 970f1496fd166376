"""Text from models, tools and files, made safe to print on a terminal.

A terminal obeys control sequences: foreign text could hide a line of an approval, rename the window or
answer on the keyboard's behalf. Everything that is not plain text is shown by its escape instead.
"""

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, the escape character among them
    "\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, reordering
    "\ud800-\udfff\U000e0000-\U000e007f]"  # halves of surrogate pairs, tag characters
)


def printable(text: str) -> str:
    """Return `text` with every control, invisible or reordering character written as its escape.

    Tabs and line breaks stay, and so do the joiners that some scripts and emoji need.
    """
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` on one line of at most `limit` characters, safe to print."""
    flat = printable(text[: limit * 2]).replace("\n", "\\n").replace("\t", "\\t")
    if len(flat) <= limit and len(text) <= limit * 2:
        return flat
    return flat[: limit - 1] + "…"


def json_safe(text: str) -> str:
    """Return JSON text on one line with the same characters as JSON escapes. The value stays the same."""
    return _UNSAFE.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
