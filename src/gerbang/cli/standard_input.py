"""Standard input as bounded text."""

import sys

from gerbang.cli.texts import say
from gerbang.errors import UsageError


def read_all(limit_bytes: int, what: str) -> str:
    """Return standard input as text.

    `what` names the content in errors. Raises UsageError when it is not UTF-8 or longer than `limit_bytes`.
    """
    data = sys.stdin.buffer.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise UsageError(say("too_large", what=what, limit=limit_bytes))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(say("input_not_utf8", what=what, place=error.start)) from None


def checked_argument(text: str, what: str) -> str:
    """Return an argument of the command line. Raises UsageError when its bytes were not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(say("argument_not_utf8", what=what)) from None
    return text
