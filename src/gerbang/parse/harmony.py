"""Machine of the harmony format (gpt-oss): messages with a header that says what each is."""

import re
from collections.abc import Generator
from typing import Final

from gerbang.parse.call_object import stream_object
from gerbang.parse.caps import MAX_HEADER
from gerbang.parse.faults import Broken
from gerbang.parse.marks import Marks
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import half, skip_past, upcoming

_START, _CHANNEL, _MESSAGE, _CONSTRAIN = "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"
_ENDS: Final = ("<|end|>", "<|call|>", "<|return|>")
_HEADERS: Final = (_START, _CHANNEL, *_ENDS)
_HEADER: Final = Marks((_MESSAGE, _START, *_ENDS))
_BODY: Final = Marks((_START, _CHANNEL, *_ENDS))
_RECIPIENT: Final = re.compile(r"\bto\s*=\s*([^\s<]+)")
_NOBODY: Final = re.compile(r"\bto\s*=\s*(?:<|\Z)")
_CHANNEL_NAME: Final = re.compile(r"<\|channel\|>\s*([A-Za-z_]+)")
_ROLE: Final = re.compile(r"\s*([A-Za-z_.\-]*)")
_NAMED: Final = re.compile(r"\s*[A-Za-z_?]+(?:\s+(?:to\s*=\s*[^\s<]+|code|json))*\s*<\|")
_WORDS: Final = ("assistant", "analysis", "commentary", "final")
_HALF_WORDS: Final = "|".join(word[:size] for word in _WORDS for size in range(len(word)))
_CUT: Final = re.compile(
    rf"\s*+(?:{_HALF_WORDS}|(?:{'|'.join(_WORDS)})(?:\s+to\s*=\s*[^\s<]*)?(?:\s+(?:code|json))?"
    r"(?:\s+(?:to?|to\s*=|c|co|cod|j|js|jso))?\s*+(?:<(?:\|[a-z]*\|?)?)?)"
)
_NEAR: Final = 160
_PREFIX: Final = re.compile(r"\Afunctions\s*\.\s*")
_HEADS: Final = (_START, _CHANNEL, _MESSAGE, _CONSTRAIN, *_ENDS, "to=", "to =", "assistant")


def read(reader: Reader, *, reasoning_open: bool) -> Machine:
    """Read a whole answer. The prompt has ended with `<|start|>assistant`."""
    yield
    if reasoning_open:
        reader.thinking = True
        yield from _text(reader)
    while reader.pos < len(reader.buf) or not reader.ended:
        head, distance = yield from upcoming(reader, _HEADS)
        if head == "\0":
            reader.content(reader.buf[reader.pos :])
            return
        if not head or (head == "assistant" and not reader.blank):
            yield from _text(reader)
            continue
        reader.pos += distance
        if head in _ENDS:
            reader.pos += len(head)
            continue
        if head == _START:
            reader.pos += len(_START)
        yield from _message(reader, started=head == _START)


def _message(reader: Reader, *, started: bool) -> Machine:
    """Read a header and what it introduces."""
    reader.begin(0)
    header = yield from _header(reader)
    if header is None:
        return
    role = _ROLE.match(header)
    if started and role and role.group(1) not in ("assistant", "") and not header.lstrip().startswith("to"):
        yield from _drop(reader)  # a made-up message of somebody else
        return
    to = _RECIPIENT.search(header)
    channel = _CHANNEL_NAME.search(header)
    if to is None and _NOBODY.search(header):
        yield from _drop(reader)  # a recipient that is none: neither a call nor text for the user
        reader.fault("CALL_NOT_OFFERED", "''")
        return
    if to is not None:
        yield from _to(
            reader, to.group(1), _PREFIX.sub("", header[to.start(1) :].split("<")[0], count=1).strip()
        )
        return
    reader.thinking = channel is not None and channel.group(1) == "analysis"
    yield from _text(reader)


def _header(reader: Reader) -> Generator[None, None, str | None]:
    """Take a header with its message mark. None when it has none, or the answer ends in it."""
    parts: list[str] = []
    size = 0
    while True:
        buf, pos = reader.buf, reader.pos
        match = _HEADER.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else _HEADER.held(buf, pos)
        over = (
            end - pos > MAX_HEADER - size
        )  # cut there whatever has arrived: the result must not depend on it
        end = pos + MAX_HEADER - size if over else end
        parts.append(buf[pos:end])
        size += end - pos
        reader.pos = end
        if over:
            reader.fault("CALL_SHAPE", "the header of a message is too long")
            reader.content("".join(parts))
            return None
        if match is not None:
            if match.group(1) == _MESSAGE:
                reader.pos = match.end()
                return "".join(parts)
            reader.fault("CALL_SHAPE", "a header has no message")
            return None
        if reader.ended:
            if "to=" in "".join(parts):
                reader.fault("CALL_TRUNCATED")
            return None
        yield


def _text(reader: Reader) -> Machine:
    """Pass on the text of a message up to its end, which is taken, or the next header.

    A mark that nothing structural follows ends nothing: in thinking it is text, elsewhere it is left out.
    """
    while True:
        buf, pos = reader.buf, reader.pos
        match = _BODY.search(buf, pos)
        end = match.start() if match else len(buf) if reader.ended else _BODY.held(buf, pos)
        reader.content(buf[pos:end])
        reader.pos = end
        if match is not None:
            mark = match.group(1)
            if (yield from _ends(reader, mark)):
                reader.pos = min(len(reader.buf), reader.pos + len(mark)) if mark in _ENDS else reader.pos
                break
            reader.content(mark if reader.thinking or mark not in _ENDS else "")
            reader.pos += len(mark)
            continue
        if reader.ended:
            break
        reader.rest(_BODY.stops)
        yield
    reader.thinking = False


def _ends(reader: Reader, mark: str) -> Generator[None, None, bool]:
    """Tell whether the mark at `pos` ends a message: a header or the end of the answer follows, or it
    begins one, even one in which the answer ends.
    """
    if mark in _ENDS:
        found, _ = yield from upcoming(reader, _HEADERS, len(mark))
        return found != "" or half(reader, _HEADERS, len(mark))
    while True:
        after = reader.pos + len(mark)
        at = reader.buf.find("<|", after, after + _NEAR)
        if at >= 0 and reader.buf.startswith((_CHANNEL, _MESSAGE, _CONSTRAIN), at):
            return mark == _START or _NAMED.match(reader.buf, after) is not None
        if reader.ended:
            return _CUT.fullmatch(reader.buf, after) is not None
        if len(reader.buf) - (at if at >= 0 else after) > (len(_CONSTRAIN) if at >= 0 else _NEAR):
            return False
        yield


def _to(reader: Reader, recipient: str, plain: str) -> Machine:
    """Read a message to a tool."""
    name = _PREFIX.sub("", recipient, count=1) or plain.split()[0] if plain else recipient
    if not recipient.startswith("functions") and recipient not in reader.offered.names:
        yield from _drop(reader)
        reader.fault("CALL_NOT_OFFERED", repr(recipient[:64]))
        return
    if recipient in reader.offered.names:
        name = recipient
    try:
        reader.open(name)
        found, distance = yield from upcoming(reader, ("{", *_ENDS, _START, _CHANNEL))
        if found == "{":
            reader.pos += distance
            yield from stream_object(reader)
        elif found in _ENDS:
            reader.write("{}")
        else:
            if found == "\0":
                reader.pos = len(reader.buf)
            raise Broken(
                "CALL_TRUNCATED" if found == "\0" else "CALL_NOT_JSON", "the arguments are no object"
            )
        reader.close()
        yield from _drop(reader)
    except Broken as broken:
        yield from _drop(reader)
        reader.fault(broken.code, broken.why)


def _drop(reader: Reader) -> Machine:
    """Drop text up to the end of the message."""
    yield from skip_past(reader, _BODY, lambda mark: mark in (_START, _CHANNEL))
