"""What a run starts from and what its model is shown: history, options, exposure, the context window."""

import asyncio
import json
from typing import Any

import pytest

import gerbang as g
from gerbang.loop.context import weight
from gerbang.testing import ScriptedModel
from tests.compose.runs import Watched, ask
from tests.runtime.street import ALLOW_ALL, Effects, bodies, code, run, toolbox

READ = [("docs.read.v1", {"name": "a"})]


def read(name: str) -> list[tuple[str, dict[str, Any]]]:
    return [("docs.read.v1", {"name": name})]


def test_history_and_system_come_first() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "docs__read__v1", "arguments": "{}"}}
    other = {"id": "c2", "function": {"name": "docs__read__v1", "arguments": {"name": "b"}}}
    past: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]},
        g.Message("assistant", "Hello."),
        {"role": "assistant", "content": None, "tool_calls": [call, other]},
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
    assert [call.arguments for call in watched.last[3].tool_calls] == ["{}", '{"name":"b"}']


BAD_HISTORY: list[Any] = [
    [7],
    ["text"],
    [{"content": "x"}],
    [{"role": "wizard", "content": "x"}],
    [g.Message("wizard", "x")],  # type: ignore[arg-type]
    [{"role": "user", "content": [{"type": "image"}]}],
    [{"role": "user", "content": [{"type": "text", "text": 7}]}],
    [{"role": "user", "content": 7}],
    [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": object()}}]}],
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
    {"model": None},
    {"model": 7},
    {"model": ScriptedModel},
    {"model": "ollama:m@ftp://127.0.0.1"},
    {"gateway": None},
    {"gateway": "memory:"},
    {"gateway": g.Gateway},
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
    assert (result.status, watched.seen) == ("budget", [])
    assert "context window" in result.detail
    assert result.answer == (
        "The conversation is larger than the model's context window. Ask for less, or begin anew."
    )


@g.tool(name="note.write.v1", risk="write_internal", result_max_chars=100_000)
async def note(text: str) -> str:
    """Write a note."""
    WRITTEN.append(len(text))
    return "r" * 50_000


WRITTEN: list[int] = []
WRITE: dict[str, Any] = {
    "gateway": {"policy": ALLOW_ALL},
    "context_tokens": 3_000,
    "result_max_chars": 60_000,
}


def test_a_call_without_room_in_the_context_is_refused_and_the_run_goes_on(url: str) -> None:
    WRITTEN.clear()
    small, large = ("note.write.v1", {"text": "a"}), ("note.write.v1", {"text": "b" * 20_000})
    result, watched = run(ask([[small, large], [small], "done"], [note], store=url, **WRITE))
    assert (result.status, result.answer) == ("completed", "done")
    assert [code(call) for call in result.calls] == ["ok", "BUDGET_CONTEXT", "ok"]
    refused = result.calls[1].error
    assert refused is not None
    assert (refused.error_type, refused.effect) == ("budget_exceeded", "none")
    assert WRITTEN == [1, 1]  # the large one did not run
    for seen in watched.seen:
        assert sum(map(weight, seen)) < 3 * 3_000
    said = watched.seen[1]
    assert [json.loads(call.arguments) for call in said[-3].tool_calls] == [
        {"text": "a"},
        {"left_out": "to fit the context window"},
    ]
    assert "BUDGET_CONTEXT" in said[-1].content


@pytest.mark.parametrize("profile", ["terminal", "minimal"])
def test_the_same_where_calls_stand_in_the_text(profile: str) -> None:
    WRITTEN.clear()
    text = "b" * 20_000
    call = {
        "terminal": f'<tool_use>{{"name": "note.write.v1", "arguments": {{"text": "{text}"}}}}</tool_use>',
        "minimal": f'{{"tool": "note.write.v1", "input": {{"text": "{text}"}}}}',
    }[profile]
    done = "done" if profile == "terminal" else '{"tool": "none", "input": "done"}'
    result, watched = run(ask([call, done], [note], profile=profile, **WRITE))
    assert (result.status, result.answer) == ("completed", "done")
    assert code(result.calls[0]) == ("BUDGET_CONTEXT" if profile == "terminal" else "ok")
    assert len(WRITTEN) == (0 if profile == "terminal" else 1)  # `minimal` keeps the name of a call only
    assert sum(map(weight, watched.last)) < 3 * 3_000


def test_where_nothing_fits_the_call_is_refused_and_the_run_ends() -> None:
    WRITTEN.clear()
    how = WRITE | {"context_tokens": 400}  # half of it is kept free: 600 characters
    result, watched = run(ask([[("note.write.v1", {"text": "a"})], "x"], [note], prompt="p" * 480, **how))
    assert (result.status, len(watched.seen)) == ("budget", 1)
    assert [code(call) for call in result.calls] == ["BUDGET_CONTEXT"]
    assert "context window" in result.answer
    assert WRITTEN == []


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
            assert [answer.step for answer in answers] == [0, 1, 2]  # 0 is what the run began with
            assert [row.run_id for row in await gate.store.runs(tenant="acme")] == [result.run_id]
            assert await gate.store.runs(tenant="other") == []

    run(work())


def test_run_sync() -> None:
    effects = Effects()
    agent = g.Agent(ScriptedModel([READ, "Done."]), g.Gateway(tools=toolbox(effects)))
    assert agent.run_sync("x").answer == "Done."
    agent = g.Agent(ScriptedModel(["Again."]), agent.gateway)
    assert agent.run_sync("x").answer == "Again."


def test_run_sync_where_a_loop_runs() -> None:
    async def work() -> None:
        agent = g.Agent(ScriptedModel(["x"]), g.Gateway())
        with pytest.raises(g.UsageError, match=r"write `await agent.run\(...\)`"):
            agent.run_sync("x")

    run(work())


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
