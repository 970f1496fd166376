"""Results and errors of calls as they lie in the store."""

from typing import Final

import msgspec

from gerbang.runtime import refusals
from gerbang.runtime.output import Output
from gerbang.values import CallError

_ERRORS: Final = msgspec.json.Encoder()


def stored_error(error: CallError) -> bytes:
    """Return an error as it is stored. No JSON begins with `!`: a tool's data cannot look like one."""
    return b"!" + _ERRORS.encode(error)


def read_stored(stored: bytes) -> tuple[Output | None, CallError | None]:
    """Return a stored result, or the stored error."""
    try:
        if stored[:1] == b"!":
            return None, msgspec.json.decode(stored[1:], type=CallError)
        return Output(msgspec.json.decode(stored), stored), None
    except msgspec.MsgspecError:
        return None, refusals.uncertain()
