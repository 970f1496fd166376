"""A store that cannot take a record: the caller is told, and nothing is executed without one."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.stores import open_store
from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.errors import StoreBusy, StoreTooNew, StoreUnavailable
from gerbang.testing import ScriptedModel
from gerbang.values.record import Batch, Committed
from tests.crash.test_crash import HERE, ROOT, effects_of, examine, start
from tests.runtime.street import ALLOW_ALL, Effects, run, toolbox

SCRIPT: list[Any] = [
    [("docs.read.v1", {"name": "a"})],
    [("docs.read.v1", {"name": "b"}), ("docs.write.v1", {"name": "c"}), ("docs.write.v1", {"name": "d"})],
    "Done.",
]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, str(HERE / "child_locker.py"), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            child.communicate()


def test_locked_by_another_process(tmp_path: Path) -> None:
    effects = Effects()
    path = tmp_path / "store.db"
    store = SqliteStore(path, busy_timeout_s=0.1)

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=store, policy=ALLOW_ALL) as gate:
            with locked(path):
                for attempt in (
                    g.Agent(ScriptedModel(SCRIPT), gate).run("x"),
                    gate.call("docs.read.v1", {"name": "x"}),
                    gate.call("docs.write.v1", {"name": "x"}, run_id="r"),
                    gate.call_many([("docs.read.v1", {"name": "x"})] * 3, run_id="q"),
                ):
                    with pytest.raises(StoreBusy) as caught:
                        await attempt
                    assert "another process" in str(caught.value).lower()
                assert effects.log == []
            assert (await g.Agent(ScriptedModel(SCRIPT), gate).run("x")).status == "completed"
            assert (await gate.call("docs.write.v1", {"name": "x"}, run_id="r")).status == "ok"
            assert await gate.store.run("r") is not None

    run(work())
    assert effects.count("+x") == 1


def test_a_short_lock_is_waited_for(tmp_path: Path) -> None:
    effects = Effects()
    path = tmp_path / "store.db"

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=f"sqlite:{path}", policy=ALLOW_ALL) as gate:
            with locked(path):
                task = asyncio.create_task(g.Agent(ScriptedModel(SCRIPT), gate).run("x"))
                await asyncio.sleep(0.1)
                assert effects.log == []
            assert (await task).status == "completed"

    run(work())


@pytest.mark.parametrize("side_by_side", [1, 10])
def test_full_in_the_middle_of_runs(side_by_side: int, tmp_path: Path) -> None:
    store, notes = tmp_path / "store.db", tmp_path / "effects.txt"
    with start("child_full.py", str(store), str(notes), str(side_by_side)) as child:
        out, err = child.communicate(timeout=60)
    assert (out, err) == ("completed\n", "")
    states = run(examine(f"sqlite:{store}", effects_of(notes)))
    assert states["run completed"] >= 1


def test_read_only() -> None:
    """In a child, as another user when the tests run as root, for whom nothing is read-only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"

        async def make() -> None:
            async with g.Gateway(store=f"sqlite:{path}"):
                pass

        run(make())
        path.chmod(0o444)
        path.parent.chmod(0o755)
        with start("child_reader.py", str(path)) as child:
            out, err = child.communicate(timeout=30)
    assert err == ""
    assert out.startswith("StoreUnavailable 0 "), out
    assert "Traceback" not in out


def test_written_by_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        async with g.Gateway(store=f"sqlite:{path}"):
            pass
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE meta SET value = 999 WHERE name = 'schema_version'")
        before = path.read_bytes()
        gate = g.Gateway(store=f"sqlite:{path}")
        with pytest.raises(StoreTooNew, match="newer"):
            await gate.__aenter__()
        with pytest.raises(g.UsageError, match="not open"):
            await gate.call("x.v1", {})
        await gate.aclose()
        assert path.read_bytes() == before

    run(work())


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(StoreUnavailable):
            await g.Gateway(store=f"sqlite:{tmp_path / 'no' / 'such' / 'store.db'}").__aenter__()

    run(work())


class Failing:
    """A real store whose n-th commit, and every later one, is refused: as with a disk that went away."""

    def __init__(self, url: str, at: int) -> None:
        self.inner = open_store(url)
        self.at = at
        self.commits = 0
        self.immediate = self.inner.immediate

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, batch: Batch) -> Committed:
        self.commits += 1
        if self.commits > self.at:
            raise StoreUnavailable("The disk went away.")
        return await self.inner.commit(batch)


def test_the_store_fails_at_any_commit(url: str, tmp_path: Path) -> None:
    """One run for each commit that may fail: what ran has its record, and the caller is told."""

    async def work(at: int) -> bool:
        effects = Effects()
        store: Any = Failing(url if url == "memory:" else f"sqlite:{tmp_path / str(at)}.db", at)
        async with g.Gateway(
            tools=toolbox(effects), store=store, policy=ALLOW_ALL, approver=lambda request: True
        ) as gate:
            script: list[Any] = [*SCRIPT[:2], [("bank.transfer.v1", {"invoice": "7", "amount": 1})], "Done."]
            agent = g.Agent(ScriptedModel(script), gate)
            try:
                result = await agent.run("x")
            except StoreUnavailable:
                pass
            else:
                assert (result.status, store.commits) == ("completed", at)
                return False
            rows = [row for found in await gate.store.runs() for row in await gate.store.calls(found.run_id)]
            recorded = " ".join(row.arguments.decode() for row in rows if row.state != "PLANNED")
            for entry in effects.log:
                name = entry.lstrip("+-").removeprefix("paid ").split()[0]
                assert f'"{name}"' in recorded, "an effect without its record"
        return True

    at = 0
    while run(work(at)):
        at += 1
    assert at >= 5
