"""Answers: one whole body, or a stream of server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from gerbang.server.problems import MEDIA_TYPE, Problem

_ENCODER: Final = msgspec.json.Encoder()
_JSON: Final = b"application/json"


class Reply:
    """An answer with one body. Smaller and quicker than a general response."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        body: bytes,
        status: int = 200,
        content_type: bytes = _JSON,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.body = body
        self.status = status
        self.content_type = content_type
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. The answer to HEAD has no body."""
        body = self.body
        headers = [
            (b"content-type", self.content_type),
            (b"content-length", str(len(body)).encode()),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


class EventStream:
    """Server-sent events. `frames` yields whole frames; it is closed when the client goes away.

    A client that takes nothing for `timeout_s` seconds is left alone: it may come back with its last id.
    """

    __slots__ = ("_frames", "_timeout_s")

    def __init__(self, frames: AsyncGenerator[bytes], timeout_s: float) -> None:
        self._frames = frames
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send frames until there are no more, or the client has gone."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.wait((sending, leaving))
        if not sending.cancelled() and not isinstance(sending.exception(), TimeoutError):
            sending.result()  # what went wrong inside is told as always

    async def _send(self, send: Send) -> None:
        async with contextlib.aclosing(self._frames):
            async for frame in self._frames:
                async with asyncio.timeout(self._timeout_s):
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def json_reply(value: Any, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Reply:
    """Return a value as JSON."""
    return Reply(_ENCODER.encode(value), status, _JSON, headers)


def problem_reply(problem: Problem) -> Reply:
    """Return a problem as its document."""
    headers = tuple((name.encode(), value.encode("latin-1", "replace")) for name, value in problem.headers)
    return Reply(_ENCODER.encode(problem.document()), problem.status, MEDIA_TYPE.encode(), headers)


def frame(event: str, data: bytes, seq: int | None = None) -> bytes:
    """Return one server-sent event. `data` is JSON on one line; `seq` becomes its id."""
    head = b"" if seq is None else b"id: %d\n" % seq
    return head + b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
