"""The HTTP connection with bounds of its own: how many there are, and how long a request may take to come.

uvicorn bounds neither the size of headers nor the time in which they arrive; a client that sends one byte a
minute would hold its connection for ever.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gerbang.server.settings import ServerSettings

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\ncontent-length: 0\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Use a subclass made by `bounded` for the settings."""

    settings: ServerSettings

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or send it away when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.settings.max_connections:
            self._refuse(_FULL)
            return
        self._begin_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes. Headers that are too long end the connection."""
        if self.transport.is_closing():
            return
        if self._timer is None and self._idle:
            self._begin_head()  # the first bytes of a further request
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.settings.max_headers and self.parser is not None:
            self._refuse(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Go on with the body; it has a time of its own."""
        self._in_head = False
        self._wait(self.settings.body_timeout_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for nothing more from the client."""
        self._stop()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the WebSocket protocol."""
        self._stop()
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop()
        super().connection_lost(exc)

    @property
    def _idle(self) -> bool:
        """True when no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _begin_head(self) -> None:
        self._in_head, self._head_bytes = True, 0
        self._wait(self.settings.head_timeout_s)

    def _wait(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        self._refuse(_TOO_SLOW)

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            if self._idle or not self.cycle.response_started:
                self.transport.write(answer)
            self.transport.close()


def bounded(settings: ServerSettings) -> type[BoundedProtocol]:
    """Return the protocol for these settings."""
    return type("Bounded", (BoundedProtocol,), {"settings": settings})
