"""A run from the request to its result: statuses, limits, history, exposure, the context window."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import gerbang as g
from gerbang.errors import ModelTimeout, ModelUnavailable
from gerbang.testing import ManualClock, ScriptedModel
from tests.compose.runs import Watched, ask
from tests.runtime.street import ALLOW_ALL, Effects, bodies, code, endings, run, toolbox

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


ITEMS: list[tuple[str, list[Any], str, str]] = [
    ("a text", ["x"], "completed", "x"),
    ("a function of the messages", [lambda messages: messages[-1].content.upper()], "completed", "DO IT."),
    ("a function that gives calls", [lambda messages: READ, "x"], "completed", "x"),
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


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(g.UsageError, match="at least one"):
        ScriptedModel([])


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
        ask([[("wait.v1", {})], "x"], [wait], gateway={"policy": ALLOW_ALL}, deadline_s=0.05, store=url)
    )
    assert result.status == "budget"
    assert result.answer == "The budget of this run is used up."


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


def test_history_and_system_come_first() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "docs__read__v1", "arguments": "{}"}}
    past: list[Any] = [
        {"role": "user", "content": "Hi"},
        g.Message("assistant", "Hello."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "text", "tool_call_id": "c1"},
    ]
    _, watched = run(ask(["x"], ask={"history": past}, system="Be brief.", prompt="Now?"))
    assert [(message.role, message.content) for message in watched.last] == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("assistant", ""),
        ("tool", "text"),
        ("user", "Now?"),
    ]
    assert watched.last[3].tool_calls[0].id == watched.last[4].tool_call_id == "c1"


BAD_HISTORY: list[Any] = [
    [7],
    ["text"],
    [{"content": "x"}],
    [{"role": "wizard", "content": "x"}],
    [{"role": "user", "content": [{"type": "image"}]}],
    [{"role": "assistant", "content": "", "tool_calls": [{"name": "x"}]}],
    [{"role": "assistant", "content": "", "tool_calls": 7}],
    7,
]


@pytest.mark.parametrize("history", BAD_HISTORY, ids=[str(item)[:40] for item in BAD_HISTORY])
def test_history_that_is_none(history: Any) -> None:
    async def work() -> None:
        async with g.Gateway() as gate:
            with pytest.raises(g.UsageError):
                await g.Agent(ScriptedModel(["x"]), gate).run("x", history=history)
            assert await gate.store.runs() == []

    run(work())


BAD_OPTIONS: list[dict[str, Any]] = [
    {"max_steps": 0},
    {"max_calls": -1},
    {"max_repeats": True},
    {"max_parallel": 1.5},
    {"result_max_chars": 0},
    {"deadline_s": -1},
    {"deadline_s": float("nan")},
    {"model_timeout_s": 0},
    {"context_tokens": 0},
    {"profile": "wizard"},
    {"lang": "fr"},
    {"dialect": "klingon"},
    {"model": "telepathy:"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=[str(option) for option in BAD_OPTIONS])
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(g.CallerError) as caught:
        g.Agent(**{"model": ScriptedModel(["x"]), "gateway": g.Gateway(), **options})
    assert len(str(caught.value)) > 20


def test_a_hidden_tool_is_unknown_even_by_its_exact_name(url: str) -> None:
    effects = Effects()

    @g.tool(name="admin.wipe.v1", risk="read_internal", intents=["admin"])
    async def wipe() -> str:
        """Wipe everything."""
        effects("wiped")
        return "wiped"

    script: list[Any] = [[("admin.wipe.v1", {}), ("admin__wipe__v1", {})], "x"]
    for intent in (None, "support"):
        result, watched = run(ask(script, [*toolbox(effects), wipe], ask={"intent": intent}, store="memory:"))
        assert [code(call) for call in result.calls] == ["TOOL_UNKNOWN"] * 2
        shown = " ".join(message.content for message in watched.last if message.role == "tool")
        assert "admin.wipe.v1" not in shown.replace("called 'admin.wipe.v1'", "")
    assert effects.log == []
    result, _ = run(ask(script, [wipe], ask={"intent": "admin"}, store=url))
    assert [code(call) for call in result.calls] == ["ok", "ok"]

    async def listing() -> None:
        async with g.Gateway(tools=[*toolbox(effects), wipe]) as gate:
            assert "admin.wipe.v1" not in [contract.name for contract in gate.tools()]
            assert "admin.wipe.v1" in [contract.name for contract in gate.tools(intent="admin")]
            assert gate.decide("admin.wipe.v1", {}).reasons == ("TOOL_UNKNOWN",)

    run(listing())


@g.tool(name="big.v1", risk="compute", result_max_chars=100_000)
async def big(number: int) -> str:
    """Return a large text."""
    return f"{number}:" + "x" * 8_000


def _as_text(profile: str, number: int) -> Any:
    if profile == "minimal":
        return f'{{"tool": "big.v1", "input": {{"number": {number}}}}}'
    if profile == "terminal":
        return f'<tool_use>{{"name": "big.v1", "arguments": {{"number": {number}}}}}</tool_use>'
    return [("big.v1", {"number": number})]


WINDOWS = [
    ("gateway", 6_000, 8_000),
    ("local", 6_000, 8_000),
    ("terminal", 4_000, 1_900),
    ("minimal", 6_000, 8_000),
]


@pytest.mark.parametrize(("profile", "tokens", "size"), WINDOWS)
def test_old_results_are_shortened_visibly_before_the_window_is_full(
    profile: str, tokens: int, size: int
) -> None:
    last = '{"tool": "none", "input": "x"}' if profile == "minimal" else "x"
    watched = Watched([*(_as_text(profile, number) for number in range(5)), last])
    events: list[Any] = []

    async def work() -> None:
        async with g.Gateway(tools=[big]) as gate:
            agent = g.Agent(
                watched.model,
                gate,
                profile=profile,
                context_tokens=tokens,
                result_max_chars=size,
                max_steps=10,
            )
            events.extend([event async for event in agent.stream("x")])

    run(work())
    finished = events[-1]
    assert isinstance(finished, g.Finished)
    assert (finished.result.status, finished.result.answer) == ("completed", "x")
    notices = [event for event in events if isinstance(event, g.Notice)]
    assert {notice.code for notice in notices} == {"CONTEXT_SHORTENED"}
    texts = [message.content for message in watched.last]
    assert sum(map(len, texts)) < 3 * tokens
    assert any("shortened" in text for text in texts)
    newest = "4:" + "x" * (size - 100)
    assert any(newest in text for text in texts), "the newest result stays whole"


def test_what_cannot_fit_is_refused_with_a_reason(url: str) -> None:
    result, watched = run(ask(["x"], prompt="p" * 50_000, context_tokens=2_000, store=url))
    assert (result.status, watched.seen) == ("model_error", [])
    assert "context window" in result.detail
    assert result.answer == "The model gave no answer."


def test_a_request_with_half_a_character(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            agent = g.Agent(ScriptedModel([[("docs.read.v1", '{"name": "\ud800"}')], "\ud800 hi"]), gate)
            result = await agent.run("what is \udc00 this")
            assert result.status == "completed"
            result.answer.encode()
            row = await gate.store.run(result.run_id)
            assert row is not None
            assert row.state == "completed"

    run(work())


def test_the_record_of_a_run(url: str) -> None:
    async def work() -> None:
        ana = g.Principal(user="ana", tenant="acme", agent="helper")
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            agent = g.Agent(ScriptedModel([READ, "x"]), gate, profile="local")
            result = await agent.run("x", principal=ana, purpose="support", intent="help")
            records = await bodies(gate.store, result.run_id)
            assert [record["kind"] for record in records] == [
                "run.started",
                "model.answered",
                "call.dispatched",
                "call.finished",
                "model.answered",
                "run.finished",
            ]
            started = records[0]
            assert (started["user"], started["tenant"], started["agent_id"]) == ("ana", "acme", "helper")
            assert (started["purpose"], started["intent"], started["profile"]) == ("support", "help", "local")
            assert records[2]["agent_id"] == "helper"
            assert records[-1]["status"] == "completed"
            answers = await gate.store.answers(result.run_id)
            assert [answer.step for answer in answers] == [1, 2]
            assert [row.run_id for row in await gate.store.runs(tenant="acme")] == [result.run_id]
            assert await gate.store.runs(tenant="other") == []

    run(work())


def test_run_sync() -> None:
    effects = Effects()
    agent = g.Agent(ScriptedModel([READ, "Done."]), g.Gateway(tools=toolbox(effects)))
    assert agent.run_sync("x").answer == "Done."
    agent = g.Agent(ScriptedModel(["Again."]), agent.gateway)
    assert agent.run_sync("x").answer == "Again."


def test_fifty_runs_at_once(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:

            async def one(number: int) -> str:
                script = ScriptedModel([read(f"a{number}"), read(f"b{number}"), f"answer {number}"])
                result = await g.Agent(script, gate).run(f"question {number}")
                assert [call.value for call in result.calls] == [f"text of a{number}", f"text of b{number}"]
                assert len(await bodies(gate.store, result.run_id)) == 9
                return result.answer

            answers = await asyncio.gather(*(one(number) for number in range(50)))
            assert answers == [f"answer {number}" for number in range(50)]
            assert len({row.run_id for row in await gate.store.runs(limit=100)}) == 50

    run(work())
