"""From raw text to a JSON value, by the kinds that the schema allows."""

import re
from typing import Final

from gerbang.parse.faults import Broken
from gerbang.parse.json_text import JsonText
from gerbang.parse.json_value import dump, load, quoted
from gerbang.parse.kinds import ANY
from gerbang.parse.python_calls import literal

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\.0+")
_MAX_DIGITS: Final = 4_300
_BOOLEANS: Final = {"true": "true", "false": "false"}


def is_text(kinds: frozenset[str]) -> bool:
    """Tell whether every raw text is a text: it can be passed on while it arrives."""
    return kinds == ANY or kinds == {"string"}


def coerce(raw: str, kinds: frozenset[str], *, repair: bool) -> tuple[str, bool]:
    """Return (JSON text, repaired). What fits no allowed kind stays text, for validation to refuse."""
    if is_text(kinds):
        return quoted(raw), False
    text = raw.strip()
    if "null" in kinds and (text == "null" or (text == "None" and "string" not in kinds)):
        return "null", False
    if "boolean" in kinds and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()], False
    if len(text) <= _MAX_DIGITS:
        if "integer" in kinds and (_INTEGER.fullmatch(text) or _WHOLE.fullmatch(text)):
            return text, False
        number = kinds & {"number", "integer"} and _NUMBER.fullmatch(text) and _finite(text)
        if number and ("number" in kinds or float(text).is_integer()):
            return text, False
    if kinds & {"object", "array"} and text[:1] in ("{", "["):
        found = _structure(text, kinds, repair=repair)
        if found is not None:
            return found
    return quoted(raw), False


def coerce_json(raw: str, kinds: frozenset[str], *, repair: bool) -> tuple[str, bool]:
    """Like `coerce` for a value that the text itself marks as JSON."""
    try:
        load(raw)
    except Broken as broken:
        if broken.code != "CALL_NOT_JSON":
            raise
        return coerce(raw, kinds, repair=repair)
    return raw.strip(), False


def _finite(text: str) -> bool:
    return float(text) not in (float("inf"), float("-inf"))


def _structure(text: str, kinds: frozenset[str], *, repair: bool) -> tuple[str, bool] | None:
    if ("object" if text[0] == "{" else "array") not in kinds:
        return None
    try:
        load(text)
    except Broken as broken:
        if broken.code != "CALL_NOT_JSON":
            raise
    else:
        return text, False
    return (mended(text) or _python(text)) if repair else None


def mended(text: str) -> tuple[str, bool] | None:
    """Return the text repaired to JSON, or None when it has no such reading."""
    value = JsonText(repair=True)
    try:
        pos = value.run(text, 0)
        if not value.done or text[pos:].strip():
            return None
        joined = "".join(value.out)
        load(joined)
    except Broken:
        return None
    return joined, True


def _python(text: str) -> tuple[str, bool] | None:
    try:
        return dump(literal(text)), True
    except Broken:
        return None
