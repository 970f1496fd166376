"""A transport that sends all that is written in one turn of the loop at once: an answer's head and body.

It goes out behind the work of the turn. A client that is woken by its answer while requests of others are in
work takes caches and processor from them: that costs more than the callback here (docs/decisions/0009).
"""

import asyncio
from typing import Any


class Corked:
    """Stands before a transport. Writing costs one system call a turn instead of one a piece."""

    __slots__ = ("_flush_soon", "_held", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing  # asked at every request
        self._held: list[bytes] = []
        self._flush_soon = loop.call_soon

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write at the end of this turn."""
        held = self._held
        if not held:
            self._flush_soon(self.flush)
        held.append(data)

    def flush(self) -> None:
        """Write what is held."""
        held = self._held
        if held:
            self._held = []
            if self.is_closing():
                return
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def write_eof(self) -> None:
        """Write what is held, then say that nothing follows. What the other side sends is still read."""
        self.flush()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        """Write what is held, then close."""
        self.flush()
        self._transport.close()
