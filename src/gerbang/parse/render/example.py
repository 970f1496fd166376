"""An example call for a prompt, made from a tool's own schema."""

from collections.abc import Mapping
from typing import Any, Final

from gerbang.parse.render.signature import Tool, resolved
from gerbang.parse.render.wirecall import WireCall

_MAX_DEPTH: Final = 3
_MAX_ARGUMENTS: Final = 6
_MAX_FIELDS: Final = 3
_MAX_TEXT: Final = 60
_FORMATS: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:00:00Z",
    "time": "09:00:00",
    "email": "ana@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
}


def example_call(tool: Tool) -> WireCall:
    """Return a call of `tool` with its required parameters (its first one when none is required)."""
    properties = {key: schema for key, schema in tool.properties.items() if len(key) <= _MAX_TEXT}
    chosen = [key for key in properties if key in tool.required][:_MAX_ARGUMENTS] or list(properties)[:1]
    return WireCall(tool.name, {key: _value(properties[key], tool.parameters, 0) for key in chosen})


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    schema = resolved(schema, root)
    for given in (schema.get("const"), *_first(schema.get("examples")), *_first(schema.get("enum"))):
        if isinstance(given, str | int | float | bool) and _is_short(given):
            return given
    for word in ("anyOf", "oneOf", "allOf"):
        options = schema.get(word)
        if isinstance(options, list) and options and depth < _MAX_DEPTH:
            return _value(options[0], root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    if kind == "array":
        return [_value(schema.get("items", {}), root, depth + 1)] if depth < _MAX_DEPTH else []
    if kind == "object" or "properties" in schema:
        return _object(schema, root, depth)
    return _text(schema)


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    tool = Tool("", "", schema)
    if depth >= _MAX_DEPTH:
        return {}
    keys = [key for key in tool.properties if key in tool.required and len(key) <= _MAX_TEXT][:_MAX_FIELDS]
    return {key: _value(tool.properties[key], root, depth + 1) for key in keys}


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    low, high = schema.get("minimum"), schema.get("maximum")
    value = 1 if whole else 1.5
    if isinstance(low, int | float) and value < low:
        value = low
    if isinstance(high, int | float) and value > high:
        value = high
    return int(value) if whole else float(value)


def _text(schema: Mapping[str, Any]) -> str:
    known = schema.get("format")
    if isinstance(known, str) and known in _FORMATS:
        return _FORMATS[known]
    text = "example text"
    low, high = schema.get("minLength"), schema.get("maxLength")
    if isinstance(low, int) and len(text) < low <= _MAX_TEXT:
        text += "." * (low - len(text))
    return text[:high] if isinstance(high, int) and high > 0 else text


def _first(values: Any) -> list[Any]:
    return values[:1] if isinstance(values, list) else []


def _is_short(value: str | int | float | bool) -> bool:
    return not isinstance(value, str) or len(value) <= _MAX_TEXT
