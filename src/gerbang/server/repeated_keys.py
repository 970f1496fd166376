"""Keys that stand twice in one JSON object: a proxy in front may read the other one than we do."""

import re
from typing import Any, Final

import msgspec

_TEXTS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


_KEYS: Final = re.compile(rb'"(?:([^"]*+)"[ \t\r\n]*+:|[^"]*+")')
"""A text without escapes; the group holds what it says if a colon stands behind it, as behind keys only."""


def has_repeated_keys(body: bytes) -> bool:
    """Tell whether an object in the body, which is valid JSON, has a key twice. Linear.

    Outside of texts a colon stands behind each key, and nowhere else; what was decoded has each key once.
    Most bodies have no key twice in all of them, whichever object it is in: that is seen at less cost.
    """
    if b"\\" not in body and b'""' not in body:
        keys = [*filter(None, _KEYS.findall(body))]
        if len(keys) == len(set(keys)):
            return False
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
