"""WAVE files of speech: lengths put right, several made one.

A file is `RIFF`, its length, `WAVE`, then chunks: `fmt ` and `data` here, each a name, a length (32 bits,
little endian) and so many bytes.
"""

import struct
from typing import Final

_HEAD: Final = 44
_RATE_AT: Final = 24


def whole_wave(sound: bytes) -> bytes | None:
    """Return a WAVE file with the lengths that it has; None when there is no sound in it."""
    if len(sound) <= _HEAD or sound[:4] != b"RIFF" or sound[8:16] != b"WAVEfmt " or sound[36:40] != b"data":
        return None
    data = sound[_HEAD:]
    data = data[: len(data) & ~1]
    return b"".join(
        (b"RIFF", struct.pack("<I", 36 + len(data)), sound[8:40], struct.pack("<I", len(data)), data)
    )


def sample_rate(wave: bytes) -> int:
    """Return how many samples a second a whole file has."""
    (found,) = struct.unpack_from("<I", wave, _RATE_AT)
    return int(found)


def joined(waves: list[bytes]) -> bytes:
    """Return whole files of the same voice as one, in their order. Raises ValueError when there is none."""
    if not waves:
        raise ValueError("there is no sound")
    together = whole_wave(waves[0] + b"".join(wave[_HEAD:] for wave in waves[1:]))
    if together is None:
        raise ValueError("there is no sound")
    return together
