"""Secrets in base64 or hexadecimal that was encoded a second time.

These are many writings, so they are looked for in long runs of code only, which most texts do not have.
"""

import string
from typing import Final

from gerbang.audit.writings import twice

_CODE: Final = frozenset((string.ascii_letters + string.digits + "+/_-").encode())
_TABLE: Final = bytes(ord("c") if byte in _CODE else ord(" ") for byte in range(256))
_RUN: Final = b"c" * 24
"""The shortest run that is looked into: what a secret of 16 characters comes to at least."""


def masked(text: str, values: tuple[str, ...], mask: str) -> str:
    """Return the text with the secrets masked where they were encoded twice. Linear in the text."""
    if len(text) < len(_RUN):
        return text
    data = text.encode("utf-8", "surrogatepass")
    runs = data.translate(_TABLE)
    at = runs.find(_RUN)
    pattern = None if at < 0 else twice(values)
    if pattern is None:
        return text
    out: list[bytes] = []
    done = 0
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        for found in pattern.finditer(data[at:end].decode("ascii")):
            out += (data[done : at + found.start()], mask.encode())
            done = at + found.end()
        at = runs.find(_RUN, end)
    return b"".join([*out, data[done:]]).decode("utf-8", "surrogatepass") if out else text
