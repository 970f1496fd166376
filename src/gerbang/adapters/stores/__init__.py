"""Stores: a SQLite file, a PostgreSQL database, or memory for as long as the process lives. One set of rules.

A database driver is imported by the first address that needs it, not by importing this package.
"""

from typing import Final

from gerbang.adapters.extras import install_line
from gerbang.adapters.stores.memory import MemoryStore
from gerbang.adapters.stores.shown import shown_address
from gerbang.errors import ConfigError
from gerbang.limits import MAX_CODE_TEXT
from gerbang.ports import Clock, Store

__all__ = ["MemoryStore", "open_store", "sealed_by", "shown_address"]

_HOW: Final = (
    "Write `sqlite:PATH`, such as `sqlite:gerbang.db`, "
    "`postgresql://USER:PASSWORD@HOST/DATABASE`, or `memory:`."
)


def open_store(url: str, clock: Clock | None = None, seal: str | None = None) -> Store:
    """Return the store at an address, not yet opened.

    `seal` is where the keys are that its working state is sealed with: `file:PATH`.

    `memory:`, `sqlite:PATH` (`~` is the home folder), or `postgresql://…` with the parameters of libpq.
    Leases and limits go by `clock`, the machine's when None; on PostgreSQL by the server's.

    Raises ConfigError for anything else, with what to write instead.
    """
    if seal is not None:
        return sealed_by(_opened(url, clock), seal)
    return _opened(url, clock)


def sealed_by(store: Store, seal: str) -> Store:
    """Return a store in front of which values are sealed with the keys at an address. Raises ConfigError."""
    from gerbang.adapters.stores.seal_keys import open_sealer
    from gerbang.adapters.stores.sealed import SealedStore

    return SealedStore(store, open_sealer(seal))


def _opened(url: str, clock: Clock | None) -> Store:
    if url == "memory:":
        return MemoryStore(clock)
    scheme, colon, path = url.partition(":")
    if colon and scheme == "sqlite":
        if path == ":memory:":
            raise ConfigError("The store `sqlite::memory:` would not be durable. Write `memory:`.")
        if path and "\x00" not in path and (not path.startswith("//") or path.startswith("///")):
            from gerbang.adapters.stores.sqlite import SqliteStore

            return SqliteStore(path, clock=clock)
    if scheme in ("postgres", "postgresql") and path.startswith("//"):
        return _postgres(url)
    shown = repr(url[:MAX_CODE_TEXT]) if "@" not in url else f"{scheme[:20]}:…"
    raise ConfigError(f"The store address {shown} is not known. {_HOW}")


def _postgres(url: str) -> Store:
    try:
        from gerbang.adapters.stores.postgres import PostgresStore
    except ImportError as fault:
        raise ConfigError(
            f"PostgreSQL stores need the driver psycopg. Install it with: {install_line('postgres')}"
        ) from fault
    return PostgresStore(url)
