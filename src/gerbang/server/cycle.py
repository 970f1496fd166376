"""One request and its answer: what the application reads from a connection, and what is written to it.

It stands where uvicorn's own stands. An answer with one body goes out as one piece, and what is done for
every request is as little as can be: no event, no copy of the body, no second look at known headers.
"""

import asyncio
import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.server import ServerState

Header = tuple[bytes, bytes]
_LOG: Final = logging.getLogger("gerbang.server")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""What a header may be called: a token (RFC 9110, 5.6.2)."""
_UNFIT: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What no value of a header may hold (RFC 9110, 5.5): it would end the header."""
_NO_BODY: Final = frozenset({204, 304})
_CLOSE: Final = b"connection: close\r\n"
_BROKEN: Final = (
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"21"),
    (b"connection", b"close"),
)


class Link(Protocol):
    """The connection that a request came over, as far as its cycle needs it."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    flow: FlowControl
    server_state: ServerState

    def on_response_complete(self) -> None:
        """Begin the next request, or wait for one."""
        ...

    def read_on(self) -> None:
        """Read again, if reading was paused and may go on."""
        ...


class Cycle:
    """One request, and its answer. As a function it is ASGI's `send`; `answer` sends a whole one at once."""

    __slots__ = (
        "_body",
        "_chunked",
        "_expects",
        "_left",
        "_link",
        "_news",
        "_size",
        "_told",
        "disconnected",
        "keep_alive",
        "more_body",
        "response_complete",
        "response_started",
        "scope",
        "task",
    )

    def __init__(self, link: Link, scope: Scope, keep_alive: bool, expects: bool) -> None:
        """`expects`: the client sends its body when it is told to go on."""
        self.scope = scope
        self.keep_alive = keep_alive
        self.disconnected = self.response_started = self.response_complete = False
        self.more_body = True
        self.task: asyncio.Task[None] | None = None
        self._link = link
        self._expects = expects
        self._body: list[bytes] = []
        self._size = 0
        self._news = False
        self._told: asyncio.Event | None = None  # most requests are there whole before anybody asks
        self._chunked = False
        self._left = 0

    async def run(self, app: ASGIApp) -> None:
        """Have the application answer."""
        try:
            await app(self.scope, self.receive, self)
            if not self.response_complete and not self.disconnected:
                _LOG.error("request was not answered", extra={"path": self.scope["path"]})
                await self._break()
        except (Exception, asyncio.CancelledError) as error:  # at the server's end; the client is told
            _LOG.error("request broke", exc_info=error)
            await self._break()
        finally:
            self._link.server_state.tasks.discard(self.task)
            self.task = None

    def take(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._body.append(piece)
        self._size += len(piece)
        if self._size > HIGH_WATER_LIMIT:
            self._link.flow.pause_reading()
        self.tell()

    def end(self) -> None:
        """The body has come whole."""
        self.more_body = False
        self.tell()

    def tell(self) -> None:
        """Let `receive` look: something has come, or the client has gone."""
        self._news = True
        if self._told is not None:
            self._told.set()

    async def receive(self) -> Message:
        """Return what has come of the body since, or that the client has gone or has its answer."""
        link = self._link
        if self._expects:
            self._expects = False
            if not link.transport.is_closing():
                link.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.disconnected and not self.response_complete:
            link.read_on()
            while not self._news:
                if self._told is None:
                    self._told = asyncio.Event()
                await self._told.wait()
            self._news = False
            if self._told is not None:
                self._told.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        pieces, self._body, self._size = self._body, [], 0
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def answer(self, status: int, headers: tuple[Header, ...], body: bytes) -> None:
        """Send a whole answer. `headers` are without its length, and the same ones again and again: they are
        remembered as they are sent.
        """
        link = self._link
        if link.flow.write_paused and not self.disconnected:
            await link.flow.drain()
        if self.disconnected:
            return
        if self.response_started:
            raise RuntimeError("This request has its answer.")
        self.response_started, self._expects = True, False
        parts = [STATUS_LINE[status], *self._always(), _known_lines(headers)]
        parts.append(b"content-length: %d\r\n\r\n" % len(body))
        if not self.keep_alive:
            parts.insert(1, _CLOSE)
        if self.scope["method"] != "HEAD":
            parts.append(body)
        link.transport.write(b"".join(parts))
        self._complete()

    async def __call__(self, message: Message) -> None:
        """Send the head of an answer, or a piece of its body."""
        flow = self._link.flow
        if flow.write_paused and not self.disconnected:
            await flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if self.response_complete or kind != ("http.response.body" if self.response_started else _START):
            raise RuntimeError(f"No {kind} can be sent here.")
        if kind == _START:
            self._send_head(message["status"], message.get("headers", ()))
        else:
            self._send_body(message.get("body", b""), message.get("more_body", False))

    def _send_head(self, status: int, headers: Iterable[Header]) -> None:
        self.response_started, self._expects = True, False
        length, chunked = None, None
        given = [(name.lower(), value) for name, value in headers]
        for name, value in given:
            if name == b"content-length" and chunked is None:
                length, chunked = int(value), False
            elif name == b"transfer-encoding" and value.lower() == b"chunked":
                length, chunked = None, True
            elif name == b"connection" and b"close" in value.lower():
                self.keep_alive = False
        parts = [STATUS_LINE[status], *self._always(), lines(given)]
        if not self.keep_alive and not any(name == b"connection" for name, _ in given):
            parts.append(_CLOSE)
        if chunked is None and self.scope["method"] != "HEAD" and status not in _NO_BODY:
            chunked = True
            parts.append(b"transfer-encoding: chunked\r\n")
        self._chunked, self._left = chunked is True, length or 0
        parts.append(b"\r\n")
        self._link.transport.write(b"".join(parts))

    def _send_body(self, body: bytes, more: bool) -> None:
        write = self._link.transport.write
        if self.scope["method"] == "HEAD":
            self._left = 0
        elif self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            write(piece if more else piece + b"0\r\n\r\n")
        elif len(body) > self._left:
            raise RuntimeError("The body is longer than its head says.")
        else:
            self._left -= len(body)
            write(body)
        if not more:
            if self._left:
                raise RuntimeError("The body is shorter than its head says.")
            self._complete()

    def _always(self) -> list[bytes]:
        """Return the lines that every answer has: the date."""
        return [b"%b: %b\r\n" % header for header in self._link.server_state.default_headers]

    def _complete(self) -> None:
        self.response_complete = True
        self.tell()
        if not self.keep_alive:
            self._link.transport.close()
        self._link.on_response_complete()

    async def _break(self) -> None:
        if self.response_started:
            self._link.transport.close()
            return
        await self({"type": _START, "status": 500, "headers": _BROKEN})
        await self({"type": "http.response.body", "body": b"Internal Server Error"})


_START: Final = "http.response.start"


def lines(headers: Iterable[Header]) -> bytes:
    """Return headers as they are sent. Raises ValueError for one that would not be read as it stands."""
    for name, value in headers:
        if _NAME.fullmatch(name) is None or _UNFIT.search(value) is not None:
            raise ValueError(f"This is no header: {name[:40]!r}.")
    return b"".join([b"%b: %b\r\n" % header for header in headers])


_known_lines: Final[Any] = lru_cache(64)(lines)
