"""Type mending where the schema leaves one reading: `"3"` for an integer, a JSON text for an object.

Runs only after plain validation failed, and every change is recorded. A string is never made from
something else, and a string that the schema would accept as one is never touched.
"""

import math
import re
from typing import Any, Final

import orjson

from gerbang.contract.schema import pointer

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS: Final = {"true": True, "false": False}
_NOTHING: Final = object()


def coerce(schema: dict[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a mended copy of `arguments` and the JSON Pointers of what was changed."""
    changed: list[str] = []
    mended = _object(schema, arguments, (), changed)
    return mended, tuple(changed)


def _object(schema: Any, value: dict[str, Any], path: tuple[str, ...], changed: list[str]) -> dict[str, Any]:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return {
        key: _value(properties[key], item, (*path, key), changed) if key in properties else item
        for key, item in value.items()
    }


def _value(schema: Any, value: Any, path: tuple[str, ...], changed: list[str]) -> Any:
    if not isinstance(schema, dict):
        return value
    wanted = schema.get("type")
    if isinstance(value, str) and isinstance(wanted, str):
        read = _read(wanted, value)
        if read is not _NOTHING:
            changed.append(pointer(path))
            return read
    if isinstance(value, dict) and wanted == "object":
        return _object(schema, value, path, changed)
    if isinstance(value, list) and wanted == "array":
        items = schema.get("items")
        return [_value(items, item, (*path, str(index)), changed) for index, item in enumerate(value)]
    return value


def _read(wanted: str, text: str) -> Any:
    if wanted == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if wanted == "number" and _NUMBER.fullmatch(text):
        number = float(text)
        return (int(text) if _INTEGER.fullmatch(text) else number) if math.isfinite(number) else _NOTHING
    if wanted == "boolean":
        return _WORDS.get(text, _NOTHING)
    if wanted == "null":
        return None if text == "null" else _NOTHING
    if wanted in ("object", "array"):
        try:
            value = orjson.loads(text)
        except ValueError:
            return _NOTHING
        return value if isinstance(value, dict if wanted == "object" else list) else _NOTHING
    return _NOTHING
