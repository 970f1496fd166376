"""Machine of the family "calls and arguments as tags around raw text"."""

import html
import re
from collections.abc import Generator
from functools import cache
from typing import Final

from gerbang.parse.arguments_pen import STRING, ArgumentsPen
from gerbang.parse.block import not_started, recover, twice
from gerbang.parse.call_object import stream_object
from gerbang.parse.caps import MAX_KEY
from gerbang.parse.faults import Broken
from gerbang.parse.kinds import ANY
from gerbang.parse.layout import XmlTags
from gerbang.parse.plan import Plan
from gerbang.parse.raw_value import ValueEnds, raw_value
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import half, until, upcoming

_ATTRIBUTE: Final = re.compile(r"""([A-Za-z_][\w.\-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>/]+))""")
_CDATA: Final = "<![CDATA["


def read(reader: Reader, plan: Plan, layout: XmlTags, mark: str) -> Machine:
    """Read the block behind `mark`, which was taken: a wrapper with calls, or a call without one."""
    closes = tuple(close for _, close in layout.wrappers)
    doubled = False
    if mark != layout.call:
        doubled = yield from twice(reader, mark, (layout.call, *layout.inner))
        if not (yield from _started(reader, layout)):
            not_started(reader, mark)
            return
    try:
        if mark == layout.call and not (yield from _alone(reader, layout, mark)):
            return
        while True:
            found, distance = yield from upcoming(reader, (layout.call, *layout.inner, *closes))
            if found in closes:
                reader.pos += distance + len(found)
                if found == closes[0]:
                    reader.unclosed = reader.unclosed or doubled
                    return
            elif found == layout.call:
                reader.pos += distance + len(found)
                yield from _call(reader, layout)
            elif found == "\0":
                reader.pos = len(reader.buf)
                return
            elif found in layout.inner and found:
                reader.pos += distance + len(found)
            elif half(reader, closes):
                return
            elif half(reader, (layout.call, *layout.inner)):
                raise Broken("CALL_TRUNCATED")
            else:
                reader.unclosed = mark != layout.call
                return
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _started(reader: Reader, layout: XmlTags) -> Generator[None, None, bool]:
    """Tell whether a call can start here. An answer that ends here is a call that was cut."""
    skip = 0
    ends = tuple(close for _, close in layout.wrappers)
    while True:
        found, distance = yield from upcoming(reader, (layout.call, *layout.inner, *ends), skip)
        if found not in layout.inner or not found:
            return found != "" or _cut_at(reader, layout, skip)
        skip = distance + len(found)


def _alone(reader: Reader, layout: XmlTags, mark: str) -> Generator[None, None, bool]:
    """Read a call without a wrapper. False when its tag is only spoken of, and so was shown."""
    head = yield from until(reader, layout.tag_end, MAX_KEY, forbidden=_forbidden(layout) + "\n")
    if head is None:
        if reader.ended and "\n" not in reader.buf[reader.pos :] and "<" not in reader.buf[reader.pos :]:
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        not_started(reader, mark)
        return False
    if not (layout.attributes and head.endswith("/")):
        found, _ = yield from upcoming(reader, _inside(layout))
        if not found and not (reader.ended and _half_of(reader.buf[reader.pos :], _inside(layout))):
            not_started(reader, f"{mark}{head}{layout.tag_end}")
            return False
    yield from _call(reader, layout, head)
    return True


def _inside(layout: XmlTags) -> tuple[str, ...]:
    """Return what may stand in a call."""
    closes = tuple(close for _, close in layout.wrappers)
    return (layout.param, layout.call_close, *closes, layout.param_close, "{")


def _forbidden(layout: XmlTags) -> str:
    return "" if layout.tag_end.startswith("<") else "<"


def _cut_at(reader: Reader, layout: XmlTags, skip: int) -> bool:
    """Tell whether the answer ends in half a mark behind the wrapper's."""
    return reader.ended and _half_of(reader.buf[reader.pos + skip :], (layout.call, *layout.inner))


def _half_of(text: str, marks: tuple[str, ...]) -> bool:
    rest = text.strip()
    return rest != "" and any(mark.startswith(rest) for mark in marks)


def _call(reader: Reader, layout: XmlTags, head: str | None = None) -> Machine:
    """Read one call whose opening tag has begun, or was taken: `head` is what stood in it."""
    if head is None:
        head = yield from _tag(reader, layout)
    closed = layout.attributes and head.endswith("/")
    name = (
        _attribute(layout, head, layout.name_attributes) if layout.attributes else head.strip().strip("\"'")
    )
    if not name or len(name) > MAX_KEY or any(char in "<>\n" for char in name):
        raise Broken("CALL_SHAPE", "the name of the tool is missing")
    reader.open(name)
    pen = ArgumentsPen(reader, name)
    if closed:
        pen.close()
        return
    closes = tuple(close for _, close in layout.wrappers)
    options = _inside(layout)
    while True:
        found, distance = yield from upcoming(reader, options)
        if found == "\0":
            reader.pos = len(reader.buf)
            raise Broken("CALL_TRUNCATED")
        if found == "{" and pen.empty:
            reader.pos += distance
            yield from stream_object(reader)
            found, distance = yield from upcoming(reader, (layout.call_close, *closes))
            if found not in (layout.call_close, *closes):
                raise Broken("CALL_TRUNCATED" if found else "CALL_SHAPE", "text follows the arguments")
            reader.pos += distance + (len(layout.call_close) if found == layout.call_close else 0)
            reader.close()
            return
        if found in closes:  # an outer end tag closes the inner ones
            pen.close()
            return
        if found not in (layout.param, layout.call_close, layout.param_close):
            cut = reader.ended and _half_of(reader.buf[reader.pos :], options)
            raise Broken("CALL_TRUNCATED" if cut else "CALL_SHAPE", "there is text between the arguments")
        reader.pos += distance + len(found)
        if found == layout.call_close:
            pen.close()
            return
        if found == layout.param:
            yield from _argument(reader, layout, pen)


def _argument(reader: Reader, layout: XmlTags, pen: ArgumentsPen) -> Machine:
    head = yield from _tag(reader, layout)
    key = _attribute(layout, head, layout.key_attributes) if layout.attributes else head.strip().strip("\"'")
    if not key:
        raise Broken("CALL_SHAPE", "the name of an argument is missing")
    kinds, json = _marked(layout, head)
    pen.begin(key, kinds, json=json)
    if layout.attributes and head.endswith("/"):
        pen.end()
        return
    ends = _ends(layout)
    if layout.cdata:
        found, distance = yield from upcoming(reader, (_CDATA,))
        if found == _CDATA:
            reader.pos += distance + len(_CDATA)
            ends = _cdata_ends(layout)
    mark = yield from raw_value(reader, ends, pen, trim=layout.trim)
    pen.end()
    if mark.endswith(layout.param_close):
        reader.pos += len(mark)


def _tag(reader: Reader, layout: XmlTags) -> Generator[None, None, str]:
    """Take the rest of an opening tag."""
    text = yield from until(reader, layout.tag_end, MAX_KEY, forbidden=_forbidden(layout))
    if text is None:
        cut = reader.ended and len(reader.buf) - reader.pos <= MAX_KEY and "<" not in reader.buf[reader.pos :]
        raise Broken("CALL_TRUNCATED" if cut else "CALL_SHAPE", "a tag is not closed")
    return text


def _attribute(layout: XmlTags, head: str, names: tuple[str, ...]) -> str:
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(head):
        found.setdefault(match.group(1), match.group(2) or match.group(3) or match.group(4) or "")
    value = next((found[name] for name in names if name in found), "")
    return html.unescape(value) if layout.escaped else value


def _marked(layout: XmlTags, head: str) -> tuple[frozenset[str] | None, bool]:
    """Read the type mark of an argument's tag: (kinds, JSON); (None, False) when there is none."""
    if not layout.attributes:
        return None, False
    string = _attribute(layout, head, ("string",))
    if string in ("true", "false"):
        return (STRING, False) if string == "true" else (None, True)
    kind = _attribute(layout, head, ("type",)) if layout.escaped else ""
    if not kind:
        return None, False
    return (STRING, False) if kind == "string" else (frozenset({kind}) if kind else ANY, True)


@cache
def _ends(layout: XmlTags) -> ValueEnds:
    opens = tuple(opening for opening, _ in layout.wrappers)
    closes = tuple(close for _, close in layout.wrappers)
    return ValueEnds(
        {
            layout.param_close: (layout.param, layout.call_close, *closes, *layout.inner),
            layout.call_close: (*closes, *opens, layout.call, *layout.inner),
            **dict.fromkeys(closes, (*opens, layout.call)),
        },
        (layout.param,),
    )


@cache
def _cdata_ends(layout: XmlTags) -> ValueEnds:
    return ValueEnds({f"]]>{layout.param_close}": (layout.param, layout.call_close)}, ())
