"""The outer machine: text for the user, thinking, fences, and where calls begin."""

import re
from collections.abc import Callable
from typing import Any, Final

from gerbang.parse import (
    bare,
    elements,
    family_json,
    family_named,
    family_notation,
    family_pairs,
    family_python,
    family_xml,
)
from gerbang.parse.block import take_ends
from gerbang.parse.caps import MAX_BLANK, MAX_HELD
from gerbang.parse.headers import header
from gerbang.parse.layout import Elements, Entry, JsonTags, NamedJson, Notation, PairTags, Python, XmlTags
from gerbang.parse.plan import FENCE, Meaning, Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import indent, upcoming
from gerbang.parse.thinking import think

Family = Callable[[Reader, Plan, Any, str], Machine]
_FAMILIES: Final[dict[type, Family]] = {
    JsonTags: family_json.read,
    NamedJson: family_named.read,
    XmlTags: family_xml.read,
    PairTags: family_pairs.read,
    Elements: elements.read,
    Python: family_python.read,
    Notation: family_notation.read,
}
_RUNS: Final = {char: re.compile(rf"{char}{{3,}}|\n") for char in "`~"}
_HALF_RUNS: Final = {char: re.compile(rf"{char}{{1,2}}\Z") for char in "`~"}
_SPACES: Final = re.compile(r"[ \t]*")
_TOKEN: Final = re.compile(r"[|｜]>|<\|\w+>|\]<\]\w+\[>\[|<｜\w+｜")
_FENCE_STOPS: Final = {char: frozenset(char + "\n") for char in "`~"}


def read(reader: Reader, plan: Plan, close: str | None) -> Machine:
    """Read a whole answer. `close`: the prompt has opened the thinking, and this mark ends it."""
    yield
    if close is not None:
        yield from think(reader, plan, close, prefilled=True)
        reader.new_line()
    elif plan.dialect.header is not None:
        yield from header(reader, plan)
    stops = plan.content.stops | {"\n"} if plan.line else plan.content.stops
    while True:
        mark = yield from _text(reader, plan, stops)
        if not mark:
            return
        if mark == "\n":
            yield from bare.read(reader, plan)
            continue
        meaning = plan.meanings[mark]
        before = reader.buf[reader.pos - 1]
        if meaning is Meaning.FENCE and (mark == FENCE or before == "\n"):
            yield from _fence(reader, plan, mark[0])
            continue
        reader.pos += len(mark)
        if meaning is Meaning.CALL and before == "`":
            reader.content(mark)  # quoted in a sentence, so an example
        elif meaning is Meaning.CALL:
            reader.begin(len(mark))
            yield from _call(reader, plan, plan.entries[mark], mark)
        elif meaning is Meaning.THINK and before != "`":
            reader.begin(0)
            yield from think(reader, plan, plan.closes[mark])
            if reader.blank and not reader.thinking:
                reader.new_line()
        elif meaning is Meaning.HEADER:
            yield from header(reader, plan)
        else:
            yield from _small(reader, meaning, mark, quoted=before == "`")


def _small(reader: Reader, meaning: Meaning, mark: str, *, quoted: bool) -> Machine:
    """Show or drop a mark (just taken) that begins nothing."""
    if meaning is Meaning.END:
        ahead, _ = yield from upcoming(reader, ())
        reader.content("" if ahead == "\0" else mark)
    elif meaning is Meaning.NOISE or (meaning is Meaning.CLOSE and reader.unclosed):
        reader.unclosed = False
        if reader.blank:
            reader.new_line()
    elif meaning is not Meaning.THINK_END or quoted:
        reader.content(mark)


def _text(reader: Reader, plan: Plan, stops: frozenset[str]) -> Any:
    """Show text up to the next mark, which stays. Returns it; a line break stands for an untagged call; ""
    ends.
    """
    while True:
        buf, pos = reader.buf, reader.pos
        here = plan.line.match(buf, pos - 1) if plan.line and buf[pos - 1] == "\n" else None
        match = here or plan.content.search(buf, pos)
        if match and (here or match.group(1)[0] == "\n"):
            at = match.end() - 1
            mark = plan.content.search(buf, at)
            if mark is None or mark.start() != at:
                if not reader.ended and plan.content.held(buf, at) == at:  # the bracket may begin a mark
                    end = match.start() + 1
                    reader.content(buf[pos:end])
                    reader.pos = end
                    yield
                    continue
                reader.content(buf[pos:at])
                reader.pos = at
                return "\n"
            reader.content(buf[pos:at])
            reader.pos = at
            return mark.group(1)
        if match:
            reader.content(buf[pos : match.start()])
            reader.pos = match.start()
            return match.group(1)
        end = len(buf)
        if reader.ended:
            end = _half_end(reader, plan)
        else:
            end = plan.content.held(buf, pos)
            if plan.line:
                end = indent(buf, pos, end)
        reader.content(buf[pos:end])
        reader.pos = end
        if reader.ended:
            _drop_half(reader, plan)
            return ""
        if buf[end - 1 : end] != "\n" or not plan.line:
            reader.rest(stops)
        yield


def _half_end(reader: Reader, plan: Plan) -> int:
    """Return where the text of a finished answer ends: before half the end mark of an open block, and before
    half a mark in which a whole token stands.
    """
    buf = reader.buf
    at = plan.content.held(buf, reader.pos)
    half = reader.unclosed and len(buf) - at > 1 and any(mark.startswith(buf[at:]) for mark in plan.ends)
    return at if half or _TOKEN.search(buf, at) else len(buf)


def _drop_half(reader: Reader, plan: Plan) -> None:
    """Drop half a mark at the end of the answer, where `_half_end` says so."""
    half = reader.buf[reader.pos :]
    reader.begin(0)
    reader.pos = len(reader.buf)
    if half and any(mark.startswith(half) for mark in plan.entries):
        reader.fault("CALL_TRUNCATED")


def _call(reader: Reader, plan: Plan, entries: tuple[Entry, ...], mark: str) -> Machine:
    """Hand over to the family; where several share the mark, what follows it decides."""
    layout = entries[0].layout
    if len(entries) > 1:
        layout = yield from _choose(reader, entries, mark)
    before = reader.index
    yield from _FAMILIES[type(layout)](reader, plan, layout, mark)
    if reader.index > before:  # end marks right behind a call are its own, however many
        yield from take_ends(reader, plan)


def _choose(reader: Reader, entries: tuple[Entry, ...], mark: str) -> Any:
    layouts = [entry.layout for entry in entries]
    for layout in layouts:
        if isinstance(layout, XmlTags) and layout.call == entries[0].mark:
            return layout
    options: dict[str, Any] = {}
    fallback = layouts[0]
    for layout in layouts:
        if isinstance(layout, JsonTags):
            for char in "{[`":
                options.setdefault(char, layout)
        elif isinstance(layout, XmlTags):
            for start in (layout.call, *layout.inner):
                options.setdefault(start, layout)
            if not layout.attributes and layout.call.startswith(entries[0].mark):
                options.setdefault("{", layout)
        else:
            fallback = layout
    starts = (mark, *sorted(options, key=len, reverse=True))
    ahead, distance = yield from upcoming(reader, starts)
    if ahead == mark:  # some write it twice
        ahead, distance = yield from upcoming(reader, starts[1:], distance + len(mark))
    found = options.get(ahead, fallback)
    python = next((layout for layout in layouts if isinstance(layout, Python)), None)
    if ahead == "[" and python is not None:
        inner, _ = yield from upcoming(reader, ("{", "]"), distance + 1)
        return found if inner in ("{", "]") else python
    return found


def _fence(reader: Reader, plan: Plan, char: str) -> Machine:
    """Show a Markdown fence with all that is in it; in some dialects it may hold calls."""
    reader.begin(0)
    size = yield from _run(reader, char)
    rules = plan.dialect.bare
    if char == "`" and rules is not None and rules.fence:
        taken = yield from bare.fenced(reader, plan, size)
        if taken:
            return
    else:
        reader.content(char * size)
    same_line = reader.fence == 0 and char == "`"
    fresh = reader.fence != 0  # only white space so far on this line
    reader.fence = 0
    while True:
        buf, pos = reader.buf, reader.pos
        match = _RUNS[char].search(buf, pos)
        tail = None if match or reader.ended else _HALF_RUNS[char].search(buf, pos)
        end = match.start() if match else tail.start() if tail else len(buf)
        fresh = fresh and not buf[pos:end].strip()
        reader.content(buf[pos:end])
        reader.pos = end
        if match is None:
            if reader.ended:
                return
            if not fresh:
                reader.rest(_FENCE_STOPS[char])
            yield
        elif match.group() == "\n":
            same_line, fresh = False, True
            reader.content("\n")
            reader.pos += 1
        else:
            run = yield from _run(reader, char)
            reader.content(char * run)
            if run >= size and (same_line or (fresh and not (yield from _word_follows(reader)))):
                return
            fresh = False


def _run(reader: Reader, char: str) -> Any:
    """Take a run of back ticks or tildes and return its length."""
    count = 0
    while True:
        buf, pos = reader.buf, reader.pos
        end = pos
        while end < len(buf) and buf[end] == char:
            end += 1
        count += end - pos
        reader.pos = end
        if end < len(buf) or reader.ended or count > MAX_HELD:
            return count
        yield


def _word_follows(reader: Reader) -> Any:
    """Tell whether a word stands behind a fence on its line: then it is none that closes."""
    while True:
        match = _SPACES.match(reader.buf, reader.pos)
        at = match.end() if match else reader.pos
        if at < len(reader.buf) or reader.ended or at - reader.pos > MAX_BLANK:
            return reader.buf[at : at + 1].isalnum()
        yield


__all__ = ["FENCE", "read"]
