"""Names and values of secrets: what may be one."""

import re
from typing import Final

from gerbang.errors import UsageError

MIN_SECRET_CHARS: Final = 4
"""A shorter value cannot be told from ordinary text, so it could not be kept out of results."""

MAX_SECRET_CHARS: Final = 16_384
"""Longest value of a secret, in characters."""

NAME_RULE: Final = "use up to 100 letters of A-Z, a-z, digits and _, not a digit first, such as WEATHER_KEY."

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def is_secret_name(name: object) -> bool:
    """Tell whether the text can name a secret in every kind of store. Anything but text cannot."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def check_secret(name: str, value: str | None = None) -> None:
    """Check a name, and a value to be stored under it. Raises UsageError, which never holds the value."""
    if not is_secret_name(name):
        raise UsageError(f"{name[:80]!r} cannot name a secret: {NAME_RULE}")
    if value is None:
        return
    if not MIN_SECRET_CHARS <= len(value) <= MAX_SECRET_CHARS:
        raise UsageError(
            f"The value for {name} has {len(value)} characters; a secret has {MIN_SECRET_CHARS} to "
            f"{MAX_SECRET_CHARS}. Give another value."
        )
    if "\0" in value:
        raise UsageError(f"The value for {name} holds a zero character. Give text.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"The value for {name} is not UTF-8 text. Give text, such as base64.") from None
