import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.server import Server, new_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = new_server()
    yield running
    running.stop()
    shutil.rmtree(running.folder.parent, ignore_errors=True)


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """The address of an empty store in PostgreSQL."""
    name = server.store()
    yield server.address(name)
    server.give_back(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that several processes use."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("database"))
    return f"sqlite:{tmp_path / 'store.db'}"
