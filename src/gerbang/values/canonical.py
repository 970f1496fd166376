"""Canonical JSON (RFC 8785): one byte sequence for one value, so that digests can be compared.

Numbers follow ECMAScript: 1.0 is written `1`; integers beyond 2**53 are kept exact (RFC 8785 would
need them as strings; we never round an argument). Not a number, infinities and lone surrogates are refused.
"""

import hashlib
import math
from typing import Any, Final

import orjson

from gerbang.limits import MAX_ARGUMENT_DEPTH

_SORT: Final = orjson.OPT_SORT_KEYS
_SAFE: Final = 9_007_199_254_740_992


class NotCanonical(ValueError):
    """The value has no canonical JSON. `code` is the error code for the model, `path` a JSON Pointer."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.path = path


def canonical(value: Any, *, max_depth: int = MAX_ARGUMENT_DEPTH) -> bytes:
    """Return the canonical JSON of `value` (dict, list, str, int, float, bool or None, nested).

    Raises NotCanonical for anything else, for NaN and infinities, lone surrogates, keys that are not
    strings, and nesting deeper than `max_depth`. Linear in the size of the value, except for sorting keys.
    """
    if _plain(value, max_depth):
        try:
            return orjson.dumps(value, option=_SORT)
        except (TypeError, ValueError):
            pass  # a lone surrogate: the slow path says where
    out: list[str] = []
    _write(value, out, "", max_depth)
    return "".join(out).encode()


def digest(value: Any) -> str:
    """Return `sha256:` and the hex digest of the canonical JSON of `value`. Raises NotCanonical."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def _plain(value: Any, depth: int) -> bool:
    """True when orjson's sorted output is already canonical: no floats, no big ints, ASCII keys."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_SAFE <= value <= _SAFE)
    if depth <= 0:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                return False
            if type(item) is not str and not _plain(item, depth - 1):
                return False
        return True
    if kind is list:
        return all(_plain(item, depth - 1) for item in value)
    return False


def _write(value: Any, out: list[str], path: str, depth: int) -> None:
    if value is None or isinstance(value, bool):
        out.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, str):
        out.append(_string(value, path))
    elif isinstance(value, int):
        out.append(_integer(value, path))
    elif isinstance(value, float):
        out.append(_number(value, path))
    elif depth <= 0:
        raise NotCanonical("CALL_TOO_DEEP", path, "The value is nested too deeply.")
    elif isinstance(value, dict):
        _write_object(value, out, path, depth)
    elif isinstance(value, list | tuple):
        out.append("[")
        for index, item in enumerate(value):
            if index:
                out.append(",")
            _write(item, out, f"{path}/{index}", depth - 1)
        out.append("]")
    else:
        raise NotCanonical("NOT_JSON", path, f"A {type(value).__name__} is not a JSON value.")


def _write_object(value: dict[Any, Any], out: list[str], path: str, depth: int) -> None:
    for key in value:
        if not isinstance(key, str):
            raise NotCanonical("NOT_JSON", path, "Object keys must be strings.")
    out.append("{")
    first = True
    for key in sorted(value, key=lambda k: k.encode("utf-16-be", "surrogatepass")):
        if not first:
            out.append(",")
        first = False
        out.append(_string(key, path))
        out.append(":")
        _write(value[key], out, f"{path}/{key}", depth - 1)
    out.append("}")


def _string(value: str, path: str) -> str:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        raise NotCanonical("BAD_UNICODE", path, "The text holds half a surrogate pair.") from None


def _integer(value: int, path: str) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # the interpreter bounds the digits it converts
        raise NotCanonical("NOT_A_NUMBER", path, "The integer has too many digits.") from None


def _number(value: float, path: str) -> str:
    if not math.isfinite(value):
        raise NotCanonical("NOT_A_NUMBER", path, "NaN and infinities are not JSON numbers.")
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = int(exponent)
    if -7 <= power < 0:  # ECMAScript writes 0.000001, Python 1e-06
        sign = "-" if mantissa.startswith("-") else ""
        digits = mantissa.lstrip("-").replace(".", "")
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    return f"{mantissa.removesuffix('.0')}e{'+' if power > 0 else '-'}{abs(power)}"
