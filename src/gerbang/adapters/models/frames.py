"""Length-prefixed JSON between the runtime and a child process: four bytes, big-endian, then the text."""

import struct
from typing import IO, Any, Final

import msgspec

MAX_FRAME_BYTES: Final = 8_388_608
"""A longer frame means that the other side is not speaking this protocol."""
_HEAD: Final = struct.Struct(">I")


class FrameError(Exception):
    """The other side ended, or wrote something that is not a frame."""


def write_frame(stream: IO[bytes], value: Any) -> None:
    """Write one JSON value. Raises FrameError when the other side is gone or the value is too long."""
    body = msgspec.json.encode(value)
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"a message of {len(body)} bytes is more than the {MAX_FRAME_BYTES} allowed")
    try:
        stream.write(_HEAD.pack(len(body)) + body)
        stream.flush()
    except (OSError, ValueError) as error:  # ValueError: the pipe was closed on this side
        raise FrameError("the other side is gone") from error


def read_frame(stream: IO[bytes]) -> Any:
    """Read one JSON value. Raises FrameError at the end of the stream and for anything but a frame."""
    (size,) = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if size > MAX_FRAME_BYTES:
        raise FrameError(f"a message of {size} bytes is more than the {MAX_FRAME_BYTES} allowed")
    try:
        return msgspec.json.decode(_exactly(stream, size))
    except msgspec.DecodeError as error:
        raise FrameError("the message is not JSON") from error


def _exactly(stream: IO[bytes], size: int) -> bytes:
    try:
        data = stream.read(size)
    except (OSError, ValueError) as error:
        raise FrameError("the pipe broke") from error
    if len(data) != size:
        raise FrameError("the other side ended")
    return data
