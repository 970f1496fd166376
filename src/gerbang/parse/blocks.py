"""Machine of the format in which every text stands in a block of its own kind (Inkling)."""

import re
from typing import Any, Final

from gerbang.parse import family_json
from gerbang.parse.caps import MAX_NAME
from gerbang.parse.marks import Marks
from gerbang.parse.plan import Plan
from gerbang.parse.reader import Machine, Reader

_MODEL, _TEXT, _THINK = "<|message_model|>", "<|content_text|>", "<|content_thinking|>"
_CALL: Final = "<|content_invoke_tool_json|>"
_KINDS: Final = (_TEXT, _THINK, _CALL, "<|content_invoke_tool_text|>", "<|content_tool_error|>")
_ENDS: Final = ("<|end_message|>", "<|content_model_end_sampling|>")
_MARKS: Final = Marks((_MODEL, *_KINDS, *_ENDS))
_NAME: Final = re.compile(r"[\w.\-:/]*+")


def read(reader: Reader, plan: Plan, *, reasoning_open: bool) -> Machine:
    """Read a whole answer. The prompt has ended with the mark of the model's message."""
    yield
    reader.thinking = reasoning_open
    if not reasoning_open:
        yield from _header(reader)
    while True:
        mark = yield from _text(reader)
        if not mark:
            return
        reader.thinking = mark == _THINK
        if mark == _MODEL:
            yield from _header(reader)
        elif mark == _CALL:
            reader.begin(len(mark))
            entry = plan.entries[_CALL][0]
            yield from family_json.read(reader, plan, entry.layout, mark)  # type: ignore[arg-type]


def _header(reader: Reader) -> Machine:
    """Drop the name that may stand between the mark of a message and that of its kind."""
    while True:
        buf, pos = reader.buf, reader.pos
        match = _NAME.match(buf, pos)
        at = match.end() if match else pos
        if at - pos > MAX_NAME:
            return
        if buf.startswith(_KINDS, at):
            reader.pos = at
            return
        rest = buf[at:]
        if reader.ended or not any(kind.startswith(rest) for kind in _KINDS):
            return
        yield


def _text(reader: Reader) -> Any:
    """Show the text of a block up to the next mark, which is taken. Returns it; "" at the end."""
    while True:
        buf, pos = reader.buf, reader.pos
        match = _MARKS.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else _MARKS.held(buf, pos)
        reader.content(buf[pos:end])
        reader.pos = match.end() if match else end
        if match is not None:
            return match.group(1)
        if reader.ended:
            reader.thinking = False
            return ""
        reader.rest(_MARKS.stops)
        yield
