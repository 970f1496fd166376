"""A store that an earlier version wrote opens, keeps what it holds, and can do what is new."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from gerbang.adapters.stores.schema import MIGRATIONS, VERSION
from gerbang.audit.chain import verify
from gerbang.values.record import ApprovalRow, Batch, CallRow, Hold, RunRow

from .helpers import event, opened, run

HERE = Path(__file__).parent
RUN = RunRow("r1", "acme", "ana", "running", 1.5, 2.5, "Tanya «apa»?", "", "embedded:", "local", 3, 2)
CALL = CallRow("k1", "r1", "1", 0, "c1", "a.b.v1", "DISPATCHED", "f1", b'{"x":"\xc3\xa9"}')
APPROVAL = ApprovalRow(
    "ap1", "r1", "k1", "a.b.v1", "acme", "pending", "sha256:2", "Kirim?", b"{}", '["R"]', 1.0, 2.0
)


@pytest.fixture
def old(path: Path) -> Path:
    """A store as version 1 of the format left it."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript((HERE / "version1.sql").read_text("utf-8"))
    return path


def test_a_store_of_the_first_version(old: Path) -> None:
    async def work() -> None:
        for _ in range(2):  # the second time it is up to date
            async with opened(f"sqlite:{old}") as store:
                assert await store.run("r1") == RUN
                assert await store.calls("r1") == [CALL]
                assert await store.approvals(tenant="acme", state="pending") == [APPROVAL]
                assert await store.unfinished() == [RUN]
                assert [row.key for row in await store.uncertain()] == ["k2"]
                assert verify(await store.events("r1")) is None
                assert await store.kills() == []
        async with opened(f"sqlite:{old}") as store:
            outcome = await store.commit(Batch(events=[event()], hold=Hold("r1", "one", 60)))
            assert outcome.seq == 3
            assert outcome.held is not None
            assert verify(await store.events("r1")) is None

    run(work())
    with contextlib.closing(sqlite3.connect(old)) as database:
        query = "SELECT value FROM meta WHERE name = 'schema_version'"
        assert database.execute(query).fetchone() == (VERSION,)


def tables(path: Path) -> dict[str, str]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: " ".join(sql.split()) for name, sql in rows}


def test_a_migrated_store_is_like_a_new_one(old: Path, tmp_path: Path) -> None:
    async def work() -> None:
        for path in (old, tmp_path / "new.db"):
            async with opened(f"sqlite:{path}") as store:
                await store.commit(Batch(runs=[replace(RUN, run_id="r9")]))

    run(work())
    assert tables(old) == tables(tmp_path / "new.db")
    assert len(MIGRATIONS) == VERSION
