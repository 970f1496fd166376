"""The head of a GGUF file: is it one, and how long a context was its model trained for.

Layout from the GGUF specification of the ggml project: magic, version (u32), tensor count (u64), metadata
count (u64), then key, type and value for each entry, little-endian; strings are a u64 length and UTF-8.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO, Final

MAGIC: Final = b"GGUF"
_KEY: Final = ".context_length"
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MAX_ENTRIES: Final = 4_096
_MAX_STRING: Final = 65_536


class NotGguf(Exception):
    """The file is no GGUF file, or of a version that is not understood."""


def context_length(path: Path) -> int | None:
    """Return the trained context in tokens, or None when the head does not tell it near its beginning.

    Raises NotGguf, and OSError when the file cannot be read. Reading stops at the first array: the sizes
    stand before the vocabulary.
    """
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise NotGguf("it does not begin with the letters GGUF")
        try:
            version, _tensors, entries = struct.unpack("<IQQ", _exactly(file, 20))
            if version not in (2, 3):
                raise NotGguf(f"its version is {version}; 2 and 3 are known")
            for _entry in range(min(entries, _MAX_ENTRIES)):
                key = _string(file)
                (kind,) = struct.unpack("<I", _exactly(file, 4))
                if kind == _ARRAY:
                    return None
                value = _value(file, kind)
                if key.endswith(_KEY) and isinstance(value, int) and value > 0:
                    return value
        except (EOFError, struct.error):
            raise NotGguf("it ends within its head; the download may be incomplete") from None
    return None


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    code = _SCALARS.get(kind)
    if code is None:
        raise NotGguf(f"it holds a value of the unknown type {kind}")
    return struct.unpack(f"<{code}", _exactly(file, struct.calcsize(f"<{code}")))[0]


def _string(file: BinaryIO) -> str:
    """Return a string; of a long one, such as a chat template, only the beginning."""
    (size,) = struct.unpack("<Q", _exactly(file, 8))
    if size <= _MAX_STRING:
        return _exactly(file, size).decode("utf-8", "replace")
    text = _exactly(file, _MAX_STRING)
    file.seek(size - _MAX_STRING, 1)
    return text.decode("utf-8", "replace")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data
