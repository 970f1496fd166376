"""The HTTP client under the declarative tools: guarded connections, bounded redirects, honest failures.

One client serves the tools of one file. No cookie, proxy or `.netrc` of the environment is used, TLS is
verified, and no request is ever sent twice by the client itself.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import quote, urljoin

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection
from yarl import URL

from gerbang.adapters.tools.egress import (
    EgressRefused,
    Hop,
    Place,
    guarded_socket,
    reaching,
    read_place,
)
from gerbang.adapters.tools.http_bodiless import BodilessAnswers
from gerbang.adapters.tools.http_errors import Attempt, failed, redirect_error
from gerbang.adapters.tools.http_request import Prepared
from gerbang.errors import NotSent, ToolError

MAX_REDIRECTS: Final = 5
"""How many redirects of one call are followed."""
CONNECT_TIMEOUT_S: Final = 10.0
"""Longest time for one connect, in seconds; the call's own time-out may be shorter."""
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_KEEPS: Final = frozenset({307, 308})


class _Lost(aiohttp.ClientError):
    """The connection broke. Of no class that the client would answer with a second attempt of its own."""


class HttpClient:
    """The connections of some tools in one event loop. Opened by the first call."""

    def __init__(self) -> None:
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._users = 0
        self._closing = False
        self._closer: asyncio.Future[None] | None = None

    @asynccontextmanager
    async def fetch(
        self, prepared: Prepared, hop: Hop, idle_s: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send the request and give the answer's head, redirects followed; the caller reads the body.

        `hop` is where it goes first, `idle_s` the silence allowed while waiting for bytes, in seconds; the
        whole time is the caller's to bound. Raises ToolError. Leaving the block ends the connection unless
        the body was read to its end.
        """
        self._users += 1
        response: aiohttp.ClientResponse | None = None
        try:
            with _translated(hop.place, hop.attempt):
                response = await self._follow(prepared, hop, idle_s)
                yield response
        finally:
            if response is not None:
                response.release() if response.content.at_eof() else response.close()
            self._users -= 1
            if self._closing and not self._users:  # in a task: this may be a coroutine that is being closed
                self._closer = asyncio.ensure_future(self.aclose())

    async def aclose(self) -> None:
        """Close the connections once no call uses them. May be called again; a later call opens new ones."""
        if self._users:
            self._closing = True
            return
        self._closing = False
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def _follow(self, prepared: Prepared, first: Hop, idle_s: float) -> aiohttp.ClientResponse:
        method, url, body, here = prepared.method, prepared.url, prepared.body, first.place
        attempt = first.attempt
        headers = {**prepared.base, **prepared.own}
        for count in range(MAX_REDIRECTS + 1):
            hop = Hop(first.egress, here, attempt, first.context)
            response = await self._send(method, url, headers, body, hop, idle_s)
            if response.status not in _MOVED:
                return response
            status = response.status
            location = response.headers.get("Location", "")
            response.close()
            if status == 303 and not attempt.reads:
                attempt.happened = True  # RFC 9110, 15.4.4: the answer to the request that was carried out
            url, there = _target(status, url, location, attempt)
            if count == MAX_REDIRECTS:
                raise redirect_error(status, there.host, "too many redirects", attempt.effect())
            _may_follow(status, method, here, there, attempt)
            if status == 303 and method != "HEAD":
                method, body = "GET", None
            if there.origin != first.place.origin:
                headers = dict(prepared.base)
            if body is None:
                headers.pop("Content-Type", None)
            here = there
        raise AssertionError("the loop returns or raises")

    async def _send(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | None,
        hop: Hop,
        idle_s: float,
    ) -> aiohttp.ClientResponse:
        reaching.set(hop)
        try:
            hop.egress.check_place(hop.place)
            return await self._session(hop.attempt.reads).request(
                method,
                URL(url, encoded=True),
                headers=headers,
                data=body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=idle_s),
            )
        except NotSent:
            if not hop.attempt.sent:
                raise
            where, effect = f"{hop.place.host}:{hop.place.port}", hop.attempt.effect()
            why = f"the redirect to {where} came too late to be followed"
            raise failed(why, "DEADLINE", "cancelled", effect, recoverable=False) from None
        except aiohttp.ClientConnectorError:
            if hop.refused is not None:
                raise hop.refused from None
            raise
        finally:
            # not by a token: that is bound to its context, and a body may be closed from another
            reaching.set(None)

    def _session(self, reads: bool) -> aiohttp.ClientSession:
        """Return the session for reads, or that for all else.

        A kept connection may turn out to be closed only after a request went out on it. For a read that
        costs a repetition; a change would be left in doubt, so it gets a connection of its own.
        """
        found = self._sessions.get(reads)
        if found is None or found.closed:
            found = self._sessions[reads] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    socket_factory=guarded_socket, force_close=not reads, limit_per_host=0
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # done by us, up to a cap
                trust_env=False,
                request_class=_Request,
                middlewares=(_once,),
            )
        return found


class _Request(aiohttp.ClientRequest):
    """Looks once more whether it may be sent, when the connection stands and nothing is written to it yet."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Write the head, or have it written with the body. Raises NotSent."""
        hop = reaching.get()
        if hop is not None:
            await hop.context.confirm()
            self._before, hop.attempt.sent = hop.attempt.sent, True
        if conn.transport is not None and conn.protocol is not None:
            if hop is not None:
                hop.attempt.kept = isinstance(conn.transport.get_protocol(), BodilessAnswers)
            conn.transport.set_protocol(BodilessAnswers(conn.protocol, self.method == "HEAD"))
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Write head and body: a task of its own, which may have had to wait for its turn."""
        hop = reaching.get()
        clearance = None if hop is None else hop.context.clearance
        code = "" if clearance is None else clearance.lacks()
        if hop is not None and code and conn.protocol is not None:
            hop.attempt.sent = self._before
            conn.protocol.set_exception(NotSent(code))  # whoever waits for the answer gets it
        else:
            await super().write_bytes(writer, conn, content_length)


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep the client from repeating a request by itself when the connection breaks.

    It may do so, once, for a read on a kept connection: most likely the server closed that before.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        hop = reaching.get()
        if hop is not None and hop.attempt.reads and hop.attempt.kept:
            raise
        raise _Lost(str(error)) from error


def _target(status: int, url: str, location: str, attempt: Attempt) -> tuple[str, Place]:
    try:
        joined = urljoin(url, quote(location, safe="%/:=&?~#+!$,;'@()*[]")).partition("#")[0]
        there = read_place(joined)
    except (ValueError, EgressRefused) as error:
        raise redirect_error(status, "", str(error) or "no address", attempt.effect()) from None
    if not location:
        raise redirect_error(status, "", "it names no address", attempt.effect())
    return joined, there


def _may_follow(status: int, method: str, here: Place, there: Place, attempt: Attempt) -> None:
    """Raise for a redirect that would change more than the address."""
    if here.scheme == "https" and there.scheme == "http":
        raise redirect_error(status, there.host, "it leaves TLS", attempt.effect())
    if not attempt.reads and status not in _KEEPS and status != 303 and method not in ("GET", "HEAD"):
        why = f"what a {method} becomes there is not defined"
        raise redirect_error(status, there.host, why, attempt.effect())


class _translated:  # noqa: N801 - reads as a word at its one place of use
    """Turns the client's errors into ToolErrors. None of their texts is passed on."""

    def __init__(self, place: Place, attempt: Attempt) -> None:
        self._where = f"{place.host}:{place.port}"
        self._attempt = attempt

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, aiohttp.ClientError | OSError | ssl.SSLError):
            raise self._failure(error) from None

    def _failure(self, error: BaseException) -> ToolError:
        where, effect = self._where, self._attempt.effect()
        network, refused = "transient_network_error", "permission_denied"
        if isinstance(error, EgressRefused):
            return failed(str(error), "EGRESS_REFUSED", refused, effect, recoverable=False)
        if isinstance(error, aiohttp.SocketTimeoutError):
            return failed(f"{where} fell silent", "IDLE_TIMEOUT", "timeout", effect)
        if isinstance(error, TimeoutError):
            return failed(f"{where} accepts no connection in time", "CONNECT_FAILED", network, effect)
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError | ssl.SSLError):
            detail = f"the TLS certificate or handshake of {where} is not valid"
            return failed(detail, "TLS_FAILED", "upstream_error", effect, recoverable=False)
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return failed(f"the name {where} was not found", "CONNECT_FAILED", network, effect)
        if isinstance(error, aiohttp.ClientConnectorError):
            return failed(f"nothing answers at {where}", "CONNECT_FAILED", network, effect)
        if isinstance(error, aiohttp.ClientResponseError):
            return failed(f"{where} does not answer in HTTP", "NOT_HTTP", "upstream_error", effect)
        return failed(f"{where} closed the connection too early", "CONNECTION_RESET", network, effect)
