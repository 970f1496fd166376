"""How a command ends: exit codes, and errors as two plain lines instead of a stack trace."""

import errno
import os
import secrets
import sys
import traceback
from enum import IntEnum
from typing import Final

from gerbang.cli.safe_text import printable
from gerbang.cli.texts import say
from gerbang.errors import CallerError, GerbangError

_MAX_TEXT: Final = 2_000
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


class Exit(IntEnum):
    """What the exit code of `gerbang` means."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WAITING = 3
    INTERRUPTED = 130


_BY_STATUS: Final = {
    "completed": Exit.DONE,
    "ok": Exit.DONE,
    "pending_approval": Exit.WAITING,
    "pending": Exit.WAITING,
    "cancelled": Exit.INTERRUPTED,
}


def for_status(status: str) -> Exit:
    """Return the exit code for the status of a run or of a call."""
    return _BY_STATUS.get(status, Exit.FAILED)


def report(error: BaseException) -> Exit:
    """Print what went wrong to standard error and return the exit code.

    A GerbangError says itself what to do next. Anything else is our bug: it gets a reference, and its
    stack trace is shown only when `GERBANG_DEBUG` is set, because traces can hold secrets.
    """
    if isinstance(error, KeyboardInterrupt):
        _complain(say("interrupted"))
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader went away, like `| head`. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    if isinstance(error, OSError) and error.errno in _FULL:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # it would fail at the end once more
        _complain(say("full", why=error.strerror))
        return Exit.FAILED
    if os.environ.get("GERBANG_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, GerbangError):
        _complain(say("error", text=error))
        return Exit.USAGE if isinstance(error, CallerError) else Exit.FAILED
    reference = secrets.token_hex(4)
    _complain(say("inside", kind=type(error).__name__, reference=reference))
    return Exit.FAILED


def _complain(text: str) -> None:
    """Print an error. An address that somebody gave, and that it repeats, may hold a password."""
    from gerbang.audit.redact import redact  # when there is an error

    sys.stderr.write(printable(redact(text[: 2 * _MAX_TEXT]))[:_MAX_TEXT] + "\n")
