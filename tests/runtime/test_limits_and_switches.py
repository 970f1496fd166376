"""Rates, budgets, kill switches, places at once: before the call, exact, over processes."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gerbang as g
from gerbang.audit.receipts import hash_of
from gerbang.testing import ManualClock, ScriptedModel
from gerbang.values.model import ModelDone, Usage
from tests.runtime.street import code, run


def counted() -> tuple[list[str], list[Any]]:
    done: list[str] = []

    @g.tool(name="search.web.v1", risk="read_external", cost_units=2.0, rate={"calls": 3, "per_s": 60})
    async def search(query: str) -> str:
        """Search."""
        done.append(query)
        await asyncio.sleep(0)
        return query

    @g.tool(name="notes.read.v1", risk="read_internal", cost_units=1.5)
    async def read(name: str) -> str:
        """Read."""
        done.append(name)
        return name

    return done, [search, read]


async def calls(gate: g.Gateway, tool: str, number: int, **place: Any) -> list[g.Result]:
    argument = "query" if tool == "search.web.v1" else "name"
    return list(await asyncio.gather(*(gate.call(tool, {argument: str(i)}, **place) for i in range(number))))


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_the_rate_of_a_tool_is_exact_under_concurrency(tmp_path: Path, store: str) -> None:
    done, tools = counted()

    async def work() -> None:
        address = f"sqlite:{tmp_path / 's.db'}" if store == "sqlite" else store
        async with g.Gateway(tools=tools, store=address, clock=ManualClock(1_000.0)) as gate:
            results = await calls(gate, "search.web.v1", 20)
            refused = [result for result in results if result.status == "error"]
            assert (len(done), len(refused), {code(one) for one in refused}) == (3, 17, {"RATE_TOOL"})
            error = refused[0].error
            assert error is not None
            assert error.error_type == "rate_limited"
            assert error.retry_after_ms == 20_000
            # another tenant has a rate of its own
            other = await gate.call("search.web.v1", {"query": "x"}, principal=g.Principal("u", "other"))
            assert other.status == "ok"

    run(work())


def test_a_rate_lets_calls_through_again_after_its_wait() -> None:
    done, tools = counted()

    async def work() -> None:
        clock = ManualClock(1_000.0)
        async with g.Gateway(tools=tools, clock=clock) as gate:
            await calls(gate, "search.web.v1", 5)
            clock.advance(19)
            assert code((await calls(gate, "search.web.v1", 1))[0]) == "RATE_TOOL"
            clock.advance(1.1)
            assert (await calls(gate, "search.web.v1", 1))[0].status == "ok"
            assert len(done) == 4

    run(work())


ANA, BOB = g.Principal("ana", "acme", team="red"), g.Principal("bob", "acme", team="red")
EVE = g.Principal("eve", "acme", team="blue")
BUDGETS: list[tuple[g.Limit, list[g.Principal], int, str]] = [
    (g.Limit("actor", calls=2, per_s=60), [ANA, ANA, ANA, BOB], 3, "RATE_ACTOR"),
    (g.Limit("team", calls=2, per_s=60), [ANA, BOB, ANA, EVE], 3, "RATE_TEAM"),
    (g.Limit("tenant", calls=3, per_s=60), [ANA, BOB, EVE, ANA], 3, "RATE_TENANT"),
    (g.Limit("tenant", cost=3.0), [ANA, BOB, EVE], 2, "BUDGET_COST"),
    (g.Limit("actor", cost=3.0), [ANA, ANA, ANA, EVE], 3, "BUDGET_COST"),
    (g.Limit("actor", calls=1), [ANA, ANA, EVE], 2, "BUDGET_CALLS"),
    (g.Limit("actor", calls=1, tool="notes.*"), [ANA, ANA, EVE], 2, "BUDGET_CALLS"),
    (g.Limit("actor", calls=1, tool="notesx.*"), [ANA, ANA, EVE], 3, ""),
    (g.Limit("team", calls=1, per_s=60), [g.Principal("x"), g.Principal("x")], 2, ""),
]


@pytest.mark.parametrize(("limit", "actors", "made", "want"), BUDGETS)
def test_limits(limit: g.Limit, actors: list[g.Principal], made: int, want: str) -> None:
    done, tools = counted()

    async def work() -> None:
        async with g.Gateway(tools=tools, limits=[limit], clock=ManualClock(1_000.0)) as gate:
            results = [
                await gate.call("notes.read.v1", {"name": str(i)}, principal=who)
                for i, who in enumerate(actors)
            ]
            refused = {code(one) for one in results if one.status == "error"}
            assert (len(done), refused) == (made, {want} if want else set())

    run(work())


def test_a_budget_comes_back_with_its_window() -> None:
    done, tools = counted()

    async def work() -> None:
        clock = ManualClock(86_400.0 * 100)
        limit = g.Limit("tenant", cost=3.0, window_s=86_400)
        async with g.Gateway(tools=tools, limits=[limit], clock=clock) as gate:
            results = await calls(gate, "notes.read.v1", 3)
            (refused,) = [one for one in results if one.error]
            assert refused.error is not None
            assert refused.error.error_code == "BUDGET_COST"
            assert refused.error.retry_after_ms == 86_400_000
            clock.advance(86_400)
            assert (await calls(gate, "notes.read.v1", 1))[0].status == "ok"
            assert len(done) == 3

    run(work())


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"by": "galaxy", "calls": 1}, "by one of"),
    ({"by": "actor"}, "exactly one of"),
    ({"by": "actor", "calls": 1, "cost": 2}, "exactly one of"),
    ({"by": "actor", "calls": 0}, "above 0"),
    ({"by": "actor", "cost": 2, "per_s": 1}, "a rate of calls"),
    ({"by": "actor", "calls": 2, "burst": 1}, "burst belongs"),
]


@pytest.mark.parametrize(("fields", "want"), WRONG)
def test_limits_that_make_no_sense(fields: dict[str, Any], want: str) -> None:
    with pytest.raises(g.ConfigError, match=want):
        g.Limit(**fields)


def test_cost_and_tokens_of_a_run() -> None:
    done, tools = counted()

    async def work() -> None:
        async with g.Gateway(tools=tools) as gate:
            script = [[("notes.read.v1", {"name": str(i)})] for i in range(5)]
            res = await g.Agent(ScriptedModel([*script, "Over."]), gate, max_cost=3.0).run("Go.")
            assert [code(one) for one in res.calls if one.error] == ["BUDGET_COST"] * 3
            assert len(done) == 2

    run(work())


class Counted(ScriptedModel):
    """A model that says what it has read and written."""

    async def answer(self, request: Any) -> Any:
        async for event in super().answer(request):
            yield ModelDone("stop", Usage(50, 101)) if type(event) is ModelDone else event


@pytest.mark.parametrize("by", ["actor", "team", "tenant"])
def test_tokens_of_actors_teams_and_tenants(by: Any) -> None:
    _, tools = counted()

    async def work() -> None:
        limit = g.Limit(by, tokens=100, window_s=3_600)
        async with g.Gateway(tools=tools, limits=[limit], clock=ManualClock(7_200.0)) as gate:
            agent = g.Agent(Counted(["An answer."]), gate)
            first = await agent.run("Go.", principal=ANA)
            assert (first.status, first.output_tokens > 100) == ("completed", True)
            again = await agent.run("Go.", principal=ANA)
            assert (again.status, again.steps) == ("budget", 0)
            assert "BUDGET_TOKENS" in again.detail
            other = await agent.run("Go.", principal=g.Principal("zoe", "other"))
            assert other.status == "completed"

    run(work())


TARGETS = ["all", "tool:notes.read.v1", "group:notes", "tenant:acme"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_kill_switch_stops_calls_at_once_and_in_every_process(tmp_path: Path, target: str) -> None:
    done, tools = counted()

    async def work() -> None:
        address = f"sqlite:{tmp_path / 's.db'}"
        async with (
            g.Gateway(tools=tools, store=address) as one,
            g.Gateway(tools=tools, store=address) as two,
        ):
            assert (await one.call("notes.read.v1", {"name": "a"}, principal=ANA)).status == "ok"
            on_record = one.kill(target, by=g.Principal("boss"), reason="incident 7")
            here = await one.call("notes.read.v1", {"name": "b"}, principal=ANA)  # before it is on record
            assert code(here) == "KILL_SWITCH"
            await on_record
            there = await two.call("notes.read.v1", {"name": "c"}, principal=ANA)
            assert (code(there), done) == ("KILL_SWITCH", ["a"])
            assert one.decide("notes.read.v1", {"name": "b"}, principal=ANA).reasons == ("KILL_SWITCH",)
            (kill,) = await two.kills()
            assert (kill.target, kill.by, kill.reason) == (target, "boss", "incident 7")
            await two.revive(target, by=g.Principal("boss"))
            assert (await two.call("notes.read.v1", {"name": "d"}, principal=ANA)).status == "ok"
            assert (await one.call("notes.read.v1", {"name": "e"}, principal=ANA)).status == "ok"
            kinds = [event.kind for event in await one.store.events("switches")]
            assert kinds == ["switch.killed", "switch.revived"]

    run(work())


def test_a_call_that_a_switch_stopped_is_on_record_with_its_arguments() -> None:
    @g.tool(name="bank.look.v1", risk="read_internal", sensitive=["card"])
    async def look(name: str, card: str) -> str:
        """Look."""
        return name

    @g.tool(
        name="bank.slow.v1",
        risk="read_internal",
        validators=[{"name": "bounds", "options": {"argument": "days", "min": 1}}],
    )
    async def slow(days: int) -> str:
        """Look far back."""
        return str(days)

    async def work() -> None:
        async with g.Gateway([look, slow]) as gate:
            await gate.kill("tool:bank.look.v1")
            given = {"name": "ana", "card": "4111"}
            assert code(await gate.call("bank.look.v1", given, run_id="r1")) == "KILL_SWITCH"
            assert (
                code(await gate.call("bank.slow.v1", {"days": 0}, run_id="r1", step_id=2)) == "OUT_OF_RANGE"
            )
            stopped, senseless = [
                msgspec.json.decode(event.body)
                for event in await gate.store.events("r1")
                if event.kind == "call.refused"
            ]
            assert stopped["input_redacted"] == '{"name":"ana","card":"[redacted]"}'
            assert stopped["arguments_hash"] == hash_of(given)
            assert stopped["contract"] == look.contract.digest
            assert senseless["input_redacted"] == '{"days":0}'

    run(work())


@pytest.mark.parametrize("store", ["memory:", "sqlite:"])
def test_turns_need_not_be_awaited(tmp_path: Path, store: str) -> None:
    done, tools = counted()

    async def work() -> None:
        address = store if store == "memory:" else f"sqlite:{tmp_path / 's.db'}"
        async with g.Gateway(tools=tools, store=address) as gate:
            gate.kill("tool:notes.read.v1")
            assert gate.decide("notes.read.v1", {"name": "a"}).reasons == ("KILL_SWITCH",)
            assert code(await gate.call("notes.read.v1", {"name": "a"})) == "KILL_SWITCH"
            gate.revive("tool:notes.read.v1")
            assert gate.decide("notes.read.v1", {"name": "b"}).decision == "allow"
            assert (await gate.call("notes.read.v1", {"name": "b"})).status == "ok"
            gate.revive("all")
            gate.kill("all")  # the newest turn counts, whichever is on record first
            assert code(await gate.call("notes.read.v1", {"name": "c"})) == "KILL_SWITCH"
            gate.kill("all")
            gate.revive("all")
            outs = await gate.call_many([("notes.read.v1", {"name": "d"}), ("notes.read.v1", {"name": "e"})])
            assert ([out.status for out in outs], await gate.kills()) == (["ok", "ok"], [])
            assert done == ["b", "d", "e"]

    run(work())


def test_a_switch_that_was_on_at_the_start_may_be_turned_off_elsewhere(tmp_path: Path) -> None:
    _, tools = counted()

    async def work() -> None:
        address = f"sqlite:{tmp_path / 's.db'}"
        async with g.Gateway(store=address) as people:
            await people.kill("all")
            async with g.Gateway(tools=tools, store=address) as gate:
                assert code(await gate.call("notes.read.v1", {"name": "a"})) == "KILL_SWITCH"
                await people.revive("all")
                assert (await gate.call("notes.read.v1", {"name": "a"})).status == "ok"

    run(work())


def test_a_kill_that_cannot_be_recorded_holds_here() -> None:
    _, tools = counted()

    async def work() -> None:
        async with g.Gateway(tools=tools) as gate:
            await gate.store.close()
            with pytest.raises(g.StoreError):
                await gate.kill("all")
            assert gate.decide("notes.read.v1", {"name": "a"}).reasons == ("KILL_SWITCH",)

    run(work())


def test_a_switch_of_something_else_stops_nothing() -> None:
    _, tools = counted()

    async def work() -> None:
        async with g.Gateway(tools=tools) as gate:
            for target in ("tool:notes.read", "group:note", "tenant:acm", "tool:notes.read.v2"):
                await gate.kill(target)
            assert (await gate.call("notes.read.v1", {"name": "a"}, principal=ANA)).status == "ok"
            for wrong in ("", "notes.read.v1", "tool:", "everything", "tool:a\nb"):
                with pytest.raises(g.UsageError):
                    gate.kill(wrong)

    run(work())


def test_so_many_at_once() -> None:
    most = now = 0

    @g.tool(name="print.page.v1", risk="read_internal", concurrency=2)
    async def page(number: int) -> int:
        """Print a page."""
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return number

    async def work() -> None:
        async with g.Gateway(tools=[page]) as gate:
            outs = await gate.call_many([("print.page.v1", {"number": i}) for i in range(7)])
            assert [out.value for out in outs] == list(range(7))
            assert most == 2

    run(work())


def test_a_tool_may_be_named_as_on_the_wire_and_a_slip_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    _, tools = counted()

    async def work() -> None:
        async with g.Gateway(tools=tools) as gate:
            await gate.kill("tool:notes__read__v1")
            assert [one.target for one in await gate.kills()] == ["tool:notes.read.v1"]
            assert code(await gate.call("notes.read.v1", {"name": "a"})) == "KILL_SWITCH"
            await gate.revive("tool:notes__read__v1")
            assert await gate.kills() == []
            assert caplog.text == ""
            async with g.Gateway() as bare:  # it cannot tell
                await bare.kill("tool:notes.raed.v1")
            assert caplog.text == ""
            await gate.kill("tool:notes.raed.v1")
            assert "notes.raed.v1" in caplog.text

    with caplog.at_level("WARNING", "gerbang.gateway"):
        run(work())
