"""Several calls in one answer: reads side by side, the others in order, nobody hides a sibling."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import gerbang as g
from gerbang.errors import StoreError
from tests.runtime.street import ALLOW_ALL, Effects, code, endings, run, toolbox

Calls = Sequence[tuple[str, dict[str, Any] | str]]


def read(name: str, turns: int = 1) -> tuple[str, dict[str, Any]]:
    return "docs.read.v1", {"name": name, "turns": turns}


def write(name: str, turns: int = 1) -> tuple[str, dict[str, Any]]:
    return "docs.write.v1", {"name": name, "turns": turns}


async def many(gate: g.Gateway, calls: Calls, **options: Any) -> list[g.Result]:
    return await gate.call_many(calls, run_id="r", step_id=1, **options)


def test_reads_overlap_and_answer_in_order(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            calls = [read(f"d{number}", turns=40 - 4 * number) for number in range(10)]
            results = await many(gate, calls)
            assert [result.value for result in results] == [f"text of d{number}" for number in range(10)]
            assert set((await endings(gate.store, "r")).values()) == {1}

    run(work())
    assert effects.most > 1
    if url == "memory:":
        assert effects.most == 10


def test_reads_are_bounded() -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects)) as gate:
            results = await many(gate, [read(f"d{n}", turns=5) for n in range(20)], max_parallel=3)
            assert [result.status for result in results] == ["ok"] * 20

    run(work())
    assert effects.most == 3


def test_barriers_run_in_answer_order(url: str) -> None:
    effects = Effects()
    calls = [
        read("a", 9),
        read("b", 3),
        write("w1", 5),
        read("c", 4),
        read("d", 4),
        write("w2"),
        write("w3", 4),
        read("e"),
    ]

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL) as gate:
            results = await many(gate, calls)
            assert [result.status for result in results] == ["ok"] * 8

    run(work())
    log = effects.log
    assert sorted(log[:4]) == ["+a", "+b", "-a", "-b"]
    assert log[4:6] == ["+w1", "-w1"]
    assert sorted(log[6:10]) == ["+c", "+d", "-c", "-d"]
    assert log[10:] == ["+w2", "-w2", "+w3", "-w3", "+e", "-e"]


def test_one_failure_hides_no_sibling(url: str) -> None:
    effects = Effects()
    calls: Calls = [
        read("a"),
        ("sums.crash.v1", {}),
        ("rm_rf", {"path": "/"}),
        ("docs.read.v1", '{"name": "x'),
        ("docs.read.v1", {}),
        write("w"),
        ("sums.add.v1", {"a": 1, "b": 2}),
    ]

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL) as gate:
            results = await many(gate, calls)
            assert [code(result) for result in results] == [
                "ok",
                "INTERNAL",
                "TOOL_UNKNOWN",
                "CALL_NOT_JSON",
                "MISSING_FIELD",
                "ok",
                "ok",
            ]
            assert await endings(gate.store, "r") == {result.call_id: 1 for result in results}

    run(work())
    assert "+w" in effects.log


def test_what_cannot_run_holds_nobody_up() -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects)) as gate:
            results = await many(gate, [read("a", 5), ("rm_rf", {}), read("b", 5)])
            assert [code(result) for result in results] == ["ok", "TOOL_UNKNOWN", "ok"]

    run(work())
    assert effects.most == 2


def test_a_pending_barrier_holds_later_barriers_and_not_reads(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            results = await many(gate, [read("a"), write("w1"), read("b"), write("w2"), read("c")])
            assert [result.status for result in results] == ["ok", "pending", "ok", "pending", "ok"]
            assert results[1].approval_id is not None
            assert results[3].approval_id is None
            assert len(await gate.store.approvals()) == 1
            assert all("approval" in results[index].for_model for index in (1, 3))

    run(work())
    assert [entry for entry in effects.log if "w" in entry] == []
    assert {"-a", "-b", "-c"} < set(effects.log)


def test_reads_go_on_while_a_person_thinks(url: str) -> None:
    """More reads than run at once stand behind the barrier: all of them must be done before the answer."""
    effects = Effects()
    seen: list[str] = []

    async def approver(request: g.ApprovalRequest) -> bool:
        while effects.count("-r9") == 0:
            await asyncio.sleep(0)
        seen.extend(effects.log)
        return True

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            calls = [write("w1"), write("w2"), *(read(f"r{number}") for number in range(10))]
            results = await many(gate, calls, max_parallel=2)
            assert [result.status for result in results] == ["ok"] * 12

    run(work())
    assert not [entry for entry in seen[:20] if "w" in entry]
    assert effects.log[-4:] == ["+w1", "-w1", "+w2", "-w2"]


async def at_once(_: g.ApprovalRequest) -> bool:
    return True


@pytest.mark.parametrize("approver", [at_once, lambda request: True], ids=["coroutine", "function"])
def test_an_approver_that_answers_at_once_keeps_nobody_waiting(url: str, approver: Any) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            results = await many(gate, [read("a"), write("w1", 5), read("b"), write("w2"), read("c")])
            assert [result.status for result in results] == ["ok"] * 5

    run(work())
    assert effects.log == [sign + name for name in ("a", "w1", "b", "w2", "c") for sign in "+-"]


def test_a_refused_barrier_lets_the_next_one_run(url: str) -> None:
    effects = Effects()

    def approver(request: g.ApprovalRequest) -> bool:
        return bool(request.arguments["name"] != "w1")

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            results = await many(gate, [write("w1"), write("w2")])
            assert [code(result) for result in results] == ["APPROVER_REFUSED", "ok"]

    run(work())
    assert effects.log == ["+w2", "-w2"]


def test_the_same_call_twice_in_one_answer_is_two_calls() -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=ALLOW_ALL) as gate:
            results = await many(gate, [("docs.store.v1", {"name": "x"})] * 2)
            assert [result.replayed for result in results] == [False, False]

    run(work())
    assert effects.log == ["x", "x"]


def test_an_empty_batch_is_empty() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            assert await gate.call_many([]) == []

    run(work())


def test_128_calls_in_one_answer(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            calls: Calls = [("sums.add.v1", {"a": number, "b": 1}) for number in range(100)]
            results = await many(gate, calls)
            assert [result.value for result in results] == list(range(1, 101))

    run(work())


@pytest.mark.parametrize("turns", range(0, 40, 3))
def test_a_cancelled_batch_leaves_no_task_and_no_open_call(turns: int, url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL) as gate:
            calls = [read("a", 4), read("b", 9), write("w", 9), read("c", 9)]
            task = asyncio.create_task(many(gate, calls))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            try:
                results = await task
            except asyncio.CancelledError:
                results = None
            rows = await gate.store.calls("r")
            assert all(row.state in ("SUCCEEDED", "FAILED", "UNCERTAIN", "CANCELLED") for row in rows), rows
            assert set((await endings(gate.store, "r")).values()) <= {1}
            assert results is None or [result.status for result in results] == ["ok"] * 4
            begun = {entry[1:] for entry in effects.log}
            assert begun <= {row.arguments.decode().split('"')[3] for row in rows}

    run(work())


def test_a_store_that_fails_stops_the_batch() -> None:
    """Nothing is executed after a record could not be written."""
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=ALLOW_ALL) as gate:

            @g.tool(name="store.close.v1", risk="write_internal")
            async def close() -> str:
                """Close the store."""
                await gate.store.close()
                return "closed"

        async with g.Gateway(tools=[*toolbox(effects), close], policy=ALLOW_ALL, store=gate.store) as second:
            with pytest.raises(StoreError, match="closed"):
                await many(second, [read("a"), ("store.close.v1", {}), write("w"), read("b")])

    run(work())
    assert effects.log == ["+a", "-a"]


def test_an_unreadable_change_behind_a_pending_one_is_told_what_is_wrong() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            results = await many(gate, [write("w1"), ("docs.write.v1", '{"name": '), ("docs.write.v1", "{}")])
            assert [code(result) for result in results] == ["pending", "CALL_NOT_JSON", "pending"]

    run(work())
