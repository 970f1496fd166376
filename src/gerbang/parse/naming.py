"""Which dialect a model speaks, guessed from its name."""

import re

from gerbang.errors import UsageError
from gerbang.parse.dialects import TABLE

_SPLIT = re.compile(r"[\s_/:]+")


def dialect_for(model: str) -> str | None:
    """Return the dialect id for a model name such as `Qwen/Qwen3-Coder-480B`, or None when none is known.

    The longest known part of a name decides, so `qwen3-coder` wins over `qwen3`. A guess: what the text shows
    is the truth, and `auto` reads by that. Raises UsageError for what is no text.
    """
    if not isinstance(model, str):
        raise UsageError("dialect_for takes the name of a model, a text.")
    name = _SPLIT.sub("-", model.lower())
    found: tuple[int, str] | None = None
    for row in TABLE.values():
        for part in row.match:
            if part in name and (found is None or len(part) > found[0]):
                found = (len(part), row.id)
    return found[1] if found else None
