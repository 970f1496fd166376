"""Other processes, a kill at any moment, a full disk."""

import asyncio
import contextlib
import signal
import sqlite3
from pathlib import Path

import pytest

from gerbang.audit.chain import verify
from gerbang.values.record import Batch

from .helpers import CHILD_S, all_events, child, event, opened, rest_of, run

HERE = Path(__file__).parent
WRITER = HERE / "child_writer.py"


def sound(path: Path, run_id: str) -> set[str]:
    """Return the keys in the store after checking that each batch is there as a whole."""

    async def work() -> set[str]:
        async with opened(f"sqlite:{path}") as store:
            calls = await store.calls(run_id)
            events = await all_events(store, run_id)
            row = await store.run(run_id)
            assert verify(events) is None
            assert row is None or row.events == len(events)
            assert [e.kind for e in events] == ["call.planned", "call.sent"] * len(calls)
            assert [e.body.decode() for e in events[::2]] == [c.key for c in calls]
            assert [e.body for e in events[::2]] == [e.body for e in events[1::2]]
            for found in calls:
                assert len(await store.answers(f"{run_id}.{found.key}")) == 1
            return {found.key for found in calls}

    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return run(work())


@pytest.mark.parametrize("acknowledged", [1, 7, 60])
@pytest.mark.parametrize("producers", [1, 16])
def test_a_killed_writer_has_lost_nothing_that_was_acknowledged(
    path: Path, acknowledged: int, producers: int
) -> None:
    writer = child(WRITER, str(path), "k", "r1", "0", str(producers))
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    keys = [writer.stdout.readline().strip() for _ in range(acknowledged)]
    writer.send_signal(signal.SIGKILL)
    rest = rest_of(writer)
    # The last line may be cut off by the kill; a key counts as acknowledged once its line is whole.
    keys += [line.strip() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    assert set(keys) <= sound(path, "r1")
    writer = child(WRITER, str(path), "again", "r1", "3", "1")
    assert writer.communicate(timeout=CHILD_S)[0].split() == ["ready", "again0", "again1", "again2"]
    assert {"again0", "again1", "again2", *keys} <= sound(path, "r1")


def test_two_processes_append_to_one_run(path: Path) -> None:
    writers = [child(WRITER, str(path), prefix, "r1", "60", "4") for prefix in "ab"]
    for writer in writers:
        _, trouble = writer.communicate(timeout=CHILD_S)
        assert (writer.returncode, trouble) == (0, "")
    assert sound(path, "r1") == {f"{prefix}{number}" for prefix in "ab" for number in range(60)}


def test_taking_turns_with_another_process_keeps_one_chain(path: Path) -> None:
    """What this process remembers of the chain's end is not used once another one has written."""

    async def work() -> None:
        async with opened(f"sqlite:{path}") as store, opened(f"sqlite:{path}") as other:
            for turn in range(1, 11):
                assert (await store.commit(Batch(events=[event()]))).seq == 2 * turn - 1
                assert (await other.commit(Batch(events=[event()]))).seq == 2 * turn
            assert verify(await store.events("r1")) is None

    run(work())


def test_eight_processes_create_the_store_at_once(path: Path) -> None:
    writers = [child(WRITER, str(path), prefix, "r1", "2", "1") for prefix in "abcdefgh"]
    for writer in writers:
        _, trouble = writer.communicate(timeout=CHILD_S)
        assert (writer.returncode, trouble) == (0, "")
    assert len(sound(path, "r1")) == 16


def test_a_reader_in_another_process_sees_whole_batches_while_one_writes(path: Path) -> None:
    async def work() -> None:
        writer = child(WRITER, str(path), "k", "r1", "0", "4")
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        lengths: list[int] = []
        try:
            async with opened(f"sqlite:{path}") as store:
                while len(lengths) < 20:
                    events = await all_events(store, "r1")
                    assert verify(events) is None
                    lengths.append(len(events))
                    writer.stdout.readline()
                    await asyncio.sleep(0)
        finally:
            writer.kill()
            writer.communicate(timeout=CHILD_S)
        assert lengths == sorted(lengths)
        assert lengths[-1] > lengths[0]
        assert all(length % 2 == 0 for length in lengths)

    run(work())


@pytest.mark.parametrize("side_by_side", [1, 5])
def test_a_full_disk_refuses_whole_batches_and_is_survived(path: Path, side_by_side: int) -> None:
    filler = child(HERE / "child_full.py", str(path), str(side_by_side))
    out, trouble = filler.communicate(timeout=CHILD_S)
    assert (filler.returncode, trouble) == (0, "")

    async def work() -> None:
        async with opened(f"sqlite:{path}") as store:
            events = await store.events("r1")
            assert verify(events) is None
            assert len(events) == 2 * int(out)
            assert len(await store.calls("r1")) == int(out)

    run(work())
