"""Answers that have no body: what a server sends behind their head is dropped."""

import asyncio
from typing import Final

from aiohttp.client_proto import ResponseHandler

_NO_BODY: Final = (b"204", b"304")
_STATUS: Final = slice(9, 12)  # of "HTTP/1.1 204 No Content"


class BodilessAnswers(asyncio.Protocol):
    """Stands before the HTTP parser for one request, and ends the answer where HTTP says that it ends.

    RFC 9112, 6.3: the answer to HEAD, and one with status 204 or 304, ends with its head, whatever length it
    names. Servers that write a body all the same are common. To the parser their bytes are either an error
    in an answer that came whole, or the beginning of the answer to the connection's next request.
    """

    def __init__(self, parser: ResponseHandler, head_only: bool) -> None:
        self._parser = parser
        self._head_only = head_only
        self._first = b""
        self._last = b""
        self._headed = False
        self._ended = False

    def data_received(self, data: bytes) -> None:
        """Hand on what belongs to the answer."""
        while data and not self._ended:
            size = len(data) if self._headed else self._of_head(data)
            part, data = data[:size], data[size:]
            self._parser.data_received(part)

    def eof_received(self) -> None:
        """Hand on that the server sends no more."""
        self._parser.eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Hand on that the connection is gone."""
        self._parser.connection_lost(exc)

    def pause_writing(self) -> None:
        """Hand on that the connection takes nothing for now."""
        self._parser.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that the connection takes more."""
        self._parser.resume_writing()

    def _of_head(self, data: bytes) -> int:
        """Return how many of the bytes belong to the head, and note what follows it."""
        self._first += data[: _STATUS.stop - len(self._first)]
        text = self._last + data
        ends = [at + len(mark) for mark in (b"\n\r\n", b"\n\n") if (at := text.find(mark)) >= 0]
        if not ends:
            self._last = text[-2:]
            return len(data)
        size, status = min(ends) - len(self._last), self._first[_STATUS]
        if status[:1] == b"1" and status != b"101":  # an interim answer: the head of the real one follows
            self._first = self._last = b""
        elif self._head_only or status in _NO_BODY:
            self._ended = True
            self._parser.force_close()
        else:
            self._headed = True
        return size
