"""Answers: one whole body, or a stream of server-sent events."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from gerbang.server.problems import MEDIA_TYPE, Problem

_ENCODER: Final = msgspec.json.Encoder()
_JSON: Final = b"application/json"
JsonLines = Iterable[tuple[bytes, bytes]]


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
    """Server-sent events. `frames` yields whole frames; it is closed when the client goes away."""

    __slots__ = ("_frames",)

    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send frames until there are no more. The server's send raises when the client has gone."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        async for frame in self._frames:
            await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


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
