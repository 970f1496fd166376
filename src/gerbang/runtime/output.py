"""From whatever a tool returned to a JSON value of bounded size, or the reason why not."""

import inspect
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from gerbang.limits import RESULT_STORE_BYTES
from gerbang.values import CallError

_ENCODER = msgspec.json.Encoder()


class Output(msgspec.Struct, frozen=True, gc=False):
    """A tool's result as JSON. `value` is plain data, `text` its JSON; `cut` tells that it was shortened."""

    value: Any
    text: bytes
    cut: bool = False


def read_output(returned: Any) -> Output | str:
    """Return the JSON of what a tool returned, or a sentence that says why it has none."""
    if type(returned) is str:
        return _text(returned)
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned) or isinstance(returned, Iterator):
        return "The tool returned a generator instead of a value."
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        return "The tool returned something to wait for instead of a value."
    try:
        text = bytes(memoryview(orjson.dumps(returned, default=_plain)))  # its own buffer is 4 KB or more
    except (TypeError, ValueError, RecursionError):
        return _slow(returned)
    if len(text) > RESULT_STORE_BYTES:
        return f"The tool returned {len(text)} bytes of JSON; the limit is {RESULT_STORE_BYTES}."
    if not _finite(returned, 64):
        return "The tool returned a number that is not finite."
    return Output(_value(returned, text), text)


def _text(returned: str) -> Output:
    cut = len(returned) > RESULT_STORE_BYTES
    value = returned[:RESULT_STORE_BYTES] if cut else returned
    try:
        return Output(value, _ENCODER.encode(value), cut)
    except (TypeError, ValueError):  # half surrogate pairs cannot be stored: shown as what they are
        value = value.encode("utf-8", "backslashreplace").decode()
        return Output(value, _ENCODER.encode(value), cut)


def _slow(returned: Any) -> Output | str:
    """Integers beyond 64 bits are the one thing that JSON has and the fast encoder has not."""
    try:
        text = msgspec.json.encode(returned, enc_hook=_plain) if not _has_bytes(returned, 64) else b""
    except (TypeError, ValueError, RecursionError):
        text = b""
    if not text or len(text) > RESULT_STORE_BYTES:
        return f"The tool returned a {type(returned).__name__} that cannot be written as JSON."
    return Output(msgspec.json.decode(text), text)


def _value(returned: Any, text: bytes) -> Any:
    """Return plain data: what the caller gets is what is stored, not the tool's live object."""
    if returned is None or isinstance(returned, bool | int | float):
        return returned
    return orjson.loads(text)


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(type(value).__name__)


def _has_bytes(value: Any, depth: int) -> bool:
    if isinstance(value, bytes | bytearray | memoryview):
        return True
    if depth and isinstance(value, dict):
        return any(_has_bytes(item, depth - 1) for item in value.values())
    if depth and isinstance(value, list | tuple):
        return any(_has_bytes(item, depth - 1) for item in value)
    return False


def _finite(value: Any, depth: int) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if depth and isinstance(value, dict):
        return all(type(item) is str or _finite(item, depth - 1) for item in value.values())
    if depth and isinstance(value, list | tuple):
        return all(type(item) is str or _finite(item, depth - 1) for item in value)
    return True


def output_error(reason: str, effect_happened: bool) -> CallError:
    """Return the error for a result that has no usable shape. It never hides that the effect happened."""
    return CallError(
        "output_validation_error",
        "OUTPUT_SHAPE",
        reason,
        effect="happened" if effect_happened else "none",
        suggested_fix="Do not repeat the call."
        if effect_happened
        else "Use another tool or other arguments.",
    )
