"""A row of the dialect table made ready for reading: which mark means what. Built once a dialect."""

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from gerbang.parse.caps import MAX_INDENT
from gerbang.parse.dialect import Dialect
from gerbang.parse.dialects import TABLE
from gerbang.parse.layout import Elements, Entry, JsonTags, NamedJson, Notation, PairTags, Python, XmlTags
from gerbang.parse.marks import Marks

FENCE, TILDES = "```", "~~~"
_AT_END: Final = frozenset({"</s>"})
_QWEN_CALL: Final = "<tool_call>"


class Meaning(Enum):
    """What a mark in the text for the user stands for."""

    CALL = "a call may begin"
    THINK = "thinking begins"
    THINK_END = "thinking ends that never began"
    NOISE = "a special token, never shown"
    HEADER = "the header of a message follows"
    END = "a token that is never shown at the end of the answer"
    CLOSE = "the end of a block that was left open"
    FENCE = "a Markdown fence"


@dataclass(frozen=True, slots=True)
class Plan:
    """The marks of one dialect with their meanings."""

    dialect: Dialect
    meanings: dict[str, Meaning]
    entries: dict[str, tuple[Entry, ...]]
    closes: dict[str, str]
    content: Marks
    thinking: dict[str, Marks]
    line: re.Pattern[str] | None
    resync: Marks
    ends: tuple[str, ...]

    def opens(self, mark: str) -> bool:
        """Tell whether a call may begin at `mark`."""
        return mark in self.entries


def closes_of(layout: object) -> tuple[str, ...]:
    """Return the marks that end a block of this layout."""
    if isinstance(layout, JsonTags | NamedJson | Python):
        return layout.closes
    if isinstance(layout, XmlTags):
        return (*(close for _, close in layout.wrappers), layout.call_close)
    if isinstance(layout, PairTags):
        return (layout.closing(layout.call), *((layout.wrapper[1],) if layout.wrapper else ()))
    if isinstance(layout, Elements):
        return (f"{layout.prefix}</tool_call>", f"{layout.prefix}</invoke>")
    if isinstance(layout, Notation):
        return (layout.close,)
    return ()


@cache
def plan_of(dialect: str) -> Plan:
    """Return the plan of a dialect of the table."""
    row = TABLE[dialect]
    entries: dict[str, tuple[Entry, ...]] = {}
    for entry in (*row.entries, *_lenient(row)):
        entries[entry.mark] = (*entries.get(entry.mark, ()), entry)
    meanings: dict[str, Meaning] = {}
    for found in entries.values():
        for entry in found:
            for close in closes_of(entry.layout):
                meanings[close] = Meaning.CLOSE
    closes = dict(row.reasoning)
    meanings |= dict.fromkeys(closes.values(), Meaning.THINK_END)
    meanings |= dict.fromkeys(closes, Meaning.THINK)
    meanings |= {mark: Meaning.END if mark in _AT_END else Meaning.NOISE for mark in row.noise}
    meanings |= dict.fromkeys(entries, Meaning.CALL)
    if row.header is not None:
        meanings[row.header[0]] = Meaning.HEADER
    meanings |= dict.fromkeys((FENCE, TILDES), Meaning.FENCE)
    ends_thinking = (*closes.values(), "</think>", *(row.header or ())[1:])
    thinking = {
        close: Marks((close, *row.answers, *entries, FENCE, TILDES), line=_line(row))
        for close in ends_thinking
    }
    ends = [mark for mark, meaning in meanings.items() if meaning in (Meaning.CLOSE, Meaning.CALL)]
    return Plan(
        row,
        meanings,
        entries,
        closes,
        Marks(meanings, line=_line(row)),
        thinking,
        re.compile(_line(row)) if _line(row) else None,
        Marks(ends),
        tuple(mark for mark, meaning in meanings.items() if meaning is Meaning.CLOSE),
    )


def _lenient(row: Dialect) -> tuple[Entry, ...]:
    """Forms that slip into a dialect from its relatives: JSON and `<function=` in the same tag."""
    json = [
        Entry(entry.mark, JsonTags(closes_of(entry.layout))) for entry in row.entries if _is_python(entry)
    ]
    if json:
        return tuple(json)
    for entry in row.entries:
        if isinstance(entry.layout, NamedJson) and entry.layout.grammar == "mistral" and row.id != "auto":
            return (Entry(entry.mark, JsonTags()),)
    if row.id == "claude_xml":
        return (Entry("<dots_function_call>", JsonTags(("</dots_function_call>",))),)
    if row.id == "mistral_json":
        return (Entry("[TOOL_CALLS]", NamedJson("mistral")),)
    marks = {entry.mark: entry.layout for entry in row.entries}
    layout = marks.get(_QWEN_CALL)
    if layout is None or row.id == "auto":
        return ()
    if isinstance(layout, JsonTags):
        qwen = TABLE["qwen3_coder"].entries[0].layout
        return (Entry(_QWEN_CALL, qwen),)
    return (Entry(_QWEN_CALL, JsonTags(("</tool_call>",))),)


def _is_python(entry: Entry) -> bool:
    return isinstance(entry.layout, Python)


def _line(row: Dialect) -> str:
    """The pattern of what may be an untagged call at the start of a line."""
    bare = row.bare
    if bare is None or not (bare.untagged or bare.python):
        return ""
    indent = rf"\n[ \t]{{0,{MAX_INDENT}}}+"
    return indent + (r"[{\[]" if bare.untagged else r"\[")
