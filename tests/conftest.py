"""What tests of several folders share."""

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a fresh store, of each kind."""
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'store.db'}"


@pytest.fixture
def durable(tmp_path: Path) -> str:
    """The address of a fresh store that outlives its gateway."""
    return f"sqlite:{tmp_path / 'store.db'}"
