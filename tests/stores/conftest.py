from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'store.db'}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"
