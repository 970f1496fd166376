"""From whatever a tool returned to a JSON value of bounded size, or the reason why not."""

import dataclasses
import inspect
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import orjson

from gerbang.limits import RESULT_STORE_BYTES
from gerbang.values import CallError
from gerbang.values.sentences import said

_ENCODER = msgspec.json.Encoder()


class Output(msgspec.Struct, frozen=True, gc=False):
    """A tool's result as JSON. `value` is plain data, `text` its JSON.

    `total` is the length in characters of a text that was shortened, else 0.
    """

    value: Any
    text: bytes
    total: int = 0

    @property
    def plain(self) -> str:
        """The result as text: a string as it is, anything else as JSON."""
        return self.value if isinstance(self.value, str) else self.text.decode()


def read_output(returned: Any) -> Output | str:
    """Return the JSON of what a tool returned, or a sentence that says why it has none."""
    if type(returned) is str:
        return _text(returned)
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned) or isinstance(returned, Iterator):
        return "The tool returned a generator instead of a value."
    if inspect.isawaitable(returned):  # also a coroutine that was never started: it is closed, not run
        if inspect.iscoroutine(returned):
            returned.close()
        return "The tool returned something to wait for instead of a value."
    try:
        text = bytes(memoryview(orjson.dumps(returned, default=_plain)))  # its own buffer is 4 KB or more
    except (TypeError, ValueError, RecursionError):  # what the tool's own objects raise is a TypeError here
        return _slow(returned)
    if len(text) > RESULT_STORE_BYTES:
        return f"The tool returned {len(text)} bytes of JSON; the limit is {RESULT_STORE_BYTES}."
    if b"null" in text and not _finite(returned):  # both encoders write NaN as null
        return "The tool returned a number that is not finite."
    return Output(_value(returned, text), text)


def _text(returned: str) -> Output:
    value = returned[:RESULT_STORE_BYTES]
    total = len(returned) if len(returned) > RESULT_STORE_BYTES else 0
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError):  # half surrogate pairs cannot be stored: shown as what they are
        value = value.encode("utf-8", "backslashreplace").decode()
        text = _ENCODER.encode(value)
    while len(text) > RESULT_STORE_BYTES:  # escapes and letters beyond ASCII take more than a byte each
        value, total = (
            value[: min(len(value) - 1, len(value) * RESULT_STORE_BYTES // len(text))],
            len(returned),
        )
        text = _ENCODER.encode(value)
    return Output(value, text, total)


def _slow(returned: Any) -> Output | str:
    """Integers beyond 64 bits are the one thing that JSON has and the fast encoder has not."""
    try:
        text = b"" if _has_bytes(returned) else msgspec.json.encode(returned, enc_hook=_plain)
    except Exception:  # the tool's own objects are asked how they are written, and may raise anything
        text = b""
    if b"null" in text and not _finite(returned):
        return "The tool returned a number that is not finite."
    if not text or len(text) > RESULT_STORE_BYTES:
        return f"The tool returned a {_kind(returned)} that cannot be written as JSON."
    return Output(msgspec.json.decode(text), text)


def _value(returned: Any, text: bytes) -> Any:
    """Return plain data: what the caller gets is what is stored, not the tool's live object."""
    if returned is None or type(returned) in (bool, int, float):
        return returned
    return orjson.loads(text)


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, order="deterministic")  # sets have no order of their own
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Iterator) or inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("not a value yet")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _kind(value: Any) -> str:
    """Return the name of the value's class if it is one: the tool chose it, and it is shown to a model."""
    name = type.__getattribute__(type(value), "__name__")
    return name if isinstance(name, str) and name.isidentifier() and len(name) <= 80 else "value"


def _has_bytes(value: Any) -> bool:
    return any(isinstance(leaf, bytes | bytearray | memoryview) for leaf in _leaves(value))


def _finite(value: Any) -> bool:
    return all(math.isfinite(leaf) for leaf in _leaves(value) if isinstance(leaf, float))


def _leaves(value: Any) -> Iterator[Any]:
    """Yield what stands at the ends of a value. Each container is opened once, so that cycles end."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if item is None or isinstance(item, str | int | float | bytes):
            yield item
            continue
        parts = _parts(item)
        if parts is None:
            yield item
        elif id(item) not in seen:
            seen.add(id(item))
            stack.extend(parts)


def _parts(item: Any) -> Iterable[Any] | None:
    if isinstance(item, Mapping):
        return item.values()
    if isinstance(item, list | tuple | set | frozenset):
        return item
    if isinstance(item, msgspec.Struct):
        return [getattr(item, name) for name in item.__struct_fields__]
    if dataclasses.is_dataclass(item) or callable(getattr(item, "model_dump", None)):
        return list(getattr(item, "__dict__", {}).values())
    return None


def output_error(reason: str, effect_happened: bool) -> CallError:
    """Return the error for a result that has no usable shape. It never hides that the effect happened."""
    return said(
        "output_validation_error",
        "OUTPUT_SHAPE",
        entry="OUTPUT_SHAPE/happened" if effect_happened else "OUTPUT_SHAPE",
        message=reason,
        effect="happened" if effect_happened else "none",
    )
