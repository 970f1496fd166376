"""Closing objects: a field that the schema does not name is refused, not passed on."""

from functools import cached_property
from typing import Any, Final


def close_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with every plainly described object closed (`additionalProperties: false`).

    Objects that say something about other properties themselves, or are composed, are left as they are;
    so are definitions, when some part of the schema puts them together with further properties.
    """
    closed: dict[str, Any] = _Closer(schema).close(schema)
    return closed


_MIXES: Final = frozenset({"allOf", "if", "not", "dependentSchemas", "$dynamicRef"})
_REFERS: Final = frozenset({"$ref", "anyOf", "oneOf"})
_COMPOSED: Final = _MIXES | _REFERS | {"patternProperties", "unevaluatedProperties"}
_MAPS: Final = ("properties", "$defs")
_LISTS: Final = ("prefixItems", "anyOf", "oneOf")
_SINGLES: Final = ("items", "additionalProperties")


class _Closer:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root

    @cached_property
    def _definitions(self) -> bool:
        """True when definitions may be closed. Asked only of a schema that has some."""
        return not _composes(self._root)

    def close(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        closed = dict(schema)
        for key in _MAPS:
            members = closed.get(key)
            if isinstance(members, dict) and (key != "$defs" or self._definitions):
                closed[key] = {name: self.close(item) for name, item in members.items()}
        for key in _LISTS:
            branches = closed.get(key)
            if isinstance(branches, list) and (key == "prefixItems" or "properties" not in closed):
                closed[key] = [self.close(item) for item in branches]
        for key in _SINGLES:
            if isinstance(closed.get(key), dict):
                closed[key] = self.close(closed[key])
        plain = isinstance(closed.get("properties"), dict) and _COMPOSED.isdisjoint(closed)
        if plain and "additionalProperties" not in closed:
            closed["additionalProperties"] = False
        return closed


def _composes(schema: Any) -> bool:
    """Tell whether a closed definition could clash with properties that stand elsewhere."""
    if isinstance(schema, list):
        return any(_composes(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    if not _MIXES.isdisjoint(schema) or ("properties" in schema and not _REFERS.isdisjoint(schema)):
        return True
    return any(_composes(item) for item in schema.values())
