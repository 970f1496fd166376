"""Machine of `auto`: the first text tells formats that are no tags; all tags are looked for at once."""

from collections.abc import Generator
from typing import Final

from gerbang.parse import harmony, prose, react, recipients
from gerbang.parse.plan import plan_of
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import upcoming

_HARMONY: Final = ("<|channel|>", "<|start|>assistant", "to=functions.")
_REACT: Final = ("Thought:", "Action:")
_MARK: Final = ">>>"
_FIRSTS: Final = frozenset(form[0] for form in (*_HARMONY, *_REACT, _MARK))


def read(reader: Reader, *, reasoning_open: bool) -> Machine:
    """Read a whole answer in whatever dialect it shows."""
    yield
    machine = yield from _machine(reader, reasoning_open=reasoning_open)
    next(machine)  # it waits for its first text, which is here already
    yield from machine


def _machine(reader: Reader, *, reasoning_open: bool) -> Generator[None, None, Machine]:
    first = reader.buf[reader.pos : reader.pos + 1]
    if reasoning_open or (first.isalnum() and first not in _FIRSTS):  # nearly every plain answer
        return prose.read(reader, plan_of("auto"), "</think>" if reasoning_open else None)
    recipient = tuple(f"{_MARK}{name}\n" for name in ("all", *reader.offered.names))
    spoken = _REACT if reader.offered.names else ()  # without tools it is a word like any other
    found, _ = yield from upcoming(reader, (*_HARMONY, *spoken, *recipient))
    if found in _HARMONY:
        return harmony.read(reader, reasoning_open=False)
    if found in _REACT:
        return react.read(reader)
    if found in recipient:
        return recipients.read(reader, plan_of("functionary_v32"))
    return prose.read(reader, plan_of("auto"), None)
