import os
import subprocess
import sys
from pathlib import Path

import pytest

from gerbang.adapters.stores import MemoryStore, open_store
from gerbang.errors import ConfigError

from .helpers import opened, run


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "`sqlite:PATH`"),
        ("memory", "`memory:`"),
        ("memory:x", "`memory:`"),
        ("gerbang.db", "'gerbang.db'"),
        ("sqlite", "`sqlite:PATH`"),
        ("sqlite:", "`sqlite:PATH`"),
        ("sqlite::memory:", "Write `memory:`"),
        ("sqlite://host/x.db", "`sqlite:PATH`"),
        ("sqlite:a\x00b", "`sqlite:PATH`"),
        ("SQLITE:x.db", "`sqlite:PATH`"),
        ("mysql://h/d", "'mysql://h/d'"),
        ("postgresql:ana:hunter2@h/d", "`postgresql://USER:PASSWORD@HOST/DATABASE`"),
        ("postgresql://ana:hunter2@h:port/d", "cannot be read"),
        ("postgresql://ana:hunter2@h/d?nothing=1", "cannot be read"),
        ("postgres://ana:hunter2@[h/d", "cannot be read"),
        ("redis://ana:hunter2@h/d", "redis:…"),
    ],
)
def test_an_address_that_is_not_known_says_what_to_write(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(url)
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_memory_is_a_new_store_each_time() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
    assert open_store("memory:") is not open_store("memory:")
    assert open_store("memory:").immediate


@pytest.mark.parametrize("name", ["plain.db", "with space.db", "q?mode=ro#x%20.db", "ünïcode.db", "a:b.db"])
def test_a_path_is_taken_to_the_letter(tmp_path: Path, name: str) -> None:
    async def work() -> None:
        async with opened(f"sqlite:{tmp_path / name}") as store:
            assert await store.runs() == []
            assert not store.immediate

    run(work())
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_relative_and_home_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(url: str) -> None:
        async with opened(url):
            os.chdir("/")  # a program that moves keeps its store

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    run(work("sqlite:here.db"))
    run(work("sqlite:~/home.db"))
    run(work(f"sqlite:///{tmp_path}/slashes.db"))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["here.db", "home.db", "slashes.db"]


def test_the_database_driver_is_loaded_by_the_first_address_that_needs_it() -> None:
    program = (
        "import sys; from gerbang.adapters.stores import open_store; open_store('memory:');"
        "before = 'sqlite3' in sys.modules; open_store('sqlite:x.db');"
        "print(before, 'sqlite3' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "True"]
