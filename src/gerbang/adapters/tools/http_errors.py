"""What a tool says when its request failed, with what is known about the effect. Pure.

A profile with exact texts puts `Error: ` in front: `Error: HTTP 404 — BODY`, `Error: tool request failed: …`.
The effect goes by evidence: nothing was sent, or the target refused (4xx): none; else nobody knows.
"""

import email.utils
from typing import Final, Literal

from gerbang.adapters.tools.http_answer import CUT
from gerbang.errors import ToolError

ERROR_BODY_CHARS: Final = 2_000
"""Longest part of an error's body that is shown."""
_MAX_WAIT_MS: Final = 86_400_000
_FOR_NOW: Final = frozenset({408, 425, 429})  # the only refusals that the same request may get over

Effect = Literal["none", "happened", "unknown"]


class Attempt:
    """What is known of one call's requests. `sent`: a connection stood, so something may have gone out.

    `kept`: that connection had served another request before.
    """

    __slots__ = ("happened", "kept", "reads", "sent")

    def __init__(self, reads: bool) -> None:
        self.reads = reads
        self.sent = False
        self.kept = False
        self.happened = False

    def effect(self) -> Effect:
        """Return what may be said of the effect if the call fails now."""
        if self.happened:
            return "happened"
        return "unknown" if self.sent and not self.reads else "none"


def status_error(status: int, body: str, *, limit: int, retry_after: str | None, now: float) -> ToolError:
    """Return the error for an answer with a status from 400 on. `limit` bounds the shown body, in characters.

    `retry_after` is the header's value, `now` the time in seconds since the epoch.
    """
    limit = min(limit, ERROR_BODY_CHARS)
    shown = body if len(body) <= limit else body[:limit] + CUT
    client = 400 <= status < 500
    return ToolError(
        f"HTTP {status} — {shown}",
        code=f"HTTP_{status // 100}XX",
        error_type="rate_limited" if status == 429 else "upstream_error",
        recoverable=status in _FOR_NOW if client else status >= 500,
        effect="none" if client else "unknown",
        retry_after_ms=_wait_ms(retry_after, now),
    )


def redirect_error(status: int, where: str, why: str, effect: Effect) -> ToolError:
    """Return the error for a redirect that was not followed. `where` is the host it leads to."""
    return ToolError(
        f"HTTP {status} — a redirect{f' to {where}' if where else ''} that is not followed: {why}",
        code="HTTP_3XX",
        error_type="upstream_error",
        effect=effect,
    )


def failed(detail: str, code: str, kind: str, effect: Effect, *, recoverable: bool = True) -> ToolError:
    """Return the error for a request that got no answer, or none that can be read."""
    return ToolError(
        f"tool request failed: {detail}", code=code, error_type=kind, recoverable=recoverable, effect=effect
    )


def _wait_ms(value: str | None, now: float) -> int | None:
    """Return the milliseconds of a Retry-After header (RFC 9110, 10.2.3: a number or an HTTP date)."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(int(value[:10]) * 1_000, _MAX_WAIT_MS)
    try:
        moment = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):  # a server may write anything there
        return None
    return min(max(0, int((moment - now) * 1_000)), _MAX_WAIT_MS)
