"""The body of an answer, read by what it is: the part that all wires share."""

from typing import Final

from gerbang.adapters.models.http import Answer, Wire
from gerbang.errors import ModelProtocol, ModelUnavailable

MAX_BODY_BYTES = 33_554_432
"""A whole (not streamed) answer larger than this is refused."""

_MARK: Final = b"\xef\xbb\xbf"


class Reading:
    """One answer being read. `what` names what it should be, for the errors."""

    what = "an answer"

    def __init__(self, answer: Answer, wire: Wire) -> None:
        self.over = False
        self._answer = answer
        self._wire = wire
        self._origin = wire.address.origin

    async def head(self) -> bytes:
        """Return the first bytes from the first that is not white.

        Raises ModelProtocol for an empty body or a page, ModelUnavailable for a connection that broke.
        """
        head = b""
        while not head or _MARK.startswith(head):  # a byte order mark may come in pieces
            chunk = await self._answer.chunk()
            if not chunk:
                break
            head = (head + chunk).lstrip()
            if head.startswith(_MARK):
                head = head[len(_MARK) :].lstrip()
        if head[:1] == b"<":
            raise self.protocol("an HTML page")
        if not head and self._answer.broken:
            raise ModelUnavailable(
                f"The model server at {self._origin} closed the connection before its answer."
            )
        if not head:
            raise self.protocol("an empty answer")
        return head

    async def whole(self, head: bytes) -> str:
        """Return the whole body as text. Raises ModelProtocol when it is too large or was cut off."""
        parts, size = [head], len(head)
        while chunk := await self._answer.chunk():
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise self.protocol(f"an answer of more than {MAX_BODY_BYTES:,} bytes")
        if self._answer.broken:
            raise ModelUnavailable(
                f"The model server at {self._origin} closed the connection within its answer."
            )
        return b"".join(parts).decode("utf-8", "replace")

    def protocol(self, sent: str) -> ModelProtocol:
        """Return the error for a server that sent something else."""
        return ModelProtocol(
            f"The model server at {self._origin} sent {sent} instead of {self.what}. Check the URL."
        )
