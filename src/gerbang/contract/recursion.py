"""How many readings a schema gives to nested values: a choice inside a loop doubles them at each level.

Telling whether a value fits stays cheap, because the validator remembers its answers. Telling why it does
not fit has to go through every branch again: the work grows with branches to the power of the depth.
"""

from collections.abc import Iterator
from typing import Any, Final

from gerbang.values.pointer import MISSING, at

_CHOICES: Final = ("anyOf", "oneOf", "allOf")
_MAX_WORK: Final = 20_000
_MAX_DEPTH: Final = 64


def branches(schema: Any) -> int:
    """Return the size of the largest choice of a schema that refers to itself; 1 where nothing can multiply.

    References that are no JSON Pointer into the schema count as references to the whole of it.
    """
    inside: dict[str, set[str]] = {}
    waiting = list(_references(schema))
    if not waiting:
        return 1
    while waiting:
        name = waiting.pop()
        if name not in inside:
            inside[name] = set(_references(_target(schema, name)))
            waiting.extend(inside[name])
    if not _has_loop(inside):
        return 1
    sizes = [len(node[key]) for node in _nodes(schema) for key in _CHOICES if isinstance(node.get(key), list)]
    return max([2, *sizes]) if sizes or any("if" in node for node in _nodes(schema)) else 1


def too_much_to_explain(branching: int, value: Any) -> bool:
    """Tell whether naming every error of `value` could take more steps than a call may cost."""
    depth, values, level = 0, 1, [value]
    while level and depth <= _MAX_DEPTH:
        level = [
            item
            for holder in level
            if isinstance(holder, dict | list)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        depth += bool(level)
        values += len(level)
    return bool(branching**depth * values > _MAX_WORK)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def _references(schema: Any) -> Iterator[str]:
    for node in _nodes(schema):
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(node.get(key), str):
                yield node[key]


def _target(schema: Any, reference: str) -> Any:
    if not reference.startswith("#/"):
        return schema
    found = at(schema, reference[1:])
    return schema if found is MISSING else found  # an encoded or unusual name: taken as the whole


def _has_loop(inside: dict[str, set[str]]) -> bool:
    """Tell whether some reference leads back to itself: what is left when ends are taken off is a loop."""
    left = {name: set(names) for name, names in inside.items()}
    callers: dict[str, list[str]] = {name: [] for name in left}
    for name, names in left.items():
        for called in names:
            callers[called].append(name)
    ends = [name for name, names in left.items() if not names]
    while ends:
        end = ends.pop()
        del left[end]
        for caller in callers[end]:
            left[caller].discard(end)
            if not left[caller]:
                ends.append(caller)
    return bool(left)
