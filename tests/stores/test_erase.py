"""Taking a run's payloads away: what goes, what stays, and that the chain stays whole. On every store."""

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gerbang.audit.chain import PENDING, core, detailed, verify
from gerbang.audit.commitments import Commitments
from gerbang.values.event import NewEvent
from gerbang.values.record import ERASED, AnswerRow, Batch, CallRow, Erase, EventRow, RunRow

from .helpers import a_run, all_events, approval, call, event, opened, run

SALT: Final = bytes(range(32))
MARKS: Final = Commitments(SALT)
WORD: Final = b"pelangi"


def a_body(n: int) -> bytes:
    word = 'pelangi \\",\\"detail_hash\\":\\"x'
    text = '{"run_id":"r1","n":%d,"salt_id":"x","detail_hash":"%s","input_redacted":"' + word + '"}'
    return detailed((text % (n, PENDING)).encode(), MARKS)


def rows() -> Batch:
    mine = RunRow("r1", "acme", "ana", "completed", 1.0, 2.0, "pelangi?", "pelangi!", salt=SALT)
    full = CallRow(
        "k1", "r1", "1", 0, "c1", "a.b.v1", "SUCCEEDED", "f1", b'{"x":"pelangi"}', 1, b'"pelangi"', "pelangi"
    )
    return Batch(
        [mine, a_run("r2", started_at=0.5)],
        [AnswerRow("r1", 0, WORD), AnswerRow("r2", 0, b"{}")],
        [full, call("k2", "PLANNED", run_id="r2"), call("k3", "FAILED")],
        approvals=[
            replace(approval("a1", "used"), votes='[{"before":"pelangi"}]'),
            approval("a2", run_id="r2"),
        ],
        events=[NewEvent("r1", "call.dispatched", a_body(n)) for n in range(3)] + [event("r2")],
    )


def test_payloads_go_and_the_chain_stays(url: str) -> None:
    async def work() -> tuple[list[EventRow], list[EventRow]]:
        async with opened(url) as store:
            await store.commit(rows())
            before = await all_events(store, "r1")
            assert verify(before, None, MARKS) is None
            assert all(WORD in row.body for row in before)
            done = Batch(events=[NewEvent("r1", "run.erased", b"{}")], erases=(Erase("r1", b'!"gone"'),))
            assert (await store.commit(done)).seq == 4
            mine = await store.run("r1")
            assert mine is not None
            assert (mine.prompt, mine.answer, mine.salt, mine.user) == ("", "", ERASED, "ana")
            assert await store.answers("r1") == []
            assert len(await store.answers("r2")) == 1
            first, last = await store.calls("r1")
            assert (first.arguments, first.result, first.for_model) == (b"{}", b'!"gone"', "")
            assert (first.state, first.fingerprint, last.result) == ("SUCCEEDED", "", b"")
            held = await store.approval("a1")
            other = await store.approval("a2")
            assert held is not None
            assert other is not None
            assert (held.preview, held.arguments, other.preview) == ("", b"{}", "Send it?")
            assert "pelangi" not in str(held)
            await store.commit(Batch([RunRow("r1", "acme", "ana", "completed", 1.0, 3.0, salt=SALT)]))
            again = await store.run("r1")
            assert again is not None
            assert again.salt == ERASED
            return before, await all_events(store, "r1")

    before, after = run(work())
    assert [row.body for row in after[:3]] == [core(row.body) for row in before]
    assert [row.digest for row in after[:3]] == [row.digest for row in before]
    assert verify(after) is None
    assert verify(after, None, MARKS) is None
    assert not any(WORD in row.body for row in after)


def test_nothing_of_it_is_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        async with opened(f"sqlite:{path}") as store:
            await store.commit(rows())
            await store.commit(Batch(erases=(Erase("r1", b"!"),)))

    run(work())
    assert [name.name for name in tmp_path.iterdir()] == ["store.db"]
    assert WORD not in path.read_bytes()


def test_heads_and_old_runs_come_in_pages(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            for n in range(5):
                await store.commit(
                    Batch(
                        [a_run(f"r{n}", "completed", started_at=float(n))],
                        events=[event(f"r{n}")] * (n + 1),
                    )
                )
            found = await store.heads(limit=3)
            found += await store.heads(after=found[-1].place, limit=3)
            assert [(head.run_id, head.seq) for head in found] == [(f"r{n}", n + 1) for n in range(5)]
            assert await store.heads(after=found[-1].place) == []
            for head in found:
                assert (await all_events(store, head.run_id))[-1].digest == head.digest
            assert [row.run_id for row in await store.old_runs(3.0, limit=2)] == ["r0", "r1"]
            assert [row.run_id for row in await store.old_runs(3.0, after="r1")] == ["r2"]
            await store.commit(Batch(erases=(Erase("r0", b"!"),)))
            assert [row.run_id for row in await store.old_runs(3.0)] == ["r1", "r2"]

    run(work())
