"""The same call again gives the stored result; another call under the same name is refused."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import ALLOW_ALL, Effects, code, endings, run, toolbox

PAY = g.Policy.from_rules(
    [
        {
            "id": "all",
            "match": {"tool": ["bank.transfer.v1", "docs.store.v1", "docs.write.v1", "mail.send.v1"]},
            "decision": "allow",
            "reason": "TEST",
            "auto": True,
        }
    ]
)


def test_the_same_place_gives_the_stored_result(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            first = await gate.call("web.get.v1", {"page": "a"}, run_id="r", step_id="s")
            again = await gate.call("web.get.v1", {"page": "a"}, run_id="r", step_id="s")
            assert (first.replayed, again.replayed) == (False, True)
            assert (again.value, again.taint, again.for_model) == (first.value, first.taint, first.for_model)
            other = await gate.call("web.get.v1", {"page": "b"}, run_id="r", step_id="s")
            assert code(other) == "KEY_REUSED"
            assert other.error is not None
            assert other.error.error_type == "conflict"

    run(work())
    assert effects.log == ["got a"]


def test_what_is_equal_as_json_is_the_same_call() -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=ALLOW_ALL) as gate:
            forms: list[Any] = [
                {"a": 1, "b": 2},
                {"b": 2, "a": 1.0},
                '{ "b": 2e0, "a": 1 }',
                {"a": "1", "b": 2},
            ]
            results = [await gate.call("sums.add.v1", form, run_id="r") for form in forms[:3]]
            assert [result.replayed for result in results] == [False, True, True]

    run(work())
    assert effects.log == ["1+2"]


def test_a_stored_result_survives_a_restart(durable: str) -> None:
    effects = Effects()

    async def work() -> None:
        for expected in (False, True):
            async with g.Gateway(tools=toolbox(effects), store=durable, policy=PAY) as gate:
                result = await gate.call("docs.store.v1", {"name": "x"}, run_id="r")
                assert (result.value, result.replayed) == ("stored x", expected)

    run(work())
    assert effects.log == ["x"]


VALUES: list[Any] = [
    None,
    True,
    0,
    -1.5,
    "",
    "text",
    [],
    {},
    {"error_type": "timeout"},
    {"error_type": "timeout", "error_code": "X", "message": "just data"},
    {"status": "error"},
    10**30,
    {"nested": [1, {"deep": None}]},
    "\u0000 \u202e \U0001f600",
]


@pytest.mark.parametrize("value", VALUES, ids=[repr(value)[:30] for value in VALUES])
def test_a_replay_gives_the_very_value(value: Any, url: str) -> None:
    @g.tool(name="give.back.v1", risk="compute")
    async def give() -> Any:
        """Give a value."""
        return value

    async def work() -> None:
        async with g.Gateway(tools=[give], store=url) as gate:
            first = await gate.call("give.back.v1", {}, run_id="r")
            again = await gate.call("give.back.v1", {}, run_id="r")
            assert (first.status, again.status, again.replayed) == ("ok", "ok", True)
            assert first.value == again.value == value
            assert first.for_model == again.for_model

    run(work())


def test_a_callers_key(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=PAY) as gate:

            async def store(name: str, run_id: str, who: str = "ana", tenant: str = "acme") -> g.Result:
                principal = g.Principal(user=who, tenant=tenant)
                return await gate.call(
                    "docs.store.v1", {"name": name}, key="k", run_id=run_id, principal=principal
                )

            assert not (await store("x", "r1")).replayed
            assert (await store("x", "r2")).replayed
            assert code(await store("y", "r3")) == "KEY_REUSED"
            assert not (await store("x", "r4", who="bob")).replayed
            assert not (await store("x", "r5", tenant="other")).replayed

    run(work())
    assert effects.log == ["x", "x", "x"]


def test_a_natural_key(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=PAY) as gate:

            async def pay(invoice: str, amount: int, run_id: str) -> g.Result:
                return await gate.call(
                    "bank.transfer.v1", {"invoice": invoice, "amount": amount}, run_id=run_id
                )

            assert not (await pay("7", 5, "r1")).replayed
            assert (await pay("7", 5, "r2")).replayed
            assert code(await pay("7", 6, "r3")) == "KEY_REUSED"
            assert not (await pay("8", 5, "r4")).replayed

    run(work())
    assert effects.log == ["paid 7 5", "paid 8 5"]


def test_tools_of_one_namespace_have_the_same_effect(url: str) -> None:
    sent: list[str] = []

    def paying(name: str, namespace: str) -> Any:
        @g.tool(name=name, risk="transactional", natural_key=("invoice",), key_namespace=namespace)
        def pay(invoice: str) -> str:
            """Pay an invoice."""
            sent.append(f"{name} {invoice}")
            return "paid"

        return pay

    tools = [paying("bank.wire.v1", "payments"), paying("card.pay.v1", "payments"), paying("cash.pay.v1", "")]
    match = {"tool": [tool.contract.name for tool in tools]}
    rules = g.Policy.from_rules(
        [{"id": "all", "match": match, "decision": "allow", "reason": "TEST", "auto": True}]
    )

    async def work() -> None:
        async with g.Gateway(tools=tools, store=url, policy=rules) as gate:
            for name, found in [
                ("bank.wire.v1", "ok"),
                ("card.pay.v1", "KEY_REUSED"),
                ("cash.pay.v1", "ok"),
                ("bank.wire.v1", "replayed"),
            ]:
                result = await gate.call(name, {"invoice": "7"})
                assert ("replayed" if result.replayed else code(result)) == found, name

    run(work())
    assert sent == ["bank.wire.v1 7", "cash.pay.v1 7"]


@pytest.mark.parametrize("tool", ["docs.write.v1", "docs.store.v1"])
def test_a_duplicate_in_flight_joins(tool: str, url: str) -> None:
    effects = Effects()
    arguments: dict[str, Any] = {"name": "x"}
    if tool == "docs.write.v1":
        arguments["turns"] = 20

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=PAY) as gate:
            results = await asyncio.gather(*(gate.call(tool, arguments, run_id="r") for _ in range(3)))
            assert [result.status for result in results] == ["ok"] * 3
            assert sorted(result.replayed for result in results) == [False, True, True]
            assert len({str(result.value) for result in results}) == 1

    run(work())
    assert effects.count("x") + effects.count("+x") == 1


def test_a_duplicate_in_another_run_joins_by_the_callers_key(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=PAY) as gate:
            calls = (
                gate.call("docs.write.v1", {"name": "x", "turns": 20}, run_id=f"r{number}", key="k")
                for number in range(3)
            )
            results = await asyncio.gather(*calls)
            assert [result.value for result in results] == ["written x"] * 3

    run(work())
    assert effects.log == ["+x", "-x"]


def test_a_call_that_joins_a_failed_one_runs_itself(url: str) -> None:
    effects = Effects()

    @g.tool(name="flaky.read.v1", risk="read_internal")
    async def flaky() -> str:
        """Fail the first time."""
        effects("read")
        for _ in range(5):
            await asyncio.sleep(0)
        if effects.count("read") == 1:
            raise g.ToolError("Not there yet.", code="NOT_FOUND", error_type="semantic_error")
        return "there"

    async def work() -> None:
        async with g.Gateway(tools=[flaky], store=url) as gate:
            results = await asyncio.gather(*(gate.call("flaky.read.v1", {}, run_id="r") for _ in range(2)))
            assert [code(result) for result in results] == ["NOT_FOUND", "ok"]
            again = await gate.call("flaky.read.v1", {}, run_id="r")
            assert (again.value, again.replayed) == ("there", True)

    run(work())
    assert effects.log == ["read", "read"]


def test_a_call_that_joins_a_cancelled_one_is_not_lost(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=PAY) as gate:
            arguments = {"name": "x", "turns": 1_000_000}
            first = asyncio.create_task(gate.call("docs.write.v1", arguments, run_id="r"))
            while not effects.log:
                await asyncio.sleep(0)
            second = asyncio.create_task(gate.call("docs.write.v1", arguments, run_id="r"))
            for _ in range(20):
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            result = await second
            assert code(result) == "EFFECT_UNKNOWN"
            assert result.error is not None
            assert result.error.effect == "unknown"
            assert effects.log == ["+x"]

    run(work())


def test_a_failed_read_frees_its_key(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            for _ in range(2):
                assert code(await gate.call("sums.crash.v1", {}, run_id="r")) == "INTERNAL"
            (row,) = await gate.store.calls("r")
            assert row.state == "FAILED"

    run(work())


def test_a_result_is_given_again_however_often_it_is_asked_for(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            results = [await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="r") for _ in range(7)]
            assert [code(result) for result in results] == ["ok"] * 7
            assert [result.replayed for result in results] == [False] + [True] * 6

    run(work())


STRANGE: list[tuple[str, dict[str, Any]]] = [
    ("run", {"run_id": "\ud800"}),
    ("step", {"step_id": "\ud800"}),
    ("key", {"key": "\ud800"}),
    ("user", {"principal": g.Principal(user="\ud800")}),
    ("tenant", {"principal": g.Principal(user="a", tenant="\ud800")}),
    ("purpose", {"purpose": "\ud800"}),
    ("a step that is a list", {"step_id": [1]}),
    ("a step that is a fraction", {"step_id": float("nan")}),
    ("a step beyond all numbers", {"step_id": 10**5000}),
]


@pytest.mark.parametrize("options", [pytest.param(options, id=name) for name, options in STRANGE])
def test_a_place_that_cannot_be_recorded_is_the_callers_mistake(options: dict[str, Any], url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            try:
                result = await gate.call("sums.add.v1", {"a": 1, "b": 2}, **options)
            except g.UsageError:
                assert effects.log == []
            else:  # it could be recorded after all
                assert result.status == "ok"
                assert len(await gate.store.events(result.run_id)) == 2
            assert (await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="next")).status == "ok"

    run(work())


def test_a_name_with_half_a_character_is_only_an_unknown_tool(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            result = await gate.call("\ud800", {}, run_id="r")
            assert code(result) == "TOOL_UNKNOWN"
            result.for_model.encode()
            assert await endings(gate.store, "r") == {result.call_id: 1}

    run(work())


def test_somebody_elses_run_is_theirs_also_at_once_after_a_restart(durable: str) -> None:
    effects = Effects()
    ana, eve = g.Principal(user="ana", tenant="acme"), g.Principal(user="eve", tenant="evil")

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            await gate.call("web.get.v1", {"page": "a"}, run_id="r", principal=ana)
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            calls = (
                gate.call("web.get.v1", {"page": f"e{n}"}, run_id="r", step_id=n, principal=eve)
                for n in range(4)
            )
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(result).__name__ for result in results] == ["UsageError"] * 4
            assert (await gate.call("web.get.v1", {"page": "a"}, run_id="r", principal=ana)).replayed

    run(work())
    assert effects.log == ["got a"]


def test_a_dry_decision_is_for_the_person_who_is_named() -> None:
    policy = g.Policy.from_rules(
        [{"id": "eve", "match": {"user": "eve"}, "decision": "deny", "reason": "NOT_EVE"}]
    )

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), policy=policy) as gate:
            await gate.call("web.get.v1", {"page": "a"}, run_id="r")
            local = gate.decide("web.get.v1", {"page": "b"}, run_id="r")
            eve = gate.decide("web.get.v1", {"page": "b"}, run_id="r", principal=g.Principal(user="eve"))
            assert (local.decision, eve.decision) == ("allow", "deny")

    run(work())


def test_two_gateways_of_one_store_make_a_call_once(url: str) -> None:
    async def work() -> None:
        effects = Effects()

        @g.tool(name="notes.save.v1", risk="write_internal")
        async def save(text: str) -> str:
            """Save a note."""
            await asyncio.sleep(0.01)
            effects(text)
            return "saved"

        async with g.Gateway([save], policy=ALLOW_ALL, store=url) as one:
            store = one.store if url == "memory:" else url
            async with g.Gateway([save], policy=ALLOW_ALL, store=store) as two:
                calls = [
                    gate.call("notes.save.v1", {"text": "hi"}, run_id=f"r{number}", key="K")
                    for number in range(20)
                    for gate in (one, two)
                ]
                results = await asyncio.gather(*calls)
        assert effects.log == ["hi"]
        assert {result.value for result in results} == {"saved"}
        assert [result.replayed for result in results].count(False) == 1

    run(work())
