"""The HTTP connection with bounds of its own: how many there are, and how long a request may take to come.

uvicorn bounds neither the size of headers nor the time in which they arrive; a client that sends one byte a
minute would hold its connection for ever.
"""

import asyncio
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from gerbang.server.corked import Corked
from gerbang.server.cycle import Cycle
from gerbang.server.settings import ServerSettings
from gerbang.server.target import of_its_host, read_target

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_NO_HANDSHAKE: Final = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_MOST_PIECES: Final = 4_096
_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}
_INVALID: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: 30\r\n\r\nInvalid HTTP request received."
)
_MOST_WAITING: Final = 64
"""While more requests of a connection than this wait for their turn, nothing more is read from it."""
_LINGER_S: Final = 1.0
"""How long a client that was refused may take to read the answer before it is cut off."""
_SLICE: Final = 16_384
"""So much is read at a time: thousands of small requests can come in one piece."""
_HEAD: Final = "head"
_BODY: Final = "body"
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\ncontent-length: 0\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Use a subclass made by `bounded` for the settings."""

    settings: ServerSettings

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._stage: str | None = _HEAD
        self._timed: str | None = None
        self._head_bytes = self._piece_bytes = self._first_bytes = 0
        self._upgrades = False
        self._unread = b""
        self._deaf = False  # nothing more is read: the last request has come
        self._left_alone = False  # refused: it only waits for the client to close
        self._idle_since = 0.0
        self._refused = False
        self._patience = _Patience(self.loop, self.settings.send_timeout_s)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or send it away when there are too many."""
        super().connection_made(transport)
        self._bare = transport
        self.transport = cast("asyncio.Transport", Corked(transport, self.loop))
        if len(self.connections) > self.settings.max_connections:
            self.transport.write(_FULL)
            self.transport.close()  # at once: there are too many to wait for
            return
        self._keep_time()

    def data_received(self, data: bytes) -> None:
        """Take bytes while few requests wait; what comes behind them is read when its turn is near."""
        for start in range(0, len(data), _SLICE):
            if self._deaf:
                return
            if self._unread or len(self.pipeline) > _MOST_WAITING:
                self._unread += data[start:]
                return
            self._take(data[start : start + _SLICE] if len(data) > _SLICE else data)

    def _take(self, data: bytes) -> None:
        """Read bytes. A request that came whole needs no timer; one that did not has to go on coming."""
        if self.transport.is_closing():
            return
        self._head_bytes += len(data)
        self._piece_bytes = len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._deaf = True
            if self._upgrades:
                self.handle_websocket_upgrade()
            else:
                self._unsupported_upgrade_warning()
        except httptools.HttpParserError:
            self._deaf = True
            self.logger.warning("Invalid HTTP request received.")
            self._refuse(_INVALID)
            return
        if self._stage is _HEAD and self._head_bytes > self.settings.max_headers and self.parser is not None:
            self._refuse(_TOO_LARGE)
        elif self._stage is not self._timed:
            self._keep_time()

    def on_message_begin(self) -> None:
        """Begin with a request's head."""
        self._stage, self._head_bytes, self._first_bytes = _HEAD, 0, self._piece_bytes
        self.url, self.headers = b"", []
        self.expect_100_continue = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. What comes behind the body (a trailer) is none."""
        if self._stage is _HEAD:
            name = name.lower()
            if name == b"expect":
                self.expect_100_continue = value.lower() == b"100-continue"
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Go on with the body, which has a time of its own, and let the request be answered."""
        self._stage = _BODY
        if self._refused:
            return
        headers, limit = self.headers, self.settings.max_headers
        may_be = self._head_bytes + self._first_bytes > limit  # if nothing else came with it
        if may_be and sum([len(name) + len(value) + 4 for name, value in headers]) > limit:
            self._refused = True
            self._refuse(_TOO_LARGE)
            return
        parser = self.parser
        version = parser.get_http_version()
        if version == "1.0" and any(name == b"transfer-encoding" for name, _ in headers):
            raise ValueError("HTTP/1.0 knows no chunks (RFC 9112, 6.1).")
        if not self.url.startswith(b"/"):
            headers = of_its_host(self.url, headers)
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": headers,
            "method": parser.get_method().decode("ascii"),
        }
        self.scope = scope  # type: ignore[assignment]
        asks_upgrade = parser.should_upgrade()
        self._upgrades = asks_upgrade and version != "1.0" and self._should_upgrade()
        if self._upgrades:
            return
        scope["path"], scope["raw_path"], scope["query_string"] = read_target(self.url)
        former: Any = self.cycle
        # the parser reads nothing behind a request for another protocol: it is the connection's last
        keep_alive = version != "1.0" and not asks_upgrade and parser.should_keep_alive()
        cycle = Cycle(self, scope, keep_alive, self.expect_100_continue)
        self.cycle = cycle  # type: ignore[assignment]
        if former is None or former.response_complete:
            self._begin(cycle)
        else:  # it waits for the answer to the request before it
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    def _begin(self, cycle: Any) -> None:
        cycle.task = task = self.loop.create_task(cycle.run(self.app))
        self.tasks.add(task)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, if its request was taken."""
        if not self._refused and not self._upgrades and not self.cycle.response_complete:
            self.cycle.take(body)  # type: ignore[attr-defined]

    def on_message_complete(self) -> None:
        """Wait for nothing more from the client."""
        self._stage = None
        if not self._refused and not self._upgrades and not self.cycle.response_complete:
            self.cycle.end()  # type: ignore[attr-defined]

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the WebSocket protocol."""
        self._stage = None
        self._stop()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        self.transport = self._bare
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop()
        self._patience.stop()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        self.connections.discard(self)
        cycle: Any = self.cycle
        if cycle is not None:
            cycle.disconnected = cycle.disconnected or not cycle.response_complete
            cycle.tell()
        self.flow.resume_writing()
        if exc is None:
            self.transport.close()
        self.parser = None  # type: ignore[assignment]  # it holds on to this

    def pause_writing(self) -> None:
        """Wait for a client that takes nothing, but not for ever."""
        self._patience.start(self.transport)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on: it takes what is sent."""
        self._patience.stop()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Begin the next request, or wait for one: with the timer that runs already."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._begin(self.pipeline.pop()[0])
        self.read_on()
        if not self._idle:
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._await_next(self.timeout_keep_alive)

    def read_on(self) -> None:
        """Read again, unless too many requests wait already: reading goes on faster than answering."""
        if not self.flow.read_paused or len(self.pipeline) > _MOST_WAITING:
            return
        if self._unread and not self.transport.is_closing():
            unread, self._unread = self._unread, b""
            self.data_received(unread)
        if len(self.pipeline) <= _MOST_WAITING:
            self.flow.resume_reading()

    def _await_next(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self._idle_too_long)

    def _idle_too_long(self) -> None:
        """Close a connection that was idle for the whole time; look again later at one that was not."""
        self.timeout_keep_alive_task = None
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if not self._idle or self._stage is not None:
            self._await_next(self.timeout_keep_alive)
        elif left > 0:
            self._await_next(left)
        else:
            self.transport.close()

    @property
    def _idle(self) -> bool:
        """True when no request is being answered."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _keep_time(self) -> None:
        """Give the stage that the request is in its time."""
        self._stop()
        self._timed = self._stage
        if self._stage is not None:
            head = self._stage is _HEAD
            seconds = self.settings.head_timeout_s if head else self.settings.body_timeout_s
            self._timer = self.loop.call_later(seconds, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.flow.read_paused:  # it is not the client who is slow
            self._keep_time()
        else:
            self._refuse(_TOO_SLOW)

    def _refuse(self, answer: bytes) -> None:
        """Answer, and close when the client does, or a little later (RFC 9112, 9.6): a connection that is
        closed while more comes in is reset, and the answer with it.
        """
        if self.transport.is_closing() or self._left_alone:
            return
        cycle: Any = self.cycle
        if self._idle or not cycle.response_started:
            self.transport.write(answer)
        self._deaf = self._left_alone = True
        self._stop()
        self.pipeline.clear()
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.tell()
        self.transport.write_eof()
        self.flow.resume_reading()  # into nothing
        self.loop.call_later(_LINGER_S, self.transport.close)


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """One WebSocket. Closing does not wait for a client that reads nothing: after a while it is cut off."""

    settings: ServerSettings

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._patience = _Patience(self.loop, self.settings.send_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._patience.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for a client that takes nothing, but not for ever."""
        self._patience.start(self.transport)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on: it takes what is sent."""
        self._patience.stop()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take bytes. The head came whole: what is no handshake by now (it has a body, say) never will be."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(_NO_HANDSHAKE)
            self.transport.close()

    def handle_ping(self) -> None:
        """Answer, unless the client takes no answers: they would pile up here."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_cont(self, event: Frame) -> None:
        """Take a piece of a message. Their bytes are bounded, but not how many are empty."""
        super().handle_cont(event)
        if len(self.frames) > _MOST_PIECES:
            self.frames = [b"".join(self.frames)]

    async def send(self, message: Any) -> None:
        """Send; a close goes out behind what waits, it does not wait itself."""
        if message["type"] == "websocket.close":
            self.writable.set()
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # refused as it should be: else uvicorn logs a fault of ours


class _Patience:
    """How long a client that takes nothing is waited for: twice the time after which it is told so."""

    def __init__(self, loop: asyncio.AbstractEventLoop, send_timeout_s: float) -> None:
        self._loop = loop
        self._seconds = 2 * send_timeout_s
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport) -> None:
        """Begin to wait, or go on waiting."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, transport.abort)

    def stop(self) -> None:
        """Wait no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bounded(settings: ServerSettings) -> tuple[type[BoundedProtocol], type[BoundedWebSocket]]:
    """Return the protocols for these settings: of HTTP, and of WebSockets."""
    members = {"settings": settings}
    return type("Http", (BoundedProtocol,), members), type("WebSocket", (BoundedWebSocket,), members)
