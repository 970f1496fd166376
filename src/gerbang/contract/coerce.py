"""Type mending where the schema leaves one reading: `"3"` for an integer, a JSON text for an object.

Runs only after plain validation failed, and every change is recorded. A string is never made from
something else, and a string that the schema would accept as one is never touched. Where a schema offers
several types (`anyOf`, `oneOf`, a list of types, a reference into its own `$defs`), a string is read
only when exactly one of them can read it and none of them takes a string.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from gerbang.contract.schema import pointer

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS: Final = {"true": True, "false": False}
_NOTHING: Final = object()
_MAX_BRANCHES: Final = 32
_LOCAL: Final = "#/$defs/"


def coerce(schema: dict[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a mended copy of `arguments` and the JSON Pointers of what was changed."""
    definitions = schema.get("$defs")
    mender = _Mender(definitions if isinstance(definitions, dict) else {})
    mended = mender.members(schema, arguments, ())
    return mended, tuple(mender.changed)


class _Mender:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self.changed: list[str] = []

    def members(self, schema: Any, value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        properties = schema.get("properties")
        others = schema.get("additionalProperties")
        known = properties if isinstance(properties, dict) else {}
        return {key: self.value(known.get(key, others), item, (*path, key)) for key, item in value.items()}

    def value(self, schema: Any, value: Any, path: tuple[str, ...]) -> Any:
        if not isinstance(value, str | dict | list):
            return value
        branches = self._branches(schema, 8)
        if isinstance(value, str):
            read, branch = _only_reading(branches, value)
            if read is _NOTHING:
                return value
            self.changed.append(pointer(path))
            return self._inside(branch, read, path)
        wanted = "object" if isinstance(value, dict) else "array"
        fitting = [branch for branch in branches if wanted in _types(branch)]
        return self._inside(fitting[0], value, path) if len(fitting) == 1 else value

    def _inside(self, branch: dict[str, Any], value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return self.members(branch, value, path)
        if isinstance(value, list):
            items = branch.get("items")
            return [self.value(items, item, (*path, str(index))) for index, item in enumerate(value)]
        return value

    def _branches(self, schema: Any, hops: int) -> list[dict[str, Any]]:
        """Return the simple schemas that a schema offers, or none when it cannot be told."""
        if not isinstance(schema, dict) or hops <= 0 or "allOf" in schema:
            return []
        name = schema.get("$ref")
        if isinstance(name, str):
            target = self._definitions.get(name.removeprefix(_LOCAL)) if name.startswith(_LOCAL) else None
            return self._branches(target, hops - 1)
        offered = schema.get("anyOf", schema.get("oneOf"))
        if offered is None:
            return [schema] if _types(schema) else []
        found: list[dict[str, Any]] = []
        for one in offered if isinstance(offered, list) else ():
            part = self._branches(one, hops - 1)
            if not part or len(found) > _MAX_BRANCHES:
                return []
            found.extend(part)
        return found


def _types(schema: dict[str, Any]) -> tuple[str, ...]:
    """Return the types that a simple schema names; a choice of constants names those of its values."""
    wanted = schema.get("type")
    if isinstance(wanted, str):
        return (wanted,)
    if isinstance(wanted, list):
        return tuple(name for name in wanted if isinstance(name, str))
    constants = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(constants, list):
        return ()
    return tuple(dict.fromkeys(_type_of(constant) for constant in constants))


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "string")


def _only_reading(branches: list[dict[str, Any]], text: str) -> tuple[Any, dict[str, Any]]:
    """Return what the text says, when the schemas leave exactly one way to read it."""
    readings: list[tuple[str, Any, dict[str, Any]]] = []
    for branch in branches:
        for wanted in _types(branch):
            if wanted == "string" or wanted not in _READERS:
                return _NOTHING, {}
            value = _READERS[wanted](text)
            if value is not _NOTHING:
                readings.append((_type_of(value), value, branch))
    if not readings:
        return _NOTHING, {}
    kind, value, branch = readings[0]
    if any(other[0] != kind or other[1] != value for other in readings[1:]):
        return _NOTHING, {}
    if len(readings) > 1 and kind in ("object", "array"):
        branch = {}  # several shapes could be meant: nothing inside is touched
    return value, branch


def _integer(text: str) -> Any:
    return int(text) if _INTEGER.fullmatch(text) else _NOTHING


def _number(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else _NOTHING


def _boolean(text: str) -> Any:
    return _WORDS.get(text, _NOTHING)


def _null(text: str) -> Any:
    return None if text == "null" else _NOTHING


def _object(text: str) -> Any:
    return _json(text, dict)


def _array(text: str) -> Any:
    return _json(text, list)


def _json(text: str, kind: type) -> Any:
    """Read JSON strictly: a key that stands twice, or NaN, leaves more than one reading."""
    if not text.lstrip(" \t\r\n").startswith("{" if kind is dict else "["):
        return _NOTHING
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING
    return value if isinstance(value, kind) else _NOTHING


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(name)


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "object": _object,
    "array": _array,
}
