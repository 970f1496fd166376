"""The reader of one answer: takes text as it arrives, gives events.

A machine (a generator of one of the families) reads from `buf` at `pos` and yields when it needs more text.
Time is linear: text is looked at when it arrives; at most the beginning of a mark is looked at again. While a
machine is in the middle of plain text it sets `stops`, and deltas without any of these characters do not
wake it.
"""

from collections.abc import Callable, Generator
from typing import Any, Final

from gerbang.parse.caps import MAX_CALL, MAX_NAME, MAX_RAW
from gerbang.parse.events import ArgumentsDelta, CallClosed, CallOpened, Content, Event, ParseFault, Reasoning
from gerbang.parse.faults import Broken, message_of
from gerbang.parse.json_value import load_object
from gerbang.parse.kinds import Offered
from gerbang.parse.plain import CONTENT, HELD, REASONING, Plain

Machine = Generator[None, None, None]
"""A machine: it yields when the text at hand is used up, and ends with the answer."""

_RUN: Final = 4_096


def _finished(_delta: str) -> list[Event]:
    """Take the place of `feed` when the answer is over."""
    raise RuntimeError("This answer was finished already. Make a new reader for the next one.")


class Reader:
    """Reads one answer. Made by `gerbang.parse.reader`; `feed` and `finish` are its public face."""

    __slots__ = (
        "_base",
        "_chunks",
        "_fresh",
        "_machine",
        "_name",
        "_out",
        "_plain",
        "_plains",
        "_record",
        "_send",
        "_since",
        "_size",
        "_tape",
        "_tape_at",
        "_text",
        "_text_kind",
        "_where",
        "_whole",
        "barren",
        "blank",
        "buf",
        "ended",
        "fence",
        "held",
        "index",
        "offered",
        "pos",
        "repair",
        "repaired",
        "thinking",
        "truncated",
        "unclosed",
    )

    def __init__(self, offered: Offered, *, repair: bool) -> None:
        self.offered = offered
        self.repair = repair
        self.buf = "\n"  # a virtual line break: the answer starts at the start of a line
        self.pos = 1
        self.ended = self.truncated = self.repaired = self.thinking = self.unclosed = False
        self.blank = True  # nothing but white space was shown so far
        self.held: list[str] = []
        self._base = self._since = 0
        self._record: str | None = None
        self._whole: list[str] = []
        self._tape: list[str] | None = None
        self._tape_at = 0
        self.fence = 0
        self.barren: set[str] = set()  # marks that do not stand in what is left of an answer that has ended
        self.index = 0
        self._out: list[Event] = []
        self._text: list[str] = []
        self._text_kind = CONTENT
        self._name: str | None = None
        self._chunks: list[str] = []
        self._fresh: list[str] = []
        self._size = 0
        self._plain: Plain | None = None
        self._plains: Plain | None = None
        self._where = CONTENT
        self._machine: Machine | None = None

    def start(self, machine: Machine) -> None:
        """Set the machine. Once, before any text."""
        self._machine = machine
        next(machine)
        feeding = self._feeding()
        next(feeding)
        self._send: Callable[[str], list[Event]] = feeding.send

    # -- public ---------------------------------------------------------------------------------------------

    def feed(self, delta: str, /) -> list[Event]:
        """Take the next piece of the answer, any cut, and return the events that it completes.

        Never raises on text. Raises RuntimeError after `finish`.
        """
        return self._send(delta)

    def finish(self, *, truncated: bool = False) -> list[Event]:
        """Tell that the answer has ended and return the last events.

        `truncated`: it did not end by itself (token limit, broken connection); an unfinished call is refused
        in either case, and with it nothing that was cut counts. Raises RuntimeError when called twice.
        """
        if self.ended:
            raise RuntimeError("This answer was finished already. Make a new reader for the next one.")
        self.truncated = truncated
        self.ended = True
        events = self._send("")
        self._over()
        self.buf, self.pos = "", 0
        self._chunks.clear()
        return events

    def _feeding(self) -> Generator[list[Event], str, None]:
        """Take deltas and give events. While the machine sleeps, plain deltas pass by it."""
        delta = yield []
        try:
            while True:
                passed, before = 0, "x"
                plain = self._plain
                if plain is not None and self._where >= 0:
                    known, look, keep = plain.known.get, plain.look, self._chunks.append
                    for passed in range(_RUN):  # noqa: B007 -- how many went by is used below
                        event = known(delta)
                        if event is None:
                            event = look(delta)
                            if event is None:
                                break
                        keep(delta)
                        delta = yield [event]
                    else:
                        passed = _RUN
                elif plain is not None:
                    held = self.held.append if self._where == HELD else None
                    for passed in range(_RUN):  # noqa: B007
                        event = plain.known.get(delta) or plain.look(delta)
                        if event is None:
                            break
                        if held is not None:
                            held(delta)
                        before, delta = delta, (yield [event] if held is None else [])
                    else:
                        passed = _RUN
                delta = yield self._wake(delta, passed, before[-1])
        finally:
            self._over()

    def _over(self) -> None:
        """No more deltas are taken."""
        self._send = _finished

    def _wake(self, delta: str, passed: int, before: str) -> list[Event]:
        """Let the machine read on. `passed` deltas went by while it slept, the last one ends in `before`."""
        machine = self._machine
        if machine is None:
            return _finished(delta)
        if self._tape is not None:
            self._tape.append(self.buf[self._tape_at : self.pos])
            self._tape_at = 1
        self._plain = None
        if passed:
            self._went_by(passed)
            self.buf, self.pos = before, 1
        pos = self.pos
        self.buf = self.buf[pos - 1 :] + delta
        self.pos = 1
        self._base += pos - 1
        if self._record is not None and len(self._record) < MAX_RAW:
            self._record += delta[:MAX_RAW]
        try:
            machine.send(None)
        except StopIteration:
            self._machine = None
        self._flush_text()
        self._flush_arguments()
        out, self._out = self._out, []
        return out

    # -- for the machines -----------------------------------------------------------------------------------

    def rest(self, stops: frozenset[str], *, hold: bool = False) -> None:
        """All text is used up in the middle of plain text: sleep until one of `stops` arrives.

        With `hold` the text that goes by is added to `held`, to be shown or read later.
        """
        if self.ended or self.pos < len(self.buf):
            return
        if self._record is not None and len(self._record) >= MAX_RAW:
            self._since = self._base - MAX_RAW  # all of it was used up: from now on text goes by uncounted
        elif self._record is not None and not hold and self._name is None:
            return
        if self.blank and not hold and not self.thinking and self._name is None:
            return  # the first visible text must be noticed
        if hold:
            where = HELD
        elif self._name is not None:
            where = self.index
        else:
            where = REASONING if self.thinking else CONTENT
        self._where = where
        plains = self._plains
        if plains is None or plains.stops is not stops or plains.where != where:
            self._plains = plains = Plain(stops, where)
        self._plain = plains

    def record(self) -> None:
        """Keep all text from `pos` on, to show it or to read it again: see `recorded`."""
        self._tape, self._tape_at = [], self.pos
        self.held.clear()

    @property
    def recording(self) -> bool:
        """Whether text is being recorded."""
        return self._tape is not None

    def recorded(self) -> str:
        """Return the text since `record` up to `pos`, and end the recording."""
        text = "".join((*(self._tape or ()), self.buf[self._tape_at : self.pos]))
        self._tape = None
        return text

    def mark(self) -> int:
        """Return a place in the recording: `pos`."""
        if self._tape is None:
            return 0
        self._tape.append(self.buf[self._tape_at : self.pos])
        self._tape_at = self.pos
        return len(self._tape)

    def recorded_since(self, mark: int) -> str:
        """Return the text since a place in the recording, which goes on."""
        return "".join((*(self._tape or ())[mark:], self.buf[self._tape_at : self.pos]))

    def _went_by(self, passed: int) -> None:
        """Add the deltas that went by while the machine slept to what is recorded."""
        held = self._where == HELD
        if self._record is not None and len(self._record) < MAX_RAW:
            text = "".join((self.held if held else self._chunks)[-passed:])
            self._record += text[:MAX_RAW]
            self._base += self.pos - 1 + len(text)
        if self._tape is not None and held:
            self._tape.append("".join(self.held))
            self.held.clear()
        elif self._tape is not None:
            self._tape.append("".join(self._chunks[-passed:]))

    def unread(self, text: str) -> None:
        """Put text that was taken back before what comes next."""
        if text:
            self._base += self.pos - len(text) - 1
            self.buf, self.pos = "x" + text + self.buf[self.pos :], 1

    def new_line(self) -> None:
        """What follows counts as the start of a line: only marks that are not shown stood before it."""
        self._base += self.pos - 1
        self.buf, self.pos = "\n" + self.buf[self.pos :], 1

    def content(self, text: str) -> None:
        """Show `text` to the user, or as thinking while `thinking` is set."""
        if not text:
            return
        kind = REASONING if self.thinking else CONTENT
        if kind != self._text_kind:
            self._flush_text()
            self._text_kind = kind
        self._text.append(text)
        if self.blank and kind == CONTENT and not text.isspace():
            self.blank = False

    def open(self, name: str) -> None:
        """Begin a call. Raises Broken for an impossible name."""
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise Broken("CALL_SHAPE", "the name of the tool is missing, too long or not printable")
        self._flush_text()
        self.thinking = False
        self._name = name
        self._out.append(CallOpened(self.index, name))

    @property
    def opened(self) -> str | None:
        """The name of the call that is open."""
        return self._name

    def write(self, fragment: str) -> None:
        """Append to the JSON text of the open call. Raises Broken when it gets too large."""
        self._fresh.append(fragment)
        self._size += len(fragment)
        if self._size > MAX_CALL:
            raise Broken("CALL_TOO_LARGE", f"more than {MAX_CALL} characters")

    def grow(self, size: int) -> None:
        """Count text of the open call that is written later. Raises Broken when the call gets too large."""
        self._size += size
        if self._size > MAX_CALL:
            raise Broken("CALL_TOO_LARGE", f"more than {MAX_CALL} characters")

    def so_far(self) -> str:
        """Return the JSON text of the open call as it stands."""
        return "".join((*self._whole, *self._chunks, *self._fresh))

    def close(self, arguments: dict[str, Any] | None = None) -> None:
        """End the open call: its JSON text is complete. Raises Broken when it cannot be trusted."""
        name = self._name
        if name is None:
            raise Broken("CALL_SHAPE", "the name of the tool is missing")
        self._flush_arguments()
        text = "".join((*self._whole, *self._chunks))
        if arguments is None:
            arguments = load_object(text)
        self._out.append(CallClosed(self.index, name, arguments, text, self.repaired))
        self._clear()
        self.index += 1

    def call(self, name: str, arguments: dict[str, Any], text: str, *, repaired: bool) -> None:
        """Report a call that was read as a whole. Raises Broken like `open`."""
        self.open(name)
        self.repaired = repaired
        self.write(text)
        self.close(arguments)

    def begin(self, back: int) -> None:
        """A block begins `back` characters before `pos`: from here on its text is kept for a fault."""
        start = self.pos - back
        self._since = self._base + start
        self._record = self.buf[start : start + MAX_RAW]

    def raw(self) -> str:
        """Return the start of the block up to `pos`."""
        return (self._record or "")[: max(0, self._base + self.pos - self._since)][:MAX_RAW]

    def fault(self, code: str, why: str = "") -> None:
        """Report what is no call, with the text since `begin`; the open call dies with it."""
        self._flush_text()
        self._flush_arguments()
        index = None
        if self._name is not None:
            index = self.index
            self.index += 1
        self._clear()
        self._out.append(ParseFault(index, code, message_of(code, why), self.raw()))
        self._record = None

    def _clear(self) -> None:
        self._name = None
        self.repaired = False
        self._chunks = []
        self._whole = []
        self._fresh = []
        self._size = 0

    def _flush_text(self) -> None:
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            self._out.append(Reasoning(text) if self._text_kind == REASONING else Content(text))

    def _flush_arguments(self) -> None:
        if self._fresh and self._name is not None:
            fragment = "".join(self._fresh)
            self._fresh.clear()
            if fragment:
                self._chunks.append(fragment)
                self._out.append(ArgumentsDelta(self.index, fragment))
        if len(self._chunks) > _RUN:
            part = "".join(self._chunks)
            self._whole.append(part)
            self._chunks.clear()
            self._size = sum(map(len, self._whole))


class DirectReader(Reader):
    """A reader whose `feed` is the `send` of its generator: no frame is built for a delta."""

    __slots__ = ("feed",)

    feed: Callable[[str], list[Event]]

    def start(self, machine: Machine) -> None:
        """Set the machine. Once, before any text."""
        super().start(machine)
        self.feed = self._send

    def _over(self) -> None:
        super()._over()
        self.feed = _finished
