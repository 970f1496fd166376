"""Proof that a rendered text means what was given: it is read again by the dialect's own reader."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gerbang.parse.render.refusal import RenderError, quoted
from gerbang.parse.render.shape import Shape
from gerbang.parse.render.wirecall import WireCall

_ADVICE = "Use a dialect with JSON arguments (tool_use, hermes, ...), which can carry it."


def check_read_back(
    text: str,
    calls: Sequence[WireCall],
    dialect: str,
    shape: Shape,
    tools: Sequence[Mapping[str, Any]] | None,
) -> None:
    """Raise RenderError, with the reason, unless the reader gets exactly these calls out of `text`."""
    from gerbang.parse import parse  # the package offers `render` itself, so this cannot stand at the top

    result = parse(text, dialect, tools=list(inferred_tools(calls) if tools is None else tools))
    got = [(call.name, call.arguments) for call in result.calls]
    if len(got) == len(calls) and all(
        name == call.name and same(value, call.arguments)
        for (name, value), call in zip(got, calls, strict=True)
    ):
        return
    raise RenderError(_reason(calls, got, dialect, shape))


def same(left: Any, right: Any) -> bool:
    """Compare as JSON with types: `3` is not `"3"`, `1` is not `true`, `1` equals `1.0`."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(same(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, str) or isinstance(right, str):
        return type(left) is type(right) and bool(left == right)
    return bool(left == right)


def inferred_tools(calls: Sequence[WireCall]) -> list[dict[str, Any]]:
    """Return the tool list that fits these values: what the reader is assumed to know of the types."""
    seen: dict[str, dict[str, dict[str, Any]]] = {}
    for call in calls:
        kinds = seen.setdefault(call.name, {})
        for key, value in call.arguments.items():
            kind = _schema(value)
            kinds.setdefault(key, {})[json.dumps(kind, sort_keys=True)] = kind
    return [{"name": name, "parameters": _object(kinds)} for name, kinds in seen.items()]


def _schema(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return _object({key: {"": _schema(item)} for key, item in value.items()})
    if isinstance(value, list):
        kinds = {json.dumps(kind, sort_keys=True): kind for kind in map(_schema, value)}
        return {"type": "array", "items": _either(kinds)} if kinds else {"type": "array"}
    if value is None:
        return {"type": "null"}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    return {"type": "number" if isinstance(value, float) else "string"}


def _object(kinds: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    return {"type": "object", "properties": {key: _either(schemas) for key, schemas in kinds.items()}}


def _either(schemas: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    options = list(schemas.values())
    return options[0] if len(options) == 1 else {"anyOf": options}


def _reason(
    calls: Sequence[WireCall], got: Sequence[tuple[str, Mapping[str, Any]]], dialect: str, shape: Shape
) -> str:
    for index, call in enumerate(calls):
        where = f"{dialect} cannot carry this call of {quoted(call.name)}"
        for key, value in call.arguments.items():
            mark = next((mark for mark in shape.marks if _holds(value, mark)), None)
            back = got[index][1].get(key) if index < len(got) else None
            if mark is not None and not same(back, value):
                return (
                    f"{where}: argument {quoted(key)} holds {quoted(mark)}, which is markup there. {_ADVICE}"
                )
        if index >= len(got):
            return (
                f"{where}: the name or an argument name has characters that the format cannot hold. {_ADVICE}"
            )
        name, arguments = got[index]
        if name != call.name:
            return f"{where}: the name would be read as {quoted(name)}. Rename the tool."
        for key, value in call.arguments.items():
            if key not in arguments:
                return f"{where}: argument {quoted(key)} would be lost, its name does not fit. {_ADVICE}"
            if not same(arguments[key], value):
                found = quoted(json.dumps(arguments[key], ensure_ascii=True, default=str))
                return (
                    f"{where}: argument {quoted(key)} would be read as {found}, because its type or its "
                    f"outer white space is not written. Give the schema in `tools`. Or: {_ADVICE}"
                )
        if len(arguments) != len(call.arguments):
            return f"{where}: it would be read with other arguments than were given. {_ADVICE}"
    return (
        f"{dialect} cannot carry these calls together: {len(got)} would be read, not {len(calls)}. {_ADVICE}"
    )


def _holds(value: Any, mark: str) -> bool:
    if isinstance(value, str):
        return mark in value
    if isinstance(value, dict):
        return any(_holds(key, mark) or _holds(item, mark) for key, item in value.items())
    return isinstance(value, list) and any(_holds(item, mark) for item in value)
