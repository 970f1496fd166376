"""Machine of the format in which every argument is an element, and every tag stands behind a prefix
(MiniMax M3).
"""

import re
from collections.abc import Generator
from functools import lru_cache
from typing import Any, Final

from gerbang.parse.arguments_pen import ArgumentsPen
from gerbang.parse.block import not_started, recover, twice
from gerbang.parse.caps import MAX_KEY
from gerbang.parse.coerce import coerce
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import dump, load
from gerbang.parse.kinds import child, items, kinds_of
from gerbang.parse.layout import Elements
from gerbang.parse.marks import Marks
from gerbang.parse.plan import Plan
from gerbang.parse.raw_value import ValueEnds, raw_value
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import half, until, upcoming

_MAX_LEVELS: Final = 100
_NAME: Final = re.compile(r"""\s*name\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ITEM: Final = "item"


def read(reader: Reader, plan: Plan, layout: Elements, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken."""
    prefix = layout.prefix
    invoke, close = f"{prefix}<invoke", f"{prefix}</tool_call>"
    if mark != invoke:
        yield from twice(reader, mark, (invoke,))
    try:
        if mark == invoke:
            yield from _invoke(reader, prefix)
        first = mark != invoke
        while True:
            found, distance = yield from upcoming(reader, (invoke, close))
            if not found and half(reader, (close, invoke)):
                found = "\0"
            if not found and first:
                not_started(reader, mark)
                return
            if not found:
                reader.unclosed = True
                return
            if found == "\0":
                reader.pos = len(reader.buf)
                if first:
                    raise Broken("CALL_TRUNCATED")
                return
            first = False
            reader.pos += distance + len(found)
            if found == close:
                return
            yield from _invoke(reader, prefix)
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _invoke(reader: Reader, prefix: str) -> Machine:
    head = yield from _rest_of_tag(reader)
    match = _NAME.match(head)
    name = next((group for group in match.groups() if group), "") if match else ""
    if not name:
        raise Broken("CALL_SHAPE", "the name of the tool is missing")
    reader.open(name)
    pen = ArgumentsPen(reader, name)
    if head.endswith("/"):
        pen.close()
        return
    root = reader.offered.schema(name)
    close, outer, opening = f"{prefix}</invoke>", f"{prefix}</tool_call>", f"{prefix}<"
    while True:
        found, distance = yield from upcoming(reader, (close, outer, opening))
        if found == "\0":
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        if not found:
            raise Broken("CALL_SHAPE", "there is text between the arguments")
        if found == outer:
            pen.close()
            return
        reader.pos += distance + len(found)
        if found == close:
            pen.close()
            return
        key = yield from _rest_of_tag(reader)
        if not key or key[0] == "/":
            raise Broken("CALL_SHAPE", "an end tag does not fit")
        yield from _argument(reader, prefix, pen, key, child(root, key, root))


def _argument(reader: Reader, prefix: str, pen: ArgumentsPen, key: str, schema: Any) -> Machine:
    kinds = kinds_of(schema, reader.offered.schema(pen.tool))
    if kinds == {"string"}:
        pen.begin(key)
        yield from raw_value(reader, _ends(prefix, key), pen, trim=False)
        pen.end()
        reader.pos += len(f"{prefix}</{key}>")
        return
    value = yield from _element(reader, prefix, key, schema, reader.offered.schema(pen.tool), 1)
    pen.put(key, dump(value))


def _element(reader: Reader, prefix: str, key: str, schema: Any, root: Any, level: int) -> Any:
    """Read the inside of an element, up to and with its end tag, and return its value."""
    if level > _MAX_LEVELS:
        raise Broken("CALL_TOO_DEEP", f"more than {_MAX_LEVELS} levels")
    kinds = kinds_of(schema, root)
    close = f"{prefix}</{key}>"
    text: list[str] = []
    children: list[tuple[str, Any]] = []
    while True:
        yield from _text(reader, _marks(prefix), text)
        found, _ = yield from upcoming(reader, (close, f"{prefix}</", f"{prefix}<"), gap=False)
        if found in ("", "\0"):
            if found:
                raise Broken("CALL_TRUNCATED")
            text.append(prefix)
            reader.pos += len(prefix)
            continue
        reader.pos += len(found)
        if found == close:
            break
        if found.endswith("/"):
            raise Broken("CALL_SHAPE", "an end tag does not fit")
        tag = yield from _rest_of_tag(reader)
        inner = items(schema, root) if "array" in kinds or tag == _ITEM else child(schema or {}, tag, root)
        children.append((tag, (yield from _element(reader, prefix, tag, inner, root, level + 1))))
    return _value(reader, "".join(text), children, kinds)


def _value(reader: Reader, text: str, children: list[tuple[str, Any]], kinds: frozenset[str]) -> Any:
    if not children:
        if not text.strip() and "string" not in kinds and kinds & {"array", "object"}:
            return [] if "array" in kinds else {}
        raw, repaired = coerce(text, kinds, repair=reader.repair)
        reader.repaired = reader.repaired or repaired
        return load(raw)
    if text.strip():
        raise Broken("CALL_SHAPE", "an element holds both text and elements")
    tags = {tag for tag, _ in children}
    if "array" in kinds or ("object" not in kinds and tags == {_ITEM}):
        return [value for _, value in children]
    if len(tags) < len(children):
        raise Broken("CALL_AMBIGUOUS", "an element is given twice")
    return dict(children)


def _text(reader: Reader, marks: Marks, into: list[str]) -> Generator[None, None, None]:
    """Take text up to the next prefix."""
    while True:
        buf, pos = reader.buf, reader.pos
        match = marks.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else marks.held(buf, pos)
        into.append(buf[pos:end])
        reader.grow(end - pos)
        reader.pos = end
        if match:
            return
        if reader.ended:
            raise Broken("CALL_TRUNCATED")
        yield


def _rest_of_tag(reader: Reader) -> Generator[None, None, str]:
    text = yield from until(reader, ">", MAX_KEY, forbidden="<\n")
    if text is None:
        raise Broken("CALL_TRUNCATED" if reader.ended else "CALL_SHAPE", "a tag is not closed")
    return text


@lru_cache(maxsize=8)
def _marks(prefix: str) -> Marks:
    return Marks((prefix,))


@lru_cache(maxsize=256)
def _ends(prefix: str, key: str) -> ValueEnds:
    return ValueEnds({f"{prefix}</{key}>": (f"{prefix}<",)}, ())
