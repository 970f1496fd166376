"""Standard input as bounded text."""

import sys

from gerbang.errors import UsageError


def read_all(limit_bytes: int, what: str) -> str:
    """Return standard input as text.

    `what` names the content in errors. Raises UsageError when it is not UTF-8 or longer than `limit_bytes`.
    """
    data = sys.stdin.buffer.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise UsageError(f"{what} on standard input is larger than {limit_bytes} bytes. Send less.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{what} on standard input is not UTF-8 (byte {error.start}). Convert it first, "
            "for example with iconv -t UTF-8."
        ) from None


def checked_argument(text: str, what: str) -> str:
    """Return an argument of the command line. Raises UsageError when its bytes were not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not UTF-8. Check the terminal's encoding.") from None
    return text
