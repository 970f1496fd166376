"""Lines from the keyboard while the event loop runs.

`input()` in a thread cannot be cancelled: after Ctrl-C the thread would still hold the keyboard and swallow
the next line. Here the loop watches the descriptor, so a cancelled question leaves nothing behind.
"""

import asyncio
import os
from typing import Final

_MAX_LINE_BYTES: Final = 65_536


async def read_line(descriptor: int) -> str | None:
    """Return the next line without its break, or None at the end of input.

    `descriptor` is that of a terminal in its usual line mode, so the kernel does the line editing.
    """
    loop = asyncio.get_running_loop()
    buffer = bytearray()
    while b"\n" not in buffer:
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(descriptor, _wake, ready)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)
        chunk = os.read(descriptor, _MAX_LINE_BYTES)
        buffer += chunk
        if not chunk or len(buffer) > _MAX_LINE_BYTES:
            break
    if not buffer:
        return None
    return bytes(buffer).split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")


def drop_typed_ahead(descriptor: int) -> None:
    """Forget what was typed before the question was shown: it cannot have been meant as its answer."""
    try:
        import termios  # not on every platform
    except ImportError:
        return
    try:
        termios.tcflush(descriptor, termios.TCIFLUSH)
    except termios.error:
        return  # not a terminal: nothing is typed ahead


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
