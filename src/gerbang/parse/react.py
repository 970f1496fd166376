"""Machine of the ReAct format: Thought, Action, Action Input. Only the first action counts; the rest is
made up.
"""

import re
from typing import Any, Final

from gerbang.parse.call_object import stream_object
from gerbang.parse.caps import MAX_NAME
from gerbang.parse.faults import Broken
from gerbang.parse.marks import Marks
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import half, upcoming

_THOUGHT, _ACTION, _FINAL, _OBSERVATION = "Thought:", "Action:", "Final Answer:", "Observation:"
_INPUT: Final = "Action Input:"
_WORDS: Final = Marks((_THOUGHT, _ACTION, _FINAL, _OBSERVATION))
_NAME: Final = re.compile(r"[ \t]*([^\s`*\"'{}\[\]()]+)[ \t]*\r?\n")
_STOPS: Final = _WORDS.stops | {"\n"}


def read(reader: Reader) -> Machine:
    """Read a whole answer."""
    yield
    while True:
        buf, pos = reader.buf, reader.pos
        match = _WORDS.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else _WORDS.held(buf, pos)
        reader.content(buf[pos:end])
        reader.pos = end
        if match is None:
            if reader.ended:
                return
            if buf[end - 1] != "\n":
                reader.rest(_STOPS)
            yield
            continue
        word = match.group(1)
        reader.pos = match.end()
        if not _line_start(buf, match.start()):
            reader.content(word)
        elif word == _THOUGHT:
            reader.thinking = True
        elif word == _FINAL:
            reader.thinking = False
        elif word == _OBSERVATION:
            reader.content(word)
        elif (yield from _action(reader)):
            yield from _rest(reader)
            return


def _line_start(buf: str, at: int) -> bool:
    return buf[at - 1] == "\n"


def _action(reader: Reader) -> Any:
    """Read an action. True when it was one, even a broken one; False when the words stay in the text."""
    reader.begin(len(_ACTION))
    name = yield from _name(reader)
    if name is None:
        reader.content(_ACTION)
        return False
    word, size = name
    found, distance = yield from upcoming(reader, (_INPUT,), size)
    known = word in reader.offered.names
    if known and (found == "\0" or half(reader, (_INPUT,), size)):
        reader.pos = len(reader.buf)
        reader.fault("CALL_TRUNCATED")
        return True
    if not known or found != _INPUT:
        reader.fault("CALL_NOT_STARTED" if known else "CALL_NOT_OFFERED", repr(word[:64]))
        reader.content(_ACTION)
        return False
    reader.pos += distance + len(_INPUT)
    reader.thinking = False
    try:
        yield from _input(reader, word)
    except Broken as broken:
        reader.fault(broken.code, broken.why)
    return True


def _name(reader: Reader) -> Any:
    """Look ahead at the rest of the line. Returns (name, characters), or None. Where the answer was cut, the
    beginning of an offered name stands for it.
    """
    while True:
        match = _NAME.match(reader.buf, reader.pos)
        if match:
            return match.group(1), match.end() - reader.pos
        size = len(reader.buf) - reader.pos
        if size > MAX_NAME + 64 or "\n" in reader.buf[reader.pos :]:
            return None
        if reader.ended:
            word = reader.buf[reader.pos :].strip()
            cut = reader.truncated and word not in reader.offered.names
            name = next((name for name in reader.offered.names if cut and name.startswith(word)), word)
            return (name, size) if name in reader.offered.names else None
        yield


def _input(reader: Reader, name: str) -> Machine:
    found, distance = yield from upcoming(reader, ("{", "```json", "```"))
    if found.startswith("```"):
        found, distance = yield from upcoming(reader, ("{",), distance + len(found))
    if found == "\0":
        raise Broken("CALL_TRUNCATED")
    reader.open(name)
    if found != "{":
        raise Broken("CALL_NOT_JSON", "the action input is no JSON object")
    reader.pos += distance
    yield from stream_object(reader)
    reader.close()


def _rest(reader: Reader) -> Machine:
    """Drop all that follows the first action."""
    while not reader.ended:
        reader.pos = len(reader.buf)
        yield
    reader.pos = len(reader.buf)
