"""What a browser has to hear before pages of the named origins may read answers (Fetch standard, CORS).

Keys are headers that the page sends itself; credentials of the browser, such as cookies, are never asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gerbang.server.replies import Reply

Headers = tuple[tuple[bytes, bytes], ...]
_ACCEPTED: Final = b"accept, authorization, content-type, idempotency-key, last-event-id, x-api-key"
_SHOWN: Final = b"location, retry-after"
_MAX_AGE: Final = b"600"


def answer_headers(origin: bytes) -> Headers:
    """Return the headers of every answer to a page of a named origin."""
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _SHOWN),
        (b"vary", b"origin"),
    )


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a browser asks what a page may send."""
    return method == "OPTIONS" and b"access-control-request-method" in headers


def preflight_reply(methods: Iterable[str]) -> Reply:
    """Return the answer: the methods of the path, and the headers that this server reads."""
    headers = (
        (b"access-control-allow-methods", ", ".join(sorted(methods)).encode()),
        (b"access-control-allow-headers", _ACCEPTED),
        (b"access-control-max-age", _MAX_AGE),
    )
    return Reply(b"", 200, b"text/plain", headers)
