"""Machine of the family "Python calls between marks"."""

from gerbang.parse.block import not_started, recover
from gerbang.parse.caps import MAX_CALL
from gerbang.parse.faults import Broken
from gerbang.parse.json_value import dump
from gerbang.parse.layout import Python
from gerbang.parse.plan import Plan
from gerbang.parse.python_calls import python_calls
from gerbang.parse.python_text import PythonText
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import upcoming


def read(reader: Reader, plan: Plan, layout: Python, mark: str) -> Machine:
    """Read the calls behind `mark`, which was taken."""
    ahead, distance = yield from upcoming(reader, layout.closes)
    if ahead == "\0":
        reader.pos = len(reader.buf)
        reader.fault("CALL_TRUNCATED")
        return
    if ahead:
        reader.pos += distance + len(ahead)
        return
    first = reader.buf[reader.pos + distance]
    if first != "[" and not (first.isalpha() or first == "_"):
        not_started(reader, mark)
        return
    try:
        yield from _block(reader, plan, layout)
    except Broken as broken:
        yield from recover(reader, plan, broken)


def _block(reader: Reader, plan: Plan, layout: Python) -> Machine:
    """Hold the block up to its end mark, then read it as a whole."""
    text = PythonText(tagged=True)
    held = reader.held
    held.clear()
    size = 0
    while True:
        start = reader.pos
        reader.pos = text.run(reader.buf, start)
        held.append(reader.buf[start : reader.pos])
        size += reader.pos - start
        if size > MAX_CALL:
            raise Broken("CALL_TOO_LARGE", f"more than {MAX_CALL} characters")
        if text.bad:
            raise Broken("CALL_NOT_LITERAL", "a bracket does not fit")
        if text.done:
            mark, _ = yield from upcoming(reader, layout.closes, gap=False)
            if mark in layout.closes:
                reader.pos += len(mark)
                break
            if mark == "" and not plan.opens(mark):
                held.append("<")
                reader.pos += 1
                text.done = False
                continue
        if reader.ended:
            if text.stack or text.stops is not None or (layout.lines and reader.truncated):
                raise Broken("CALL_TRUNCATED")
            break
        if text.stops is not None:
            reader.rest(text.stops, hold=True)
        yield
    body = "".join(held).strip()
    held.clear()
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    calls, repaired = python_calls(body, repair=reader.repair, json_words=layout.lines)
    for name, arguments in calls:
        reader.call(name, arguments, dump(arguments), repaired=repaired)
