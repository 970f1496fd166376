"""A real `gerbang serve` for the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.server.running import Server, started


@pytest.fixture(scope="session")
def plain() -> Iterator[Server]:
    """A server without keys and without a model; records in memory."""
    with started("--model", "none", "--store", "memory:") as server:
        yield server
