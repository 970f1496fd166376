"""Keys that stand twice in one JSON object: a proxy in front may read the other one than we do."""

import re
from typing import Any, Final

import msgspec

_TEXTS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def has_repeated_keys(body: bytes) -> bool:
    """Tell whether an object in the body, which is valid JSON, has a key twice. Linear.

    Outside of texts a colon stands behind each key, and nowhere else; what was decoded has each key once.
    """
    colons = _TEXTS.sub(b"", body).count(b":")
    return colons > 1 and colons != _keys(msgspec.json.decode(body))


def _keys(value: Any) -> int:
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            count += len(item)
            stack.extend(item.values())
        elif type(item) is list:
            stack.extend(item)
    return count
