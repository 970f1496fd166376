"""The target of a request: what it asks for, and of which host."""

from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

import httptools

Headers = list[tuple[bytes, bytes]]
_KEPT: Final = 256
"""Targets up to this length are remembered as they were read; a client asks for the same ones."""


def read_target(url: bytes) -> tuple[str, bytes, bytes]:
    """Return a request's path, the path as it was sent, and its query. Raises HttpParserError."""
    return _remembered(url) if len(url) <= _KEPT else _read(url)


def of_its_host(url: bytes, headers: Headers) -> Headers:
    """Return the headers with the host that the target itself names, if it names one: that one holds,
    whatever stands beside it (RFC 9112, 3.2.2).

    Raises HttpParserError, and ValueError for a target with a user name.
    """
    parsed: Any = httptools.parse_url(url)  # its types say that every part is there
    if parsed.host is None:
        return headers
    if parsed.userinfo:
        raise ValueError("The target names a user.")
    host = b"[%b]" % parsed.host if b":" in parsed.host else parsed.host
    named = (b"host", host if parsed.port is None else b"%b:%d" % (host, parsed.port))
    others = [named if name == b"host" else (name, value) for name, value in headers]
    return others if named in others else [named, *others]


def _read(url: bytes) -> tuple[str, bytes, bytes]:
    parsed: Any = httptools.parse_url(url)
    path = (parsed.path or b"/").decode("ascii")
    return unquote(path) if "%" in path else path, path.encode(), parsed.query or b""


_remembered: Final = lru_cache(512)(_read)
