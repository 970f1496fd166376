"""Whole JSON values: read strictly, written canonically."""

import json
import re
from json.encoder import encode_basestring
from typing import Any, Final

import msgspec

from gerbang.parse.caps import MAX_CALL, MAX_DEPTH
from gerbang.parse.faults import Broken, message_of

_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_STRUCTURE: Final = re.compile(r'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+', re.DOTALL)


_FAST: Final = msgspec.json.Decoder()
_MAX_PLAIN: Final = 1_000_000
_SAFE: Final = 2**53


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if not same(found[key], value):
                raise Broken("CALL_AMBIGUOUS", "a key is given twice with two different values")
    return found


def _constant(word: str) -> Any:
    raise Broken("CALL_NOT_JSON", f"{word} is no JSON value")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def load(text: str) -> Any:
    """Read one JSON value, every digit kept. Raises Broken: not JSON, too deep, a key twice, half a
    character.
    """
    if len(text) > MAX_CALL:
        raise Broken("CALL_TOO_LARGE", f"more than {MAX_CALL} characters")
    if text.count("{") + text.count("[") > MAX_DEPTH and depth_of(text) > MAX_DEPTH:
        raise Broken("CALL_TOO_DEEP", f"more than {MAX_DEPTH} levels")
    if _half_character(text):
        raise Broken("CALL_NOT_JSON", "a text holds half a character")
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise Broken("CALL_TOO_DEEP", f"more than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise Broken("CALL_NOT_JSON", str(error).split(":")[0].lower()) from None
    if _ESCAPED_SURROGATE.search(text) and _half_character(json.dumps(value, ensure_ascii=False)):
        raise Broken("CALL_NOT_JSON", "a text holds half a character")
    return value


def _half_character(text: str) -> bool:
    """Tell whether a text holds half a surrogate pair."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def load_object(text: str) -> dict[str, Any]:
    """Read a JSON object. Raises Broken like `load`, and for any other value."""
    plain = _plain_object(text)
    if plain is not None:
        return plain
    value = load(text)
    if not isinstance(value, dict):
        raise Broken("CALL_SHAPE", "the arguments are no object")
    return value


def _plain_object(text: str) -> dict[str, Any] | None:
    """Return a flat object of texts, small integers, booleans and nulls, or None for everything else.

    Most arguments are that. The fast decoder keeps the last of two equal keys, so the quotes are counted:
    two for each key and each text, when nothing is escaped and no key stands twice.
    """
    if "\\" in text or len(text) > _MAX_PLAIN:
        return None
    try:
        value = _FAST.decode(text)
    except (ValueError, msgspec.DecodeError):
        return None
    if type(value) is not dict:
        return None
    quotes = len(value)
    for item in value.values():
        kind = type(item)
        if kind is str:
            quotes += 1
        elif kind is int:
            if not -_SAFE < item < _SAFE:
                return None
        elif kind is not bool and item is not None:
            return None
    return value if text.count('"') == 2 * quotes else None


def depth_of(text: str) -> int:
    """Return how deep the brackets of a JSON text nest, without reading it."""
    depth = most = pos = 0
    while True:
        match = _STRUCTURE.match(text, pos)
        pos = match.end() if match else len(text)
        if pos >= len(text):
            return most
        depth += 1 if text[pos] in "{[" else -1
        most = max(most, depth)
        pos += 1
        if most > MAX_DEPTH:
            return most


def dump(value: Any) -> str:
    """Write a value as JSON text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def quoted(text: str) -> str:
    """Write a text as a JSON string. Raises Broken for half a character."""
    return encode_basestring(text)


def same(left: Any, right: Any) -> bool:
    """Compare as JSON with types: true is not 1."""
    if left is right:
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def arguments_from_json(text: str) -> tuple[dict[str, Any] | None, tuple[str, str] | None]:
    """Read the arguments of a structured call: strict JSON, every digit kept, no key twice, no NaN.

    Returns the arguments and None, or None and (code, message) with what is wrong. An empty text is `{}`.
    """
    if not text or text.isspace():
        return {}, None
    plain = _plain_object(text)
    if plain is not None:
        return plain, None
    try:
        return load_object(text), None
    except Broken as broken:
        return None, (broken.code, message_of(broken.code, broken.why))
