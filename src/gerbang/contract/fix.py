"""The certain repair of arguments as a JSON Patch (RFC 6902): only what leaves one reading.

A candidate is taken only when, applied, it takes findings away and adds none: what is handed out was tried.
"""

import copy
import difflib
from collections.abc import Iterator
from typing import Any, Final

from gerbang.contract.catalogue import Entry
from gerbang.contract.coerce import coerce
from gerbang.contract.schema import Branching, findings
from gerbang.limits import MAX_CODE_TEXT, MAX_FINDINGS
from gerbang.values import InvalidField
from gerbang.values.pointer import at, pointer, steps
from gerbang.values.sentences import field as finding

Operation = dict[str, Any]
_MAX_MEMBERS: Final = 300
_MAX_TEXT: Final = 1_000
_NEAR: Final = 0.75
_MAX_NAME: Final = 64
_WORDS: Final = frozenset({"true", "false", "null"})
_LOCAL: Final = "#/$defs/"
_FIRST: Final = ("required",)  # a field that moves to its right name is no extra field any more


def certain_fix(entry: Entry, arguments: dict[str, Any], fields: tuple[InvalidField, ...]) -> list[Operation]:
    """Return the operations that mend `arguments` as far as that is certain; empty when nothing is.

    `fields` are the findings about them. Paths are relative to the arguments. Values of sensitive fields
    are never quoted. Large arguments, and schemas that refer to themselves inside a choice, get no fix.
    """
    if isinstance(entry.validator, Branching) or _size(arguments) > _MAX_MEMBERS:
        return []
    owned = sorted(entry.contract.runtime_fields.intersection(arguments))
    fix = [_remove([name]) for name in owned][:MAX_FINDINGS]
    now = copy.deepcopy({name: value for name, value in arguments.items() if name not in owned})
    left = {(field.path, field.code) for field in fields if field.code != "RUNTIME_OWNED_FIELD"}
    if not left or len(fields) >= MAX_FINDINGS:
        return fix
    for _ in range(2):  # once a field has its right name, what else is there may be too much
        known = len(fix)
        for candidate in list(_candidates(entry, now)):
            tried = copy.deepcopy(now)
            if len(candidate.get("from", "")) + len(candidate["path"]) > _MAX_TEXT:
                continue
            if not apply(tried, candidate):
                continue
            found = findings(entry.validator, tried)[0] if not entry.validator.is_valid(tried) else ()
            after = {(field.path, field.code) for field in found}
            if after < left:
                fix.append(candidate)
                now, left = tried, after
        if not left or len(fix) == known:
            break
    return fix


def with_names(
    entry: Entry, arguments: dict[str, Any], fields: tuple[InvalidField, ...]
) -> tuple[InvalidField, ...]:
    """Return the findings, with the name that a field which does not exist is likely meant to have.

    That is a hint for whoever writes the call: it takes less than a fix, which has to leave one reading.
    """
    schema = entry.contract.parameters
    open_names = [name for name in schema.get("properties", {}) if name not in arguments]
    required = frozenset(schema.get("required", ()))
    found = []
    for one in fields:
        written = steps(one.path)[0] if one.code == "EXTRA_FIELD" and one.path.count("/") == 1 else ""
        meant = [
            name
            for name in open_names
            if written and _is_misspelt(written, name, name in required, name in required)
        ]
        found.append(
            finding(one.path, one.code, "renamed", name=meant[0][:MAX_CODE_TEXT]) if len(meant) == 1 else one
        )
    return tuple(found)


def apply(arguments: dict[str, Any], operation: Operation) -> bool:
    """Apply one operation to the arguments in place; tell whether it could be. Only members of objects."""
    holder, name = _place(arguments, operation["path"])
    if holder is None:
        return False
    if operation["op"] == "move":
        source, old = _place(arguments, operation["from"])
        if source is None or old not in source:
            return False
        holder[name] = source.pop(old)
        return True
    if (operation["op"] != "add") and name not in holder:
        return False
    if operation["op"] == "remove":
        del holder[name]
    else:
        holder[name] = copy.deepcopy(operation["value"])
    return True


def _place(arguments: Any, path: str) -> tuple[dict[str, Any] | None, str]:
    """Return the object that holds the last part of a pointer, and that part."""
    parents, _, last = path.rpartition("/")
    here = at(arguments, parents)
    (last,) = steps(f"/{last}")
    return (here, last) if isinstance(here, dict) else (None, "")


def _candidates(entry: Entry, arguments: dict[str, Any]) -> Iterator[Operation]:
    errors = list(entry.validator.iter_errors(arguments))[: 2 * MAX_FINDINGS]
    errors.sort(key=lambda error: error.kind.name not in _FIRST)
    for error in errors:
        path = list(error.instance_path)
        value = _at(arguments, path)
        schema = _at(entry.contract.parameters, list(error.schema_path)[:-1])
        if not isinstance(schema, dict):
            continue
        kind = error.kind.name
        if kind == "required" and isinstance(value, dict):
            yield from _missing(entry, schema, value, path, error.kind.property)
        elif kind in ("additionalProperties", "unevaluatedProperties") and isinstance(value, dict):
            yield from _extra(schema, value, path, list(error.kind.unexpected))
        elif path and str(path[0]) not in entry.contract.sensitive:
            yield from _value(entry, schema, value, path, error)


def _missing(
    entry: Entry, schema: dict[str, Any], value: dict[str, Any], path: list[Any], name: str
) -> Iterator[Operation]:
    """A required field: one that is misspelt, or whose only value or default the schema has."""
    known = schema.get("properties", {})
    extra = [key for key in value if key not in known]
    absent = [key for key in schema.get("required", ()) if key not in value]
    alone = len(extra) == 1 and len(absent) == 1
    near = [key for key in extra if _is_misspelt(key, name, True, alone)]
    if len(near) == 1 and [key for key in absent if _is_misspelt(near[0], key, True, alone)] == [name]:
        yield _move([*path, near[0]], [*path, name])
    yield from _only_value(_resolved(entry, known.get(name)), [*path, name])


def _only_value(schema: dict[str, Any], path: list[Any]) -> Iterator[Operation]:
    options = schema.get("enum")
    if "const" in schema:
        yield {"op": "add", "path": pointer(path), "value": schema["const"]}
    elif isinstance(options, list) and len(options) == 1:
        yield {"op": "add", "path": pointer(path), "value": options[0]}
    elif "default" in schema:
        yield {"op": "add", "path": pointer(path), "value": schema["default"]}


def _extra(
    schema: dict[str, Any], value: dict[str, Any], path: list[Any], names: list[str]
) -> Iterator[Operation]:
    """A field that does not exist: one written in another way, or nothing of ours.

    A value that may be meant for another field, or for a required one that is missing, is not thrown away.
    """
    absent = [key for key in schema.get("properties", {}) if key not in value]
    for name in names:
        near = [key for key in absent if _is_near(name, key)]
        same = [key for key in near if _is_misspelt(name, key, False, False)]
        if len(same) == 1 and sum(_is_near(other, same[0]) for other in names) == 1:
            yield _move([*path, name], [*path, same[0]])
        if not near and all(key in value for key in schema.get("required", ())):
            yield _remove([*path, name])


def _value(
    entry: Entry, schema: dict[str, Any], value: Any, path: list[Any], error: Any
) -> Iterator[Operation]:
    kind = error.kind.name
    if kind in ("enum", "const") and isinstance(value, str):
        options = error.kind.options if kind == "enum" else [error.kind.expected_value]
        wanted = value.strip().casefold()
        same = [one for one in options if isinstance(one, str) and one.casefold() == wanted]
        if len(same) == 1:
            yield {"op": "replace", "path": pointer(path), "value": same[0]}
    if kind not in ("type", "enum", "const", "anyOf", "oneOf"):
        return
    if isinstance(value, str) and len(value) <= _MAX_TEXT:
        text = value.strip()
        text = text.lower() if text.lower() in _WORDS else text
        within = {"properties": {"v": schema}, "$defs": entry.contract.parameters.get("$defs", {})}
        read, changed = coerce(within, {"v": text})
        if changed:
            yield {"op": "replace", "path": pointer(path), "value": read["v"]}
    if value is None:  # nothing was meant: an optional field is left out (a required one is missed then)
        yield _remove(path)


def _resolved(entry: Entry, schema: Any) -> dict[str, Any]:
    """Return a schema, or the one that it refers to. What says more than one thing says nothing here."""
    for _ in range(8):
        if not isinstance(schema, dict):
            return {}
        name = schema.get("$ref")
        if not isinstance(name, str) or "default" in schema:
            return schema
        if not name.startswith(_LOCAL):
            return {}
        schema = entry.contract.parameters.get("$defs", {}).get(name.removeprefix(_LOCAL))
    return {}


def _is_near(written: str, name: str) -> bool:
    """Tell whether a name looks like another one: enough not to throw its value away."""
    left, right = _bare(written), _bare(name)
    if max(len(left), len(right)) > _MAX_NAME:
        return False
    match = difflib.SequenceMatcher(None, left, right, autojunk=False)
    return match.real_quick_ratio() >= _NEAR and match.quick_ratio() >= _NEAR and match.ratio() >= _NEAR


def _is_misspelt(written: str, name: str, wanted: bool, alone: bool) -> bool:
    """Tell whether a name is certainly another one, written in another way or with one slip.

    `wanted`: the other one is required and missing, `alone`: and nothing else is open. A slip is a letter too
    many, too few, or two of them swapped, and in a wanted name a wrong one; the first letter and all digits
    are right (`address1` is not `address2`, `price_min` is not `price_max`). A short form needs both.
    """
    left, right = _bare(written), _bare(name)
    if left == right:
        return True
    if not left or not right or left[0] != right[0] or max(len(left), len(right)) > _MAX_NAME:
        return False
    if [letter for letter in left if letter.isdigit()] != [letter for letter in right if letter.isdigit()]:
        return False
    if min(len(left), len(right)) >= (4 if wanted else 7) and _one_slip(left, right, wanted):
        return True
    letters = iter(right)
    return wanted and alone and len(left) >= 3 and all(letter in letters for letter in left)


def _one_slip(left: str, right: str, wrong_letter: bool) -> bool:
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    a, b = left[start:], right[start:]
    if len(a) == len(b):
        swapped = a[1::-1] + a[2:] == b
        return swapped or (wrong_letter and a[1:] == b[1:])
    return a[1:] == b or a == b[1:]


def _bare(name: str) -> str:
    return name[:200].casefold().replace("_", "").replace("-", "").replace(" ", "")


def _at(value: Any, path: list[Any]) -> Any:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _size(value: Any) -> int:
    """Return how many members there are, counting no further than there may be."""
    count = 0
    stack = [value]
    while stack and count <= _MAX_MEMBERS:
        item = stack.pop()
        if isinstance(item, dict | list):
            count += len(item)
            if count <= _MAX_MEMBERS:
                stack.extend(item.values() if isinstance(item, dict) else item)
    return count


def _remove(path: list[Any]) -> Operation:
    return {"op": "remove", "path": pointer(path)}


def _move(old: list[Any], new: list[Any]) -> Operation:
    return {"op": "move", "from": pointer(old), "path": pointer(new)}
