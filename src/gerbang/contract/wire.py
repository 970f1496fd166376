"""Tool names on the wire: `weather.get_current.v1` travels as `weather__get_current__v1`.

Model providers accept `[A-Za-z0-9_-]{1,64}`. A dot becomes two underscores; a name for which that is
not reversible, or too long, ends in a short digest of the canonical name instead. Two tools whose names
meet on the wire are refused when the catalogue is made, so the way back is always a look-up.
"""

import hashlib
import re
from functools import lru_cache
from typing import Final

from gerbang.errors import ContractError
from gerbang.limits import MAX_TOOL_NAME, WIRE_NAME_MAX

_CANONICAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9][A-Za-z0-9_-]*)*")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


def check_name(name: object, origin: str) -> None:
    """Raise ContractError unless `name` is dotted words of letters, digits, `_` and `-`."""
    if not isinstance(name, str) or len(name) > MAX_TOOL_NAME or not _CANONICAL.fullmatch(name):
        raise ContractError(
            f"{origin}: {str(name)[:80]!r} is not a tool name. Use dotted words of letters, digits, '_' and "
            f"'-', such as 'weather.get_current.v1', at most {MAX_TOOL_NAME} characters."
        )


@lru_cache(maxsize=16_384)
def wire_name(name: str) -> str:
    """Return the name in the letters and length that providers accept. Pure; the same for all time."""
    plain = _UNSAFE.sub("_", name.replace(".", "__"))
    if len(plain) <= WIRE_NAME_MAX and plain.replace("__", ".") == name:
        return plain
    if len(plain) <= WIRE_NAME_MAX and "." not in name and plain == name:
        return plain
    tail = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: WIRE_NAME_MAX - 9]}_{tail}"
