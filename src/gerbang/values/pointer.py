"""JSON Pointers (RFC 6901): writing one, taking one apart, following one."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

MISSING: Final = object()
"""What a pointer that leads nowhere leads to."""


def escaped(name: str) -> str:
    """Return a member's name as it is written in a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def pointer(path: Iterable[Any]) -> str:
    """Return the pointer of a path of names and indexes; `` for an empty one, the whole document."""
    return "".join("/" + escaped(str(part)) for part in path)


def steps(written: str) -> list[str]:
    """Return the names of a pointer. What stands before its first slash is not looked at."""
    return [part.replace("~1", "/").replace("~0", "~") for part in written.split("/")[1:]]


def at(document: Any, written: str) -> Any:
    """Return what a pointer leads to inside JSON values, MISSING when it leads nowhere."""
    for name in steps(written):
        if isinstance(document, Mapping) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return MISSING
    return document
