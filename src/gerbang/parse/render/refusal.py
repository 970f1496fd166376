"""What `render` raises when a format cannot carry what it was given."""

from gerbang.errors import UsageError


class RenderError(UsageError, ValueError):
    """The dialect cannot carry this call, or an argument of the API is wrong.

    `str(error)` names the tool and argument, says why, and what to do instead.
    """


def quoted(text: object, limit: int = 80) -> str:
    """Return `text` as one short quoted line for an error message, at most `limit` characters of it."""
    plain = ascii(text if isinstance(text, str) else str(text))
    return plain if len(plain) <= limit else plain[: limit - 2] + "…" + plain[0]
