"""Stores: durable in a SQLite file, or in memory for as long as the process lives. One set of rules.

The database driver is imported by the first `sqlite:` address, not by importing this package.
"""

from typing import Final

from gerbang.adapters.stores.memory import MemoryStore
from gerbang.errors import ConfigError
from gerbang.limits import MAX_CODE_TEXT
from gerbang.ports import Clock, Store

__all__ = ["MemoryStore", "open_store"]

_HOW: Final = "Write `sqlite:PATH`, such as `sqlite:gerbang.db`, or `memory:`."


def open_store(url: str, clock: Clock | None = None) -> Store:
    """Return the store at an address, not yet opened: `memory:` or `sqlite:PATH` (`~` is the home folder).

    Leases and limits go by `clock`, the machine's when None.

    Raises ConfigError for anything else, with what to write instead.
    """
    if url == "memory:":
        return MemoryStore(clock)
    scheme, colon, path = url.partition(":")
    if colon and scheme == "sqlite":
        if path == ":memory:":
            raise ConfigError("The store `sqlite::memory:` would not be durable. Write `memory:`.")
        if path and "\x00" not in path and (not path.startswith("//") or path.startswith("///")):
            from gerbang.adapters.stores.sqlite import SqliteStore

            return SqliteStore(path, clock=clock)
    if colon and scheme in ("postgres", "postgresql"):
        # Such an address often holds a password: it is not repeated.
        raise ConfigError(f"PostgreSQL stores are not part of this version. {_HOW}")
    shown = repr(url[:MAX_CODE_TEXT]) if "@" not in url else f"{scheme[:20]}:…"
    raise ConfigError(f"The store address {shown} is not known. {_HOW}")
