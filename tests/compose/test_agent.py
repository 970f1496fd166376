"""A run from the request to its result: statuses, limits, history, exposure, the context window."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import gerbang as g
from gerbang.errors import ModelTimeout, ModelUnavailable
from gerbang.testing import ManualClock, ScriptedModel
from tests.compose.runs import Watched, ask
from tests.runtime.street import ALLOW_ALL, Effects, code, endings, run, toolbox

READ = [("docs.read.v1", {"name": "a"})]
SEND = [("mail.send.v1", {"to": "ana"})]


def read(name: str) -> list[tuple[str, dict[str, Any]]]:
    return [("docs.read.v1", {"name": name})]


def test_a_run_without_calls() -> None:
    result, watched = run(ask(["Hello."]))
    assert (result.answer, result.status, result.steps, result.calls) == ("Hello.", "completed", 1, ())
    assert [message.role for message in watched.last] == ["user"]


def test_a_run_with_calls(url: str) -> None:
    result, watched = run(ask([READ, [*read("b"), ("sums.add.v1", {"a": 1, "b": 2})], "Done."], store=url))
    assert (result.answer, result.status, result.steps) == ("Done.", "completed", 3)
    assert [call.value for call in result.calls] == ["text of a", "text of b", 3]
    assert [message.role for message in watched.last] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
    ]
    assistant = watched.last[3]
    assert [call.name for call in assistant.tool_calls] == ["docs.read.v1", "sums.add.v1"]
    assert [call.id for call in assistant.tool_calls] == [m.tool_call_id for m in watched.last[4:]]


async def later(_: Sequence[g.Message]) -> str:
    await asyncio.sleep(0)
    return "x"


ITEMS: list[tuple[str, list[Any], str, str]] = [
    ("a text", ["x"], "completed", "x"),
    ("a function of the messages", [lambda messages: messages[-1].content.upper()], "completed", "DO IT."),
    ("a function that gives calls", [lambda messages: READ, "x"], "completed", "x"),
    ("a coroutine function", [later], "completed", "x"),
    ("a function that gives no item", [lambda messages: 7], "model_error", ""),
    ("a model that is not there", [ModelUnavailable("Nothing listens there.")], "model_error", ""),
    ("a model that is slow", [ModelTimeout("No answer in 3 s.")], "model_error", ""),
    ("a model that breaks", [RuntimeError("password=hunter2")], "model_error", ""),
    ("a model that breaks later", [READ, ValueError("password=hunter2")], "model_error", ""),
    ("a model that times out by itself", [TimeoutError()], "model_error", ""),
    ("a text that is empty", [""], "completed", "(no answer)"),
    ("a text of blanks", [" \n "], "completed", "(no answer)"),
]


@pytest.mark.parametrize(("items", "status", "answer"), [pytest.param(*row[1:], id=row[0]) for row in ITEMS])
def test_every_kind_of_item(items: list[Any], status: str, answer: str, url: str) -> None:
    result, _ = run(ask(items, store=url))
    assert result.status == status
    assert "hunter2" not in str(result)
    if status == "completed":
        assert result.answer == answer
    else:
        assert result.answer == "The model gave no answer."
        assert result.detail


def test_the_last_item_repeats() -> None:
    result, watched = run(ask([read("a"), "x"]))
    assert len(watched.seen) == 2
    result, watched = run(ask([lambda messages: read(str(len(messages)))], max_steps=4))
    assert (result.status, len(watched.seen)) == ("max_steps", 4)


def test_what_is_wrong_with_a_script_is_said() -> None:
    result, _ = run(ask([lambda messages: 7]))
    assert "7 is no item of a script." in result.detail


NO_SCRIPTS: list[Any] = ["text", [], [7], [None], [[("x",)]], [[5]], [{"a": 1}], [[(1, {})]]]


@pytest.mark.parametrize("items", NO_SCRIPTS, ids=[str(items) for items in NO_SCRIPTS])
def test_a_script_that_is_none_is_refused(items: Any) -> None:
    with pytest.raises(g.UsageError):
        ScriptedModel(items)


def test_bad_calls_go_back_to_the_model(url: str) -> None:
    batch: list[Any] = [
        ("rm_rf", {"path": "/"}),
        ("docs.read.v1", '{"name": '),
        ("docs.read.v1", {}),
        ("docs.read.v1", "[1]"),
        ("docs__read__v1", {"name": "a"}),
    ]

    async def work() -> None:
        watched = Watched([batch, "Sorry."])
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            result = await g.Agent(watched.model, gate).run("x")
            assert [code(call) for call in result.calls] == [
                "TOOL_UNKNOWN",
                "CALL_NOT_JSON",
                "MISSING_FIELD",
                "CALL_SHAPE",
                "ok",
            ]
            assert [call.tool for call in result.calls] == ["rm_rf", *["docs.read.v1"] * 4]
            assert (result.answer, result.status) == ("Sorry.", "completed")
            assert await endings(gate.store, result.run_id) == {call.call_id: 1 for call in result.calls}
            tools = [message for message in watched.last if message.role == "tool"]
            assert [message.content for message in tools] == [call.for_model for call in result.calls]

    run(work())


def test_max_steps(url: str) -> None:
    result, _ = run(ask([read("a"), read("b"), read("c"), "never"], max_steps=3, store=url))
    assert (result.status, result.steps, len(result.calls)) == ("max_steps", 3, 3)
    assert result.answer


def test_max_calls_are_counted_before_each_call_of_a_batch(url: str) -> None:
    batch = [("sums.add.v1", {"a": number, "b": 1}) for number in range(6)]
    result, _ = run(ask([batch, READ, "x"], max_calls=4, store=url))
    assert [code(call) for call in result.calls] == ["ok"] * 4 + ["BUDGET_CALLS"] * 3
    assert (result.status, result.answer) == ("completed", "x")


def test_max_repeats(url: str) -> None:
    result, _ = run(ask([READ, READ, READ, READ, "x"], max_repeats=2, store=url))
    assert [code(call) for call in result.calls] == ["ok", "ok", "REPEATED_CALL", "REPEATED_CALL"]
    result, _ = run(ask([READ * 5, "x"], store=url))
    assert [code(call) for call in result.calls].count("REPEATED_CALL") == 2


def test_max_parallel() -> None:
    effects = Effects()
    batch = [("docs.read.v1", {"name": str(number), "turns": 5}) for number in range(9)]
    result, _ = run(ask([batch, "x"], toolbox(effects), max_parallel=2))
    assert effects.most == 2
    assert len(result.calls) == 9


def test_result_max_chars() -> None:
    @g.tool(name="long.v1", risk="compute")
    async def long() -> str:
        """Return a long text."""
        return "x" * 5_000

    result, watched = run(ask([[("long.v1", {})], "ok"], [long], result_max_chars=100))
    assert watched.last[-1].content.count("x") == 100
    assert "5000" in watched.last[-1].content
    assert result.calls[0].value == "x" * 5_000


def test_the_wall_clock_of_a_run(url: str) -> None:
    @g.tool(name="wait.v1", risk="write_internal")
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    result, _ = run(
        ask([[("wait.v1", {})], "x"], [wait], gateway={"policy": ALLOW_ALL}, deadline_s=0.5, store=url)
    )
    assert result.status == "budget"
    assert result.answer == "The budget of this run is used up."
    (call,) = result.calls
    assert call.error is not None
    assert (call.error.error_type, call.error.error_code, call.error.effect) == (
        "cancelled",
        "DEADLINE",
        "unknown",
    )


def test_calls_that_the_deadline_leaves_open(url: str) -> None:
    batch: list[Any] = [("wait.v1", {}), ("wait.v1", {})]

    @g.tool(name="wait.v1", risk="write_internal")
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    async def work() -> None:
        async with g.Gateway([wait], policy=ALLOW_ALL, store=url) as gate:
            result = await g.Agent(ScriptedModel([batch]), gate, deadline_s=0.5).run("x")
            assert [code(call) for call in result.calls] == ["DEADLINE", "DEADLINE"]
            assert [call.error.effect for call in result.calls if call.error] == ["unknown", "none"]
            assert await endings(gate.store, result.run_id) == {call.call_id: 1 for call in result.calls}

    run(work())


NO: dict[str, Any] = {"approver": lambda request: False}
REFUSED = "Everything that was asked for was refused."


@pytest.mark.parametrize(
    ("script", "gateway", "status", "answer"),
    [
        ([SEND, ""], NO, "denied", REFUSED),
        ([SEND, "I may not."], NO, "completed", "I may not."),
        ([[*SEND, *READ], ""], NO, "completed", "(no answer)"),
        ([READ, ""], {"policy": None}, "denied", REFUSED),
        ([[("rm_rf", {})], ""], {}, "completed", "(no answer)"),
        ([""], {"policy": None}, "completed", "(no answer)"),
    ],
)
def test_a_run_of_nothing_but_refusals(
    script: list[Any], gateway: dict[str, Any], status: str, answer: str
) -> None:
    result, _ = run(ask(script, gateway=gateway))
    assert (result.status, result.answer) == (status, answer)


def test_a_model_without_prose_says_what_was_refused() -> None:
    async def work() -> None:
        model = ScriptedModel([READ, ""])
        model.writes_prose = False
        async with g.Gateway(toolbox(Effects()), policy=None) as gate:
            result = await g.Agent(model, gate).run("x")
            assert (result.status, result.answer) == (
                "denied",
                "There is no policy, so every call is denied.",
            )

    run(work())


def test_the_wall_clock_ends_a_model_that_does_not_answer(url: str) -> None:
    class Silent(ScriptedModel):
        async def answer(self, request: Any) -> Any:
            await asyncio.Event().wait()
            yield None

    async def work() -> None:
        async with g.Gateway(store=url) as gate:
            result = await g.Agent(Silent(["x"]), gate, deadline_s=0.05).run("x")
            assert (result.status, result.steps) == ("budget", 0)
            row = await gate.store.run(result.run_id)
            assert row is not None
            assert row.state == "budget"

    run(work())


def test_time_that_is_used_up_refuses_further_calls() -> None:
    clock = ManualClock()

    def late(messages: Sequence[g.Message]) -> Any:
        clock.advance(100)
        return READ

    result, _ = run(ask([READ, late, "x"], gateway={"clock": clock}, deadline_s=60))
    assert [code(call) for call in result.calls] == ["ok", "BUDGET_TIME"]


@pytest.mark.parametrize("tail", [[], [*READ, *SEND]], ids=["alone", "with others"])
def test_a_run_that_waits_for_approval(tail: list[Any], url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            result = await g.Agent(ScriptedModel([[*SEND, *tail], "x"]), gate).run("x")
            assert (result.status, result.steps) == ("pending_approval", 1)
            assert result.answer == "Waiting for approval."
            assert result.calls[0].status == "pending"
            assert len(result.calls) == 1 + len(tail)
            (approval,) = await gate.store.approvals(run_id=result.run_id)
            assert approval.approval_id == result.calls[0].approval_id

    run(work())
    assert not [entry for entry in effects.log if "mail" in entry]


def test_an_approved_and_a_refused_call(url: str) -> None:
    def approver(request: g.ApprovalRequest) -> bool:
        return bool(request.arguments["to"] == "ana")

    script = [SEND, [("mail.send.v1", {"to": "bob"})], [("mail.send.v1", {"to": "bob"})], "x"]
    result, watched = run(ask(script, gateway={"approver": approver}, store=url))
    assert [code(call) for call in result.calls] == ["ok", "APPROVER_REFUSED", "APPROVER_REFUSED"]
    assert "refused" in watched.last[-1].content
