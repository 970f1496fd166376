"""One call on its way out: name and plain JSON arguments, checked once."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gerbang.limits import MAX_ARGUMENT_DEPTH, MAX_CALLS_PER_ANSWER
from gerbang.parse.render.refusal import RenderError, quoted

_MAX_INTEGER_BITS: Final = 14_000
"""Integers past about 4,200 digits: Python itself refuses to write longer ones as text."""


@dataclass(frozen=True, slots=True)
class WireCall:
    """`name` as it is written, `arguments` built of dict, list, str, int, float, bool and None only."""

    name: str
    arguments: dict[str, Any]


def wire_calls(calls: Iterable[object]) -> list[WireCall]:
    """Turn dicts or objects with `name` and `arguments` into checked calls.

    Raises RenderError for another shape, for values that are not JSON (NaN, sets, keys that are not
    strings, half surrogate pairs), for nesting over the limit and for more calls than an answer may hold.
    """
    if isinstance(calls, str | bytes | Mapping):
        raise RenderError("render takes a list of calls: write [{'name': ..., 'arguments': {...}}].")
    out = [_wire_call(call, number) for number, call in enumerate(calls, 1)]
    if len(out) > MAX_CALLS_PER_ANSWER:
        raise RenderError(f"{len(out)} calls in one answer; it may hold {MAX_CALLS_PER_ANSWER}. Split them.")
    return out


def _wire_call(call: object, number: int) -> WireCall:
    if isinstance(call, Mapping):
        name, arguments = call.get("name"), call.get("arguments")
    else:
        name, arguments = getattr(call, "name", None), getattr(call, "arguments", None)
    if not isinstance(name, str) or not name:
        raise RenderError(f"Call {number} has no name: give a dict or object with `name` and `arguments`.")
    if not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise RenderError(
            f"The arguments of {quoted(name)} are a {kind}; give a dict, empty when there are none."
        )
    return WireCall(_text(name, name), _plain_dict(arguments, name, MAX_ARGUMENT_DEPTH))


def _plain(value: Any, where: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(str(value), where)
    if isinstance(value, int):
        if value.bit_length() > _MAX_INTEGER_BITS:
            raise RenderError(f"{where}: the integer is too long to be written as text.")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RenderError(f"{where}: NaN and infinities are not JSON numbers.")
        return float(value)
    if depth <= 1:
        raise RenderError(f"{where}: nested deeper than {MAX_ARGUMENT_DEPTH} levels.")
    if isinstance(value, Mapping):
        return _plain_dict(value, where, depth - 1)
    if isinstance(value, list | tuple):
        return [_plain(item, where, depth - 1) for item in value]
    raise RenderError(f"{where}: a {type(value).__name__} is not a JSON value.")


def _plain_dict(value: Mapping[Any, Any], where: str, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise RenderError(f"{where}: object keys must be strings, not {type(key).__name__}.")
        spot = f"{where}.{quoted(key, 40)[1:-1]}"[-200:]
        out[_text(key, where)] = _plain(item, spot, depth)
    return out


def _text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        spot = quoted(where)[1:-1]
        raise RenderError(f"{spot}: the text holds half a surrogate pair and cannot be sent.") from None
    return value
