"""Names of tools taken apart: `weather.get.v1` is version 1 of `weather.get`, in the group `weather`."""

from typing import NamedTuple


class Versioned(NamedTuple):
    """A tool's name without its version, and the version (None when it has none)."""

    base: str
    version: int | None


def versioned(name: str) -> Versioned:
    """Take the version off a canonical name. `.v1` is a version, `.v` and `.v01` are words."""
    base, dot, last = name.rpartition(".")
    digits = last[1:]
    if dot and last[:1] == "v" and digits.isascii() and digits.isdecimal() and digits == str(int(digits)):
        return Versioned(base, int(digits))
    return Versioned(name, None)


def group_of(name: str) -> str:
    """Return the capability that a name speaks of: all but its last word and version."""
    base = versioned(name).base
    return base.rpartition(".")[0] or base
