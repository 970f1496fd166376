"""The address of a PostgreSQL store, and connections to it."""

import logging
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from gerbang.errors import ConfigError

Connection = psycopg.Connection[tuple[Any, ...]]

# The driver logs what follows from an error that it raises as well: noise for a program without logging.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_CONNECT_S: Final = 5
_STUCK_S: Final = 5
_LOCK_S: Final = 10

_SETTINGS: Final = (
    "SELECT set_config('client_encoding', 'UTF8', false)",
    # A process that is stopped in the middle of a commit must not keep the others waiting.
    f"SELECT set_config('idle_in_transaction_session_timeout', '{_STUCK_S}s', false)",
    # In the middle of a pipeline as well, which only PostgreSQL 17 and newer ones can see.
    "SELECT set_config(name, '6s', false) FROM pg_settings WHERE name = 'transaction_timeout'",
    # Longer than both, so that who waits gets what they held.
    f"SELECT set_config('lock_timeout', '{_LOCK_S}s', false)",
    # What was acknowledged is on disk: a server that is set to promise less is asked for more.
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') IN ('off', 'local')",
)


class Address:
    """Where a store is. `shown` may be shown to anybody: it holds no password and no options."""

    def __init__(self, url: str) -> None:
        try:
            parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            raise _unreadable() from None  # the driver's text would repeat the address, and its password
        if not all(port.isdigit() for port in str(parts.get("port") or 0).split(",")):
            raise _unreadable()
        self._url = url
        self.password = str(parts.get("password") or "")
        defaults: dict[str, Any] = {
            "connect_timeout": _CONNECT_S,
            "application_name": "gerbang",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
        }
        self._more = {name: value for name, value in defaults.items() if name not in parts}
        user, host, port = (str(parts.get(name) or "") for name in ("user", "host", "port"))
        at = f"{user}@" if user else ""
        place = f"{at}{host}" + (f":{port}" if port else "")
        self.shown = f"the store postgresql://{place}/{parts.get('dbname') or ''}"

    def connect(self, *, read_only: bool = False) -> Connection:
        """Return a new connection on which each statement is its own transaction. Raises psycopg.Error."""
        connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=2, **self._more)
        try:
            for statement in _SETTINGS:
                connection.execute(statement)
            if read_only:
                connection.execute("SELECT set_config('default_transaction_read_only', 'on', false)")
        except BaseException:
            connection.close()
            raise
        return connection


def _unreadable() -> ConfigError:
    return ConfigError(
        "The PostgreSQL address cannot be read. Write `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, with "
        "special characters of a password percent-encoded."
    )
