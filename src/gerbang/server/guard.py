"""Checks before anything else: the host asked for, where the request comes from, its size, and its sender."""

import ipaddress
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from starlette.types import Message, Receive, Scope

from gerbang.server.identity import NOBODY, Caller
from gerbang.server.problems import Problem, bad_request, problem, wait

if TYPE_CHECKING:
    from gerbang.server.service import Service

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DROPPED: Final = 4
"""This many times the limit is read and dropped of a body that is too large."""
_MAX_KNOWN: Final = 64
_HOST: Final = re.compile(r"(\[[0-9a-f:.]*\]|[^\[\]:@/?#\s]*)(?::[0-9]{0,5})?")
_ONCE: Final = frozenset(
    (
        b"host",
        b"origin",
        b"authorization",
        b"x-api-key",
        b"content-type",
        b"idempotency-key",
        b"last-event-id",
    )
)
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """Holds requests to the service's settings. `check` needs no waiting; `caller` may ask elsewhere."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        settings = service.settings
        self._hosts = _host_names(settings.host, settings.allowed_hosts)
        self._known: dict[bytes, str] = {}
        self._origins = frozenset(origin.rstrip("/").lower() for origin in settings.allowed_origins)

    def check(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bytes | None:
        """Raise Problem for a host that is not ours, and for a page of another site.

        Returns the origin when it is one that was named: its pages may read the answer.

        A foreign page whose name was made to point here (DNS rebinding) asks for its own host; a foreign
        page that just sends says its origin.
        """
        given = headers.get(b"host", b"")
        host = self._known.get(given)
        if host is None:
            host = self._look_at(given)
        origin = headers.get(b"origin")
        if origin is not None:
            return origin if self._is_named(scope, origin.decode("latin-1").lower(), host) else None
        if headers.get(b"sec-fetch-site") == b"cross-site" and (
            scope["type"] == "websocket" or scope["method"] not in _SAFE
        ):
            raise _foreign_page()
        return None

    def _look_at(self, given: bytes) -> str:
        """Return the host that was asked for, if it is ours; what is ours is remembered."""
        host = given.decode("latin-1").lower()
        if _without_port(host) not in self._hosts:
            raise problem(
                421,
                "permission_denied",
                "HOST",
                "This server is not the host that was asked for.",
                "Use its address, or name the host with --allowed-host.",
            )
        if len(self._known) < _MAX_KNOWN:
            self._known[given] = host
        return host

    def _is_named(self, scope: Scope, origin: str, host: str) -> bool:
        """Tell whether an origin was named; False is the server's own. Raises Problem for all others."""
        if origin in self._origins:
            return True
        secure = scope["scheme"] in ("https", "wss")
        if origin != f"{'https' if secure else 'http'}://{host}":
            raise _foreign_page()
        return False

    async def caller(self, scope: Scope, headers: Mapping[bytes, bytes], right: str | None) -> Caller:
        """Return who calls, if they have the right and their rate allows it. Raises Problem."""
        if right is None:
            return NOBODY
        service = self._service
        client = scope.get("client")
        address = client[0] if client else ""
        waiting = service.failed.spent(address)
        if waiting:
            raise _too_often(waiting)
        caller = await service.authenticator.authenticate(headers)
        if caller is None:
            service.failed.take(address)
            raise _nobody()
        if not caller.may(right):
            raise problem(
                403,
                "permission_denied",
                "RIGHT_MISSING",
                f"This key may not do that: it lacks the right {right!r}.",
                "Use a key with that right.",
            )
        if caller.authenticated:
            waiting = service.limiter.take(caller.key_id, caller.rate_per_s)
            if waiting:
                raise _too_often(waiting)
        return caller

    async def known(self, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Return who calls, None when they do not say it; for routes that decide that themselves."""
        return await self._service.authenticator.authenticate(headers)

    def bounded(self, receive: Receive) -> Receive:
        """Return the way in, which ends with a Problem when the body is too large."""
        limit = self._service.settings.max_body
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise too_large(limit)
            return message

        return counted


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """Return the whole body. Raises Problem when it is larger than `limit` bytes or does not come."""
    length = headers.get(b"content-length")
    if length is None and b"transfer-encoding" not in headers:
        return b""
    if length is not None and int(length) > limit:  # the parser has seen that it is a number
        if b"expect" not in headers and int(length) <= _DROPPED * limit:
            await _drop(receive, int(length))
        raise too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    parts, size = [body], len(body)
    while message["type"] == "http.request" and message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            parts.clear()
            await _drop(receive, _DROPPED * limit - size)
            raise too_large(limit)
    if message["type"] != "http.request":
        raise bad_request("The body ended early.", "Send it whole.", "BODY_CUT")
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _drop(receive: Receive, size: int) -> None:
    """Read on for a while and keep nothing: who is sending cannot hear the answer yet."""
    more = True
    while more and size > 0:
        message = await receive()
        size -= len(message.get("body", b""))
        more = message.get("more_body", False)


def too_large(limit: int) -> Problem:
    """Return the problem of a body over the limit; the connection ends, the rest is not read."""
    found = problem(
        413,
        "validation_error",
        "BODY_TOO_LARGE",
        f"The body is larger than {limit} bytes.",
        "Send less.",
        recoverable=True,
    )
    found.headers = (("connection", "close"),)
    return found


def read_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request by their names. Raises Problem when one that decides something is there
    twice: whoever stands before us may have gone by the other one.
    """
    given = scope["headers"]
    headers: dict[bytes, bytes] = dict(given)
    if len(headers) != len(given):
        names = [name for name, _ in given if name in _ONCE]
        if len(names) != len(set(names)):
            twice = next(name for name in names if names.count(name) > 1).decode()
            raise bad_request(f"The header {twice} is there twice.", "Send it once.", "HEADER_TWICE")
    return headers


def is_loopback(host: str) -> bool:
    """Tell whether a host that is to be bound can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host_names(host: str, allowed: tuple[str, ...]) -> frozenset[str]:
    bound = f"[{host}]" if ":" in host and not host.startswith("[") else host
    names = {bound.lower(), *(name.lower() for name in allowed)}
    return frozenset(names | LOOPBACK_NAMES)


def _without_port(host: str) -> str:
    """Return the name in front of the port; empty for what is no host at all."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found[1]


def _foreign_page() -> Problem:
    return problem(
        403,
        "permission_denied",
        "ORIGIN",
        "Pages of other sites may not call this server.",
        "Name the page's origin with --allowed-origin, if it is yours.",
    )


def _nobody() -> Problem:
    found = problem(
        401,
        "permission_denied",
        "NOT_AUTHENTICATED",
        "This needs a key that is valid.",
        "Send it as Authorization: Bearer KEY. Keys are made with: gerbang keys create",
    )
    found.headers = (("www-authenticate", 'Bearer realm="gerbang"'),)
    return found


def _too_often(seconds: float) -> Problem:
    return wait(429, "rate_limited", "RATE_ACTOR", "Too many requests.", seconds)
