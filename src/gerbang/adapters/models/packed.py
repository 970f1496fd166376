"""Bodies that a server, or a proxy before it, compressed though it was asked for none of that.

At most PIECE bytes are unpacked at a time, so that a small answer never becomes a large one in memory; what
bounds answers bounds the rest.
"""

import zlib
from typing import Final

PIECE: Final = 262_144
_WINDOW: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class Unreadable(Exception):
    """The bytes are not what the server says they are."""


class Unpacker:
    """Unpacks one body. `put` takes bytes as they came, `piece` gives the next ones, if any."""

    def __init__(self, encoding: str) -> None:
        self._made = zlib.decompressobj(_WINDOW[encoding])
        self._left = b""

    def put(self, data: bytes) -> None:
        """Take bytes."""
        self._left += data

    def piece(self) -> bytes:
        """Return unpacked bytes. Raises Unreadable."""
        if self._made.eof:
            self._left = b""
        if not self._left:
            return b""
        try:
            out = self._made.decompress(self._left, PIECE)
        except zlib.error:
            raise Unreadable from None
        self._left = self._made.unconsumed_tail
        return out


def unpacker(encoding: str | None) -> Unpacker | None:
    """Return what unpacks a body of that `Content-Encoding`; None for a plain one. Raises Unreadable."""
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return None
    if name not in _WINDOW:
        raise Unreadable
    return Unpacker(name)
