"""Bytes to lines, whatever the cut: LF, CRLF or CR, bounded, each byte looked at once."""

from typing import Final

MAX_LINE_BYTES: Final = 8_388_608
"""A longer line is not a model's answer. Arguments of the largest call allowed fit many times."""


class LineTooLong(Exception):
    """More than MAX_LINE_BYTES without a line end."""


class Lines:
    """Collects chunks and gives the complete lines, decoded. Bad UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that `chunk` completes, without their ends. Raises LineTooLong."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        lines: list[str] = []
        for piece in chunk.splitlines(keepends=True):
            if piece.endswith((b"\n", b"\r")):
                lines.append(self._take(piece.rstrip(b"\r\n")))
            else:
                self._keep(piece)
        return lines

    def finish(self) -> list[str]:
        """Return the last line when it had no end."""
        return [self._take(b"")] if self._parts else []

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_LINE_BYTES:
            raise LineTooLong
        self._parts.append(piece)

    def _take(self, piece: bytes) -> str:
        if self._parts:
            self._keep(piece)
            piece = b"".join(self._parts)
            self._parts, self._size = [], 0
        elif len(piece) > MAX_LINE_BYTES:
            raise LineTooLong
        return piece.decode("utf-8", "replace")
