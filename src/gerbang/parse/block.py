"""What every block of calls has in common: marks that start no call, broken blocks, the end of the answer."""

from collections.abc import Generator
from typing import Any, Final

from gerbang.parse.faults import Broken
from gerbang.parse.json_value import dump
from gerbang.parse.plan import Plan
from gerbang.parse.reader import Machine, Reader
from gerbang.parse.scan import skip_past, upcoming

_NO_CALL: Final = ("CALL_NOT_STARTED", "what follows shows that it is no call")


def not_started(reader: Reader, mark: str, *, quiet: bool = False) -> None:
    """Show a mark (just taken) that is followed by something that cannot be a call."""
    if not quiet:
        reader.fault("CALL_NOT_STARTED")
    reader.content(mark)


def twice(reader: Reader, mark: str, after: tuple[str, ...]) -> Generator[None, None, bool]:
    """Take the mark once more when a model wrote it twice before its call, which begins with one of `after`.
    True when it did.
    """
    found, distance = yield from upcoming(reader, (mark,))
    if found == mark:
        found, _ = yield from upcoming(reader, after, distance + len(mark))
        if found in after:
            reader.pos += distance + len(mark)
            return True
    return False


def recover(reader: Reader, plan: Plan, broken: Broken) -> Machine:
    """Drop the rest of a broken block, up to its last end mark or the next call, and report it."""
    yield from skip_past(reader, plan.resync, plan.opens)
    reader.fault(broken.code, broken.why)
    yield from take_ends(reader, plan)


def take_ends(reader: Reader, plan: Plan) -> Machine:
    """Take end marks that stand right here: outer ends of a block that is over already."""
    while plan.ends:
        mark, distance = yield from upcoming(reader, plan.ends)
        if mark in ("", "\0"):
            return
        reader.pos += distance + len(mark)


def lapse(reader: Reader) -> None:
    """What was passed on as a call is none after all: it dies, and its text is shown."""
    if reader.opened is not None:
        reader.fault(*_NO_CALL)


def emit(reader: Reader, calls: list[tuple[str, dict[str, Any]]], *, repaired: bool) -> None:
    """Report complete calls. The first may be open already, with all of its arguments passed on."""
    for name, arguments in calls:
        if reader.opened == name:
            reader.repaired = repaired
            reader.close(arguments)
            continue
        lapse(reader)
        reader.call(name, arguments, dump(arguments), repaired=repaired)
