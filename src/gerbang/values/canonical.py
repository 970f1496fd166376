"""Canonical JSON (RFC 8785): one byte sequence for one value, so that digests can be compared.

Numbers follow ECMAScript: 1.0 is written `1`; integers beyond 2**53 are kept exact (RFC 8785 would
need them as strings; we never round an argument). Not a number, infinities and lone surrogates are refused.
"""

import hashlib
import math
from typing import Any, Final

import msgspec
import orjson

from gerbang.limits import MAX_ARGUMENT_BYTES, MAX_ARGUMENT_DEPTH
from gerbang.values.pointer import escaped

_ENCODER: Final = msgspec.json.Encoder(order="sorted")  # exact buffers: orjson's keep 4 KB each
_SAFE: Final = 9_007_199_254_740_992
_MAX_PATH: Final = 500
_MOST_DIGITS: Final = 4_300  # the sign counts: what is written here can be read by every reader of ours
# The fewest bytes that a member takes, its comma included: `"":0,` and `0,`. What a member's own members
# take comes on top, so that the sum over all containers is never more than the length of the JSON text.
_ENTRY: Final = 5
_ITEM: Final = 2
_NO_BOUND: Final = 2**63


class NotCanonical(ValueError):
    """The value has no canonical JSON. `code` is the error code for the model, `path` a JSON Pointer."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.path = path


def canonical(
    value: Any, *, max_depth: int = MAX_ARGUMENT_DEPTH, max_bytes: int = MAX_ARGUMENT_BYTES
) -> bytes:
    """Return the canonical JSON of `value` (dict, list, str, int, float, bool or None, nested).

    Raises NotCanonical for anything else, for NaN and infinities, lone surrogates, keys that are not
    strings, and nesting deeper than `max_depth`. Linear in the size of the value, except for sorting keys.
    A value with so many members that its text must be longer than `max_bytes` is refused before it is
    written (CALL_TOO_LARGE). Long strings are cheap and not counted: the text can still be longer.
    """
    if _plain(value, max_depth, max_bytes) >= 0:
        try:
            return _ENCODER.encode(value)
        except (TypeError, ValueError):
            pass  # a lone surrogate: the slow path says where
    out = _Out(max_bytes)
    try:
        _write(value, out, max_depth)
    except NotCanonical as error:
        raise NotCanonical(error.code, error.path[:_MAX_PATH], str(error)) from None
    return "".join(out.parts).encode()


def digest(value: Any) -> str:
    """Return `sha256:` and the hex digest of the canonical JSON of `value`, of any size.

    Raises NotCanonical.
    """
    return "sha256:" + hashlib.sha256(canonical(value, max_bytes=_NO_BOUND)).hexdigest()


def is_plain(value: Any, *, max_depth: int = MAX_ARGUMENT_DEPTH) -> bool:
    """Tell whether sorting makes a value canonical: it has no floats, no big integers, and ASCII keys."""
    return _plain(value, max_depth, _NO_BOUND) >= 0


def digest_of_plain(value: Any) -> str:
    """Return the `digest` of what is plain. Frozen values and sets of texts may stand in it for their JSON.

    Raises NotCanonical for a lone surrogate.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError:
        raise NotCanonical("CALL_NOT_TEXT", "", "a text holds half of a surrogate pair") from None
    return "sha256:" + hashlib.sha256(text).hexdigest()


class _Out:
    """Text in parts, and how many bytes more there may be."""

    __slots__ = ("parts", "room")

    def __init__(self, room: int) -> None:
        self.parts: list[str] = []
        self.room = room

    def take(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise _too_large()


def _too_large() -> NotCanonical:
    return NotCanonical(
        "CALL_TOO_LARGE", "", "The value has too many members: send less, or in several calls."
    )


def _plain(value: Any, depth: int, room: int) -> int:
    """Return what is left of `room` when the sorted output of the encoder is canonical already, else -1.

    It is with no floats, no big integers and ASCII keys. Raises NotCanonical when there is no room.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return room
    if kind is int:
        return room if -_SAFE <= value <= _SAFE else -1
    if depth <= 0:
        return -1
    if kind is dict:
        room -= _ENTRY * len(value)
        if room < 0:
            raise _too_large()
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                return -1
            if type(item) is str or (type(item) is int and -_SAFE <= item <= _SAFE):
                continue
            if (room := _plain(item, depth - 1, room)) < 0:
                return -1
        return room
    if kind is list or kind is tuple:
        room -= _ITEM * len(value)
        if room < 0:
            raise _too_large()
        for item in value:
            if type(item) is not str and (room := _plain(item, depth - 1, room)) < 0:
                return -1
        return room
    return -1


def _write(value: Any, out: _Out, depth: int) -> None:
    if value is None or isinstance(value, bool):
        out.parts.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, str):
        out.parts.append(_string(value))
    elif isinstance(value, int):
        out.parts.append(_integer(value))
    elif isinstance(value, float):
        out.parts.append(_number(value))
    elif depth <= 0:
        raise NotCanonical("CALL_TOO_DEEP", "", "The value is nested too deeply.")
    elif isinstance(value, dict):
        _write_object(value, out, depth)
    elif isinstance(value, list | tuple):
        out.take(_ITEM * len(value))
        out.parts.append("[")
        for index, item in enumerate(value):
            if index:
                out.parts.append(",")
            _write_part(index, item, out, depth)
        out.parts.append("]")
    else:
        raise NotCanonical("NOT_JSON", "", f"A {type(value).__name__} is not a JSON value.")


def _write_object(value: dict[Any, Any], out: _Out, depth: int) -> None:
    out.take(_ENTRY * len(value))
    for key in value:
        if not isinstance(key, str):
            raise NotCanonical("NOT_JSON", "", "Object keys must be strings.")
    out.parts.append("{")
    first = True
    for key in sorted(value, key=lambda k: k.encode("utf-16-be", "surrogatepass")):
        if not first:
            out.parts.append(",")
        first = False
        out.parts.append(_string(key))
        out.parts.append(":")
        _write_part(key, value[key], out, depth)
    out.parts.append("}")


def _write_part(name: str | int, value: Any, out: _Out, depth: int) -> None:
    """Write a member. The pointer is put together on the way out of an error: a good value pays nothing."""
    try:
        _write(value, out, depth - 1)
    except NotCanonical as error:
        part = str(name)[:_MAX_PATH].encode("utf-8", "replace").decode()
        error.path = f"/{escaped(part)}{error.path}"
        raise


def _string(value: str) -> str:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        raise NotCanonical("BAD_UNICODE", "", "The text holds half a surrogate pair.") from None


def _integer(value: int) -> str:
    try:
        text = int.__repr__(value)
    except ValueError:  # the interpreter bounds the digits it converts
        text = ""
    if not 0 < len(text) <= _MOST_DIGITS:
        raise NotCanonical("NOT_A_NUMBER", "", "The integer has too many digits.")
    return text


def _number(value: float) -> str:
    """Write a number as ECMAScript does: the shortest digits, a plain decimal from 1e-6 to below 1e21."""
    if not math.isfinite(value):
        raise NotCanonical("NOT_A_NUMBER", "", "NaN and infinities are not JSON numbers.")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def copied(value: Any) -> Any:
    """Return a copy of a JSON value that nobody else holds.

    What is no JSON is kept as it is, and so is what arguments cannot hold: they are refused as too deep or
    too large. A value that holds one list many times is as large as its text would be.
    """
    return _copy(value, MAX_ARGUMENT_DEPTH, [MAX_ARGUMENT_BYTES])


def _copy(value: Any, depth: int, room: list[int]) -> Any:
    kind = type(value)
    if depth <= 0 or (kind is not dict and kind is not list):
        return value
    room[0] -= (_ENTRY if kind is dict else _ITEM) * len(value)
    if room[0] < 0:
        return value
    if kind is dict:
        return {
            key: item if type(item) is str else _copy(item, depth - 1, room) for key, item in value.items()
        }
    return [item if type(item) is str else _copy(item, depth - 1, room) for item in value]
