"""Which dialect a model speaks, guessed from its name."""

import re

from gerbang.errors import UsageError
from gerbang.parse.dialects import TABLE

_SPLIT = re.compile(r"[\s_/:]+")
_BASE = "llama3_json"
"""Others tune these models for a format of their own and keep their name in the new one's."""


def dialect_for(model: str) -> str | None:
    """Return the dialect id for a model name such as `Qwen/Qwen3-Coder-480B`, or None when none is known.

    The longest known part of a name decides, so `qwen3-coder` wins over `qwen3`; that of a base model only
    when there is no other, so `Hermes-3-Llama-3.1-8B` is read as Hermes. A guess: what the text shows is the
    truth, and `auto` reads by that. Raises UsageError for what is no text.
    """
    if not isinstance(model, str):
        raise UsageError("dialect_for takes the name of a model, a text.")
    name = _SPLIT.sub("-", model.lower())
    found: tuple[bool, int, str] | None = None
    for row in TABLE.values():
        for part in row.match:
            weight = (row.id != _BASE, len(part))
            if part in name and (found is None or weight > found[:2]):
                found = (*weight, row.id)
    return found[2] if found else None
