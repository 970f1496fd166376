"""Tool calls in the text of language models: read whole or streamed, in every dialect, and written in each.

No I/O, and nothing here raises on a model's text. `reader` reads a stream, `parse` a whole answer,
`dialects` lists what can be read; `render`, `system_prompt` and `render_result` write.
"""

import difflib
from collections.abc import Iterable

from msgspec import Struct

from gerbang.errors import UsageError
from gerbang.parse import auto, blocks, harmony, prose, react, recipients
from gerbang.parse.dialect import Dialect
from gerbang.parse.dialects import TABLE, dialects
from gerbang.parse.events import (
    ArgumentsDelta,
    CallClosed,
    CallOpened,
    Content,
    Event,
    ParseFault,
    Reasoning,
)
from gerbang.parse.json_value import arguments_from_json
from gerbang.parse.kinds import Offered
from gerbang.parse.naming import dialect_for
from gerbang.parse.plan import plan_of
from gerbang.parse.reader import DirectReader, Machine, Reader
from gerbang.parse.render import RenderError, render, render_result, system_prompt

__all__ = [
    "ArgumentsDelta",
    "CallClosed",
    "CallOpened",
    "Content",
    "Dialect",
    "Event",
    "Offered",
    "ParseFault",
    "Parsed",
    "Reader",
    "Reasoning",
    "RenderError",
    "arguments_from_json",
    "dialect_for",
    "dialects",
    "parse",
    "reader",
    "render",
    "render_result",
    "system_prompt",
]


class Parsed(Struct, frozen=True):
    """A whole answer: what the user may see, the thinking, the calls in order, and what was no call."""

    content: str
    reasoning: str
    calls: list[CallClosed]
    faults: list[ParseFault]


def reader(
    dialect: str = "auto",
    *,
    tools: Iterable[object] | Offered | None = None,
    reasoning_open: bool = False,
    repair: bool = True,
) -> Reader:
    """Return a reader for one answer: `feed(delta)` and `finish(truncated=...)` give lists of events.

    `dialect`: an id of `dialects()`. `tools`: the offered tools, as `{"name", "parameters"}`, in the OpenAI
    form, or contracts; formats without types take them from the schemas. Whoever reads many answers with the
    same tools makes one `Offered(tools)` and passes that. `reasoning_open`: the prompt has opened the
    thinking block. `repair`: mend slips that have exactly one reading. Raises UsageError for an unknown
    dialect or a tool without a name; never for a model's text.
    """
    if dialect not in TABLE:
        near = difflib.get_close_matches(str(dialect), TABLE, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"Unknown dialect {str(dialect)[:64]!r}. {hint}gerbang.parse.dialects() lists them.")
    made = DirectReader(tools if isinstance(tools, Offered) else Offered(tools), repair=repair)
    made.start(_machine(made, dialect, reasoning_open=reasoning_open))
    return made


def parse(
    text: str,
    dialect: str = "auto",
    *,
    tools: Iterable[object] | Offered | None = None,
    reasoning_open: bool = False,
    truncated: bool = False,
    repair: bool = True,
) -> Parsed:
    """Read a whole answer. Arguments as for `reader`; `truncated`: it was cut off. Raises UsageError as
    `reader`.
    """
    if not isinstance(text, str):
        raise UsageError(f"parse takes the text of an answer, not {type(text).__name__}.")
    made = reader(dialect, tools=tools, reasoning_open=reasoning_open, repair=repair)
    content: list[str] = []
    reasoning: list[str] = []
    calls: list[CallClosed] = []
    faults: list[ParseFault] = []
    for event in (*made.feed(text), *made.finish(truncated=truncated)):
        match event:
            case Content(piece):
                content.append(piece)
            case Reasoning(piece):
                reasoning.append(piece)
            case CallClosed():
                calls.append(event)
            case ParseFault():
                faults.append(event)
            case _:
                pass
    return Parsed("".join(content), "".join(reasoning), calls, faults)


def _machine(made: Reader, dialect: str, *, reasoning_open: bool) -> Machine:
    family = TABLE[dialect].family
    if family == "harmony":
        return harmony.read(made, reasoning_open=reasoning_open)
    if family == "auto":
        return auto.read(made, reasoning_open=reasoning_open)
    if family == "react":
        return react.read(made)
    plan = plan_of(dialect)
    if family == "blocks":
        return blocks.read(made, plan, reasoning_open=reasoning_open)
    if family == "recipients":
        return recipients.read(made, plan)
    pairs = TABLE[dialect].reasoning
    return prose.read(made, plan, (pairs[0][1] if pairs else "</think>") if reasoning_open else None)
