"""`render`: calls as the text that a model of a dialect would have written."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from gerbang.parse.dialects import TABLE
from gerbang.parse.render.derive import derived
from gerbang.parse.render.readback import check_read_back
from gerbang.parse.render.refusal import RenderError, quoted
from gerbang.parse.render.shape import Shape
from gerbang.parse.render.table import RESERVED, SHAPES
from gerbang.parse.render.wirecall import wire_calls


def render(calls: Iterable[object], dialect: str, *, tools: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Return the whole assistant text that makes `calls` in `dialect`, several calls included.

    `calls` are dicts or objects with `name` (str) and `arguments` (dict of JSON values); none gives "".
    `tools` (dicts with `name` and `parameters`, or OpenAI's form) are what the reader will know. Formats
    without types in the text need them: left out, schemas are assumed that fit the values given.
    The text is read back before it is returned, so `parse` with the same dialect and tools gives these calls.

    Raises RenderError (a ValueError) for an unknown dialect, for values that are not JSON, and for what
    the format cannot carry: a raw value that holds the format's own markup, reserved names, a second call
    in a format with one. The message says which and why.
    """
    shape = shape_of(dialect)
    wired = wire_calls(calls)
    if not wired:
        return ""
    if len(wired) > 1 and not shape.many:
        raise RenderError(
            f"{dialect} holds one call in an answer, {len(wired)} were given. Send them one by one."
        )
    for call in wired:
        check_name(call.name, dialect)
    text = shape.write(wired)
    check_read_back(text, wired, dialect, shape, tools)
    return text


def shape_of(dialect: str) -> Shape:
    """Return how `dialect` is written. Raises RenderError for an unknown one, with the nearest name."""
    shape = _shape(dialect) if dialect in TABLE else None
    if shape is not None:
        return shape
    if dialect == "auto":
        raise RenderError("'auto' is a way of reading; name the dialect to write in, for example 'tool_use'.")
    if dialect in TABLE:
        raise RenderError(
            f"{dialect} can be read, but not written yet. Use 'tool_use', which needs no training."
        )
    near = difflib.get_close_matches(str(dialect), TABLE, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise RenderError(f"Unknown dialect {quoted(dialect)}. {hint}gerbang.parse.dialects() lists them.")


@cache
def _shape(dialect: str) -> Shape | None:
    if dialect in SHAPES:
        return SHAPES[dialect]
    return None if dialect == "auto" else derived(TABLE[dialect])


def check_name(name: str, dialect: str) -> None:
    """Raise RenderError when a tool of this name could not be called in `dialect` at all."""
    if name in RESERVED.get(dialect, ()):
        raise RenderError(f"The name {name!r} means something else in {dialect}. Rename the tool.")
