"""Values as text: JSON and Python literals, with the marks of a format escaped inside strings."""

import json
from collections.abc import Sequence
from typing import Any


def json_text(value: Any, marks: Sequence[str] = ()) -> str:
    r"""Return the JSON of a checked value, with each of `marks` inside a string escaped as `\uXXXX`.

    A mark can only stand inside a string (JSON's own characters form none), and no mark starts with a
    character that JSON escapes, so the rewriting never touches the structure or an escape.
    """
    return hide(json.dumps(value, ensure_ascii=False), marks)


def hide(text: str, marks: Sequence[str]) -> str:
    """Escape every mark in a text that is JSON or a Python literal, so that it is data to any reader."""
    for mark in marks:
        if mark in text:
            keep = 1 if len(set(mark)) > 1 else len(mark)  # of a run such as ``` every character is escaped
            text = text.replace(mark, "".join(f"\\u{ord(c):04x}" for c in mark[:keep]) + mark[keep:])
    return text


def python_text(value: Any) -> str:
    """Return a checked value as a Python literal. Strings are written as in JSON; Python reads them alike."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python_text(k)}: {python_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(python_text(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def kind_of(value: Any) -> str:
    """Return the JSON type name of a checked value; whole numbers are `number` (the name formats use)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"
