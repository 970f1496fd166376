"""The gateway as an object: opened, closed, used from several loops, by several people."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ManualClock
from tests.runtime.street import ALLOW_ALL, Effects, code, run, toolbox


def test_opened_again_after_it_was_closed(url: str) -> None:
    gate = g.Gateway(tools=toolbox(Effects()), store=url)

    async def work(expected: bool) -> None:
        async with gate:
            result = await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="r")
            assert (result.value, result.replayed) == (3, expected)
        await gate.aclose()
        with pytest.raises(g.UsageError, match="not open"):
            await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="r")

    run(work(False))
    run(work(True))
    run(work(True))


def test_time_outs_work_in_every_loop(url: str) -> None:
    @g.tool(name="wait.v1", risk="compute", timeout_s=0.02)
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    gate = g.Gateway(tools=[wait], store=url)

    async def work() -> None:
        async with gate:
            results = await asyncio.gather(*(gate.call("wait.v1", {}) for _ in range(5)))
            assert {code(result) for result in results} == {"TOOL_TIMEOUT"}

    for _ in range(3):
        run(work())


def test_time_outs_of_different_length_end_in_their_order() -> None:
    ended: list[str] = []

    def waiting(name: str, seconds: float) -> Any:
        @g.tool(name=name, risk="compute", timeout_s=seconds)
        async def wait() -> str:
            """Wait for ever."""
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(name)
            return ""

        return wait

    tools = [waiting("slow.v1", 0.3), waiting("fast.v1", 0.05), waiting("middle.v1", 0.15)]

    async def work() -> None:
        async with g.Gateway(tools=tools) as gate:
            names = ("slow.v1", "fast.v1", "middle.v1")
            await asyncio.gather(*(gate.call(name, {}) for name in names))

    run(work())
    assert ended == ["fast.v1", "middle.v1", "slow.v1"]


def test_closed_while_calls_are_made(url: str) -> None:
    """Every call that was begun ends with a result or an error of ours; nothing hangs."""

    async def work() -> None:
        gate = g.Gateway(tools=toolbox(Effects()), store=url, policy=ALLOW_ALL)
        await gate.__aenter__()
        calls = [
            asyncio.create_task(gate.call("docs.write.v1", {"name": str(n), "turns": n}, run_id=f"r{n}"))
            for n in range(20)
        ]
        await asyncio.sleep(0)
        await gate.aclose()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        for outcome in outcomes:
            assert isinstance(outcome, g.Result | g.StoreError | g.UsageError), outcome

    run(work())


def test_policies_see_who_asks_what_for_and_how_often() -> None:
    policy = g.Policy.from_rules(
        [
            {"id": "t", "match": {"tenant": "evil"}, "decision": "deny", "reason": "TENANT"},
            {"id": "p", "match": {"purpose": "fun"}, "decision": "deny", "reason": "PURPOSE"},
            {"id": "i", "match": {"intent": "spy"}, "decision": "deny", "reason": "INTENT"},
            {"id": "r", "match": {"roles": "guest"}, "decision": "deny", "reason": "ROLE"},
            {"id": "s", "match": {"scopes": "none"}, "decision": "deny", "reason": "SCOPE"},
            {"id": "a", "match": {"agent": "bot"}, "decision": "deny", "reason": "AGENT"},
            {"id": "c", "match": {"coerced": True}, "decision": "deny", "reason": "COERCED"},
            {"id": "x", "match": {"arguments": {"a": {"gt": 10}}}, "decision": "deny", "reason": "LARGE"},
        ]
    )
    me: dict[str, Any] = {"user": "ana"}
    table: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (me, {}, "ok"),
        ({**me, "tenant": "evil"}, {}, "TENANT"),
        (me, {"purpose": "fun"}, "PURPOSE"),
        (me, {"intent": "spy"}, "INTENT"),
        ({**me, "roles": {"guest", "x"}}, {}, "ROLE"),
        ({**me, "scopes": ["none"]}, {}, "SCOPE"),
        ({**me, "agent": "bot"}, {}, "AGENT"),
    ]

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), policy=policy) as gate:
            for who, options, wanted in table:
                principal = g.Principal(**who)
                result = await gate.call("sums.add.v1", {"a": 1, "b": 1}, principal=principal, **options)
                assert code(result) == wanted
                decision = gate.decide("sums.add.v1", {"a": 1, "b": 1}, principal=principal, **options)
                assert decision.decision == ("allow" if wanted == "ok" else "deny")
            assert code(await gate.call("sums.add.v1", {"a": "1", "b": 1})) == "COERCED"
            assert code(await gate.call("sums.add.v1", {"a": 11, "b": 1})) == "LARGE"

    run(work())


def test_after_reading_from_outside_a_run_is_tainted() -> None:
    policy = g.Policy.from_rules(
        [
            {
                "id": "t",
                "match": {"tool": "mail.*", "tainted_run": True},
                "decision": "deny",
                "reason": "TAINTED",
            },
            {"id": "m", "match": {"tool": "mail.*"}, "decision": "allow", "reason": "MAIL"},
        ]
    )
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=policy) as gate:

            async def mail(run_id: str, step: int) -> str:
                return code(await gate.call("mail.send.v1", {"to": "a"}, run_id=run_id, step_id=step))

            assert await mail("r", 1) == "ok"
            await gate.call("web.get.v1", {"page": "x"}, run_id="r", step_id=2)
            assert await mail("r", 3) == "TAINTED"
            assert await mail("other", 1) == "ok"

    run(work())


def test_a_thousand_runs_leave_the_sessions_bounded() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            for number in range(5_000):
                await gate.call("sums.add.v1", {"a": number, "b": 1}, run_id=f"r{number}")
            first = await gate.call("sums.add.v1", {"a": 0, "b": 1}, run_id="r0")
            assert first.replayed
            other = g.Principal(user="eve")
            with pytest.raises(g.UsageError, match="somebody else"):
                await gate.call("sums.add.v1", {"a": 0, "b": 1}, run_id="r0", principal=other)

    run(work())


def test_the_taint_of_a_run_survives_a_restart(durable: str) -> None:
    policy = g.Policy.from_rules(
        [
            {
                "id": "t",
                "match": {"tool": "mail.*", "tainted_run": True},
                "decision": "deny",
                "reason": "TAINTED",
            },
            {"id": "m", "match": {"tool": "mail.*"}, "decision": "allow", "reason": "MAIL"},
        ]
    )

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), policy=policy, store=durable) as gate:
            await gate.call("web.get.v1", {"page": "x"}, run_id="r", step_id=1)
        async with g.Gateway(tools=toolbox(Effects()), policy=policy, store=durable) as gate:
            assert code(await gate.call("mail.send.v1", {"to": "a"}, run_id="r", step_id=2)) == "TAINTED"

    run(work())


NO_CALLS: list[Any] = [
    "docs.read.v1",
    {"docs.read.v1": {}},
    7,
    [("docs.read.v1",)],
    [{"name": "docs.read.v1", "arguments": {}}],
    ["docs.read.v1"],
    [(7, {})],
    [("docs.read.v1", {"name": "a"}), None],
]


@pytest.mark.parametrize("calls", NO_CALLS, ids=[str(calls) for calls in NO_CALLS])
def test_calls_that_are_none(calls: Any) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(toolbox(effects)) as gate:
            with pytest.raises(g.UsageError, match="tool name, arguments"):
                await gate.call_many(calls, run_id="r1")
            assert (effects.log, await gate.store.runs()) == ([], [])

    run(work())


@pytest.mark.parametrize("step_id", [None, True, 1.5, "", [1]])
def test_steps_that_are_none(step_id: Any) -> None:
    async def work() -> None:
        async with g.Gateway(toolbox(Effects())) as gate:
            with pytest.raises(g.UsageError, match="step_id must be a whole number or a text"):
                await gate.call("docs.read.v1", {"name": "a"}, step_id=step_id)

    run(work())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"store": 7}, "store takes an address such as 'sqlite:gerbang.db'"),
        ({"store": None}, "or a Store, not None"),
        ({"clock": 7}, "clock takes an object such as gerbang.testing.ManualClock"),
        ({"clock": ManualClock}, "clock takes an object"),
    ],
)
def test_parts_that_are_none(options: dict[str, Any], says: str) -> None:
    with pytest.raises(g.UsageError, match=says):
        g.Gateway(**options)
