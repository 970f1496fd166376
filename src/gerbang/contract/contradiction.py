"""Schemas that say something impossible: nothing can fit them, or a reference goes round in place.

Only what can be told from one object of the schema is looked for, so that nothing valid is refused.
"""

from collections.abc import Iterator
from typing import Any, Final

from gerbang.values.pointer import MISSING, at

_Path = tuple[Any, ...]
_SPANS: Final = (
    ("minimum", "maximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
_HIGHS: Final = frozenset(high for _, high in _SPANS)
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLES: Final = (
    *("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames"),
    *("contains", "not", "if", "then", "else"),
)
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE_ONE: Final = ("not", "if", "then", "else")
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "object": dict,
    "array": list,
    "boolean": bool,
    "null": type(None),
    "number": (int, float),
    "integer": (int, float),
}


def contradiction(schema: dict[str, Any]) -> str | None:
    """Return what is impossible in a schema that compiles, or None."""
    referring: list[dict[str, Any]] = []
    stack: list[tuple[_Path, dict[str, Any]]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        said = _impossible(node)
        if said:
            return f"{_written(path) or 'the schema'}: {said}"
        if "$ref" in node:
            referring.append(node)
        for key, value in node.items():
            if isinstance(value, dict):
                if key in _MAPS:
                    stack += [
                        ((path, key, name), item) for name, item in value.items() if isinstance(item, dict)
                    ]
                elif key in _SINGLES:
                    stack.append(((path, key), value))
            elif key in _LISTS and isinstance(value, list):
                stack += [((path, key, n), item) for n, item in enumerate(value) if isinstance(item, dict)]
    return _round(schema, referring) if referring else None


def _written(path: "_Path") -> str:
    """Return a path as text; each begins with the one above it."""
    parts: list[str] = []
    while path:
        parts[:0] = map(str, path[1:])
        path = path[0]
    return "".join(f"/{part}" for part in parts)


def _impossible(node: dict[str, Any]) -> str:
    if not _HIGHS.isdisjoint(node):
        for low, high in _SPANS:
            if low in node and high in node and node[low] > node[high]:
                return f"{low} {node[low]} is above {high} {node[high]}"
    if "enum" in node and not _choices(node):
        return "no value of enum has the type that is asked for" if node["enum"] else "enum has no value"
    if node.get("additionalProperties") is False and "patternProperties" not in node:
        known = node.get("properties", {})
        for name in node.get("required", ()):
            if name not in known:
                return f"the field {name[:80]!r} is required and not among the properties"
    if "required" in node and "properties" in node:
        for name in node["required"]:
            if node["properties"].get(name) is False:
                return f"the field {name[:80]!r} is required and allows no value"
    return ""


def _choices(node: dict[str, Any]) -> list[Any]:
    wanted = node.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted
    return node["enum"] if names is None else [value for value in node["enum"] if _is_any(value, names)]


def _is_any(value: Any, names: list[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and not value.is_integer():
        return "number" in names
    return any(isinstance(value, _TYPES.get(name, object)) for name in names if name != "boolean")


def _round(schema: dict[str, Any], referring: list[dict[str, Any]]) -> str | None:
    """Tell of a reference that comes back to itself without going into the value: it says nothing at all."""
    done: set[int] = set()
    for first in referring:
        path: list[tuple[dict[str, Any], Iterator[dict[str, Any]]]] = [(first, _same_value(schema, first))]
        open_: set[int] = {id(first)}
        while path:
            node, others = path[-1]
            other = next((one for one in others if id(one) not in done), None)
            if other is None:
                done.add(id(node))
                open_.discard(id(node))
                path.pop()
            elif id(other) in open_:
                return f"the reference {str(first.get('$ref'))[:80]!r} leads back to itself"
            else:
                open_.add(id(other))
                path.append((other, _same_value(schema, other)))
    return None


def _same_value(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas that are asked about the very value that `node` is asked about."""
    if isinstance(node.get("$ref"), str):
        yield from _target(schema, node["$ref"])
    for key in _IN_PLACE:
        yield from (item for item in node.get(key, ()) if isinstance(item, dict))
    for key in _IN_PLACE_ONE:
        if isinstance(node.get(key), dict):
            yield node[key]


def _target(schema: dict[str, Any], reference: str) -> Iterator[dict[str, Any]]:
    # an encoded name or an anchor: the compiler has found it, we do not follow
    found = at(schema, reference[1:]) if reference.startswith("#/") or reference == "#" else MISSING
    if isinstance(found, dict):
        yield found
