"""What a foreign server said, made short and safe to show to a person or a model."""

import json
import re
from typing import Any, Final

MAX_REASON: Final = 200
"""Longest part of a server's own words that an error message quotes, in characters."""
_UNPRINTABLE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\s]+"
)


def reason(body: bytes, secret: str | None) -> str:
    """Return the reason that an error body gives, in one short line without the secret; "" for none."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        return ""
    try:
        said = said_by(json.loads(text))
    except (ValueError, RecursionError):
        said = text
    return tidy(said, secret)


def said_by(value: Any) -> str:
    """Return the sentence in an error object, whichever of the usual shapes it has."""
    for _level in range(3):
        if not isinstance(value, dict):
            break
        value = next((value[key] for key in ("error", "message", "detail", "msg") if value.get(key)), "")
    return value if isinstance(value, str) else json.dumps(value)


def answered(status: int, body: bytes, secret: str | None) -> str:
    """Return the end of a sentence about a refused request: the status, and what the server said."""
    if body.lstrip().startswith(b"<"):
        return f"answered {status} with an HTML page. Is this the address of the API?"
    said = reason(body, secret)
    if not said:
        return f"answered {status}."
    return f"answered {status}: {said}" + ("" if said.endswith((".", "?", "!", "…")) else ".")


def tidy(text: str, secret: str | None) -> str:
    """Return `text` in one line of at most MAX_REASON characters, the secret masked."""
    text = text[: MAX_REASON * 20]
    if secret:
        text = text.replace(secret, "***")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= MAX_REASON else text[: MAX_REASON - 1] + "…"
