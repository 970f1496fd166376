"""Which kinds of value a schema allows for each argument: worked out once for a list of tools."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gerbang.errors import UsageError
from gerbang.values.pointer import MISSING, at

ANY: Final[frozenset[str]] = frozenset()
"""Nothing is known: raw text stays text."""
ALL_KINDS: Final = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
"""The kinds of JSON Schema."""
_ALIASES: Final = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "uint": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "none": "null",
}
"""Words that schemas written by hand use for the kinds, sizes in bits left off."""
_MAX_REFS: Final = 16
_PY: Final = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (dict, "object"),
    (list, "array"),
)


def _listed(tools: Any) -> Iterable[Any]:
    if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
        raise UsageError("tools is a list of tools, or None.")
    return tools


def _named(tool: Any) -> tuple[str, Any]:
    """Return a tool's name and schema: of a dict (plain or OpenAI's form), or of a contract."""
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        body = inner if isinstance(inner, Mapping) else tool
        name = body.get("name")
        schema = body.get("parameters", body.get("input_schema", body.get("inputSchema")))
    else:
        name, schema = getattr(tool, "name", None), getattr(tool, "parameters", None)
    if not isinstance(name, str):
        raise UsageError(
            "A tool has no name. Give a list of {'name': ..., 'parameters': {...}}, "
            "tools in the OpenAI form, or contracts."
        )
    return name, schema


class Offered:
    """The offered tools: their names, and the kinds of their arguments, each worked out when first asked
    for.
    """

    __slots__ = ("_kinds", "_schemas", "names")

    def __init__(self, tools: Iterable[object] | None) -> None:
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self._kinds: dict[tuple[str, str], frozenset[str]] = {}
        for tool in () if tools is None else _listed(tools):
            name, schema = _named(tool)
            self._schemas[name] = schema if isinstance(schema, Mapping) else {}
        self.names = frozenset(self._schemas)

    def schema(self, tool: str) -> Mapping[str, Any]:
        """Return the schema of the tool's arguments; an empty one for a tool that was not offered."""
        return self._schemas.get(tool, {})

    def kinds(self, tool: str, key: str) -> frozenset[str]:
        """Return the kinds that the argument may have, or ANY when nothing is known of it."""
        found = self._kinds.get((tool, key))
        if found is None:
            if len(self._kinds) > 10_000:  # names come from the model: do not grow with them
                self._kinds.clear()
            root = self._schemas.get(tool, {})
            found = kinds_of(child(root, key, root), root)
            self._kinds[tool, key] = found
        return found

    def has_argument(self, tool: str, key: str) -> bool:
        """Tell whether the tool's schema names the argument."""
        root = self._schemas.get(tool, {})
        return child(root, key, root) is not None


def child(schema: Any, key: str, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return the schema of a property, looking through references and combinations, or None."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping) or depth > _MAX_REFS:
        return None
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return properties[key]
    for word in ("allOf", "anyOf", "oneOf"):
        options = schema.get(word)
        for option in options if isinstance(options, list) else ():
            found = child(option, key, root, depth + 1)
            if found is not None:
                return found
    extra = schema.get("additionalProperties")
    return extra if isinstance(extra, Mapping) and extra else None


def items(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return the schema of the elements of a list, or None."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping) or depth > _MAX_REFS:
        return None
    if isinstance(schema.get("items"), Mapping):
        return schema["items"]
    for word in ("allOf", "anyOf", "oneOf"):
        options = schema.get(word)
        for option in options if isinstance(options, list) else ():
            found = items(option, root, depth + 1)
            if found is not None:
                return found
    return None


def resolve(schema: Any, root: Mapping[str, Any]) -> Any:
    """Follow local references (`#/...`), at most 16 of them."""
    for _ in range(_MAX_REFS):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        reference = schema["$ref"]
        if not reference.startswith("#"):
            return None
        schema = at(root, reference[1:])
        if schema is MISSING:
            return None
    return None


def kinds_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the kinds that a schema allows; ANY when it says nothing."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping) or depth > _MAX_REFS:
        return ANY
    found: frozenset[str] = ANY
    kind = schema.get("type")
    if isinstance(kind, str | list):
        words = [kind] if isinstance(kind, str) else [word for word in kind if isinstance(word, str)]
        found = frozenset(map(_standing_for, words)) & ALL_KINDS
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list) and options:
            union = frozenset().union(*(kinds_of(option, root, depth + 1) for option in options))
            found = found & union if found and union else found | union
    every = schema.get("allOf")
    for option in every if isinstance(every, list) else ():
        more = kinds_of(option, root, depth + 1)
        found = found & more if found and more else found | more
    if not found:
        found = _implied(schema)
    if found and schema.get("nullable") is True:
        found |= {"null"}
    return found


def _standing_for(word: str) -> str:
    """Return the kind that a type's name stands for."""
    word = word.lower()
    return _ALIASES.get(word.rstrip("0123456789"), word)


def _implied(schema: Mapping[str, Any]) -> frozenset[str]:
    """Read the kinds off an enum, a constant, or words that only one kind has."""
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return frozenset(_kind(value) for value in values)
    if "const" in schema:
        return frozenset({_kind(schema["const"])})
    if isinstance(schema.get("properties"), Mapping):
        return frozenset({"object"})
    if isinstance(schema.get("items"), Mapping):
        return frozenset({"array"})
    return ANY


def _kind(value: Any) -> str:
    return next((word for kind, word in _PY if isinstance(value, kind)), "null")
