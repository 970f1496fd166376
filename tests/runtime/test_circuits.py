"""Circuits: what counts as a failure, which tools share one, and that none stays open for ever."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import gerbang as g
from gerbang.testing import ManualClock
from tests.runtime.street import ALLOW_ALL, code, run
from tests.tools.origin import definition, serving, write

ONCE = {"max_attempts": 1}


def _tool(faults: list[dict[str, Any]], name: str = "shop.look.v1", **more: Any) -> Any:
    """Return a tool that fails in these ways, one after the other, and then works."""
    left = list(faults)

    @g.tool(name=name, risk="read_external", retry=ONCE, **more)
    async def look(item: str) -> str:
        """Look at something."""
        if left:
            raise g.ToolError("no", **left.pop(0))
        return item

    return look


DOWN: dict[str, Any] = {"error_type": "transient_network_error", "code": "CONNECT_FAILED"}
BROKEN = {"error_type": "upstream_error", "code": "HTTP_5XX"}
ABSENT = {"error_type": "upstream_error", "code": "HTTP_4XX"}
MOVED = {"error_type": "upstream_error", "code": "HTTP_3XX"}
BUSY = {"error_type": "rate_limited", "code": "HTTP_4XX"}
NO_VERB = {"error_type": "upstream_error", "code": "HTTP_METHOD"}
KEPT_OUT = {"error_type": "permission_denied", "code": "SECRET_MISSING"}


@pytest.mark.parametrize(
    ("faults", "is_open"),
    [
        ([DOWN] * 5, True),
        ([BROKEN] * 5, True),
        ([ABSENT] * 6, False),  # somebody asked for six things that there are not: the service is well
        ([MOVED] * 6, False),
        ([BUSY] * 6, False),
        ([NO_VERB] * 6, False),
        ([DOWN] * 4 + [ABSENT] + [DOWN] * 4, False),
        ([DOWN] * 4 + [KEPT_OUT] + [DOWN], True),  # what never came to the service tells nothing of it
    ],
)
def test_what_counts_as_a_failure(faults: list[dict[str, Any]], is_open: bool) -> None:
    async def work() -> str:
        async with g.Gateway([_tool(faults)], clock=ManualClock(0.0)) as gate:
            for turn in range(len(faults)):
                await gate.call("shop.look.v1", {"item": str(turn)})
            result = await gate.call("shop.look.v1", {"item": "last"})
            return code(result) if result.error else "ok"

    assert run(work()) == ("CIRCUIT_OPEN" if is_open else "ok")


def test_tools_of_one_origin_share_a_circuit(tmp_path: Path) -> None:
    async def broken(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=503)

    async def work() -> list[str]:
        async with serving(broken) as bad, serving() as good:
            read = definition(f"{bad.url}/a", "GET") | {"name": "bad_read"}
            change = definition(f"{bad.url}/b", "POST") | {"name": "bad_change"}
            other = definition(f"{good.url}/a", "GET") | {"name": "good_read"}
            tools = g.load_tools(write(tmp_path, read, change, other))
            async with g.Gateway(tools, policy=ALLOW_ALL) as gate:
                names = ["bad_read"] * 5 + ["bad_change", "good_read"]
                results = [await gate.call(name, {}) for name in names]
                assert len(bad.seen) == 5
                assert [row.state for row in await gate.store.calls(results[5].run_id)] == []
                return [code(result) if result.error else "ok" for result in results]

    assert run(work()) == ["HTTP_5XX"] * 5 + ["CIRCUIT_OPEN", "ok"]


def test_tools_that_name_an_upstream_share_a_circuit() -> None:
    named: dict[str, Any] = {"annotations": {"upstream": "the shop"}}
    tools = [_tool([DOWN] * 5, **named), _tool([], "shop.count.v1", **named), _tool([], "bank.look.v1")]

    async def work() -> list[str]:
        async with g.Gateway(tools, clock=ManualClock(0.0)) as gate:
            for turn in range(5):
                await gate.call("shop.look.v1", {"item": str(turn)})
            names = ("shop.look.v1", "shop.count.v1", "bank.look.v1")
            results = [await gate.call(name, {"item": "tea"}) for name in names]
            return [code(result) if result.error else "ok" for result in results]

    assert run(work()) == ["CIRCUIT_OPEN", "CIRCUIT_OPEN", "ok"]


async def _cancelled(gate: g.Gateway) -> None:
    task = asyncio.ensure_future(gate.call("shop.look.v1", {"item": "hang"}))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait((task,))


async def _killed(gate: g.Gateway) -> None:
    await gate.kill("tool:shop.look.v1")
    await gate.call("shop.look.v1", {"item": "x"})
    await gate.revive("tool:shop.look.v1")


@pytest.mark.parametrize("lost", [_cancelled, _killed])
def test_a_trial_of_which_nothing_is_heard_is_not_the_last(lost: Any) -> None:
    seen: list[str] = []

    @g.tool(name="shop.look.v1", risk="read_external", retry=ONCE)
    async def look(item: str) -> str:
        """Look at something."""
        seen.append(item)
        if item == "hang":
            await asyncio.sleep(60)
        if len(seen) <= 5:
            raise g.ToolError("no", **DOWN)
        return item

    async def work() -> list[str]:
        clock = ManualClock(0.0)
        async with g.Gateway([look], clock=clock) as gate:
            for turn in range(5):
                await gate.call("shop.look.v1", {"item": str(turn)})
            clock.advance(31)
            await lost(gate)
            clock.advance(31)
            results = [await gate.call("shop.look.v1", {"item": item}) for item in ("a", "b")]
            return [code(result) if result.error else "ok" for result in results]

    assert run(work()) == ["ok", "ok"]
