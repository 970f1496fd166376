import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .server import Server, new_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = new_server()
    yield running
    running.stop()
    shutil.rmtree(running.folder.parent, ignore_errors=True)


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """The address of an empty store, or of a database in which there is none yet."""
    name = server.store()
    yield server.address(name)
    server.give_back(name)


@pytest.fixture
def bare_database(server: Server) -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = server.new_database()
    yield server.address(name)
    server.drop_database(name)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("database"))
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'store.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that several processes use."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("database"))
    return f"sqlite:{tmp_path / 'store.db'}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"
