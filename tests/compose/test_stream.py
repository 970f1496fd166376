"""What a caller sees while a run goes on."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from gerbang.values.model import TextDelta
from tests.runtime.street import Effects, run, toolbox

SCRIPT: list[Any] = [
    [("docs.read.v1", {"name": "a"}), ("docs.read.v1", {"name": "b"})],
    [("rm_rf", {})],
    "All <b>done</b>.",
]


async def events_of(items: list[Any], url: str = "memory:", **options: Any) -> list[Any]:
    gateway = options.pop("gateway", {})
    async with g.Gateway(tools=toolbox(Effects()), store=url, **gateway) as gate:
        agent = g.Agent(ScriptedModel(items), gate, **options)
        return [event async for event in agent.stream("x")]


def kinds(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_the_order_of_events(url: str) -> None:
    events = run(events_of(SCRIPT, url))
    assert [kind for kind in kinds(events) if kind not in ("Decided", "AnswerDelta")] == [
        "ToolCalled",
        "ToolCalled",
        "ToolFinished",
        "ToolFinished",
        "ToolCalled",
        "ToolFinished",
        "Finished",
    ]
    finished = events[-1]
    assert finished.result.answer == "All <b>done</b>."
    assert "".join(event.text for event in events if isinstance(event, g.AnswerDelta)) == "All <b>done</b>."
    called = [event for event in events if isinstance(event, g.ToolCalled)]
    assert [(event.step, event.tool, event.arguments) for event in called] == [
        (1, "docs.read.v1", {"name": "a"}),
        (1, "docs.read.v1", {"name": "b"}),
        (2, "rm_rf", {}),
    ]
    results = [event.result for event in events if isinstance(event, g.ToolFinished)]
    assert {result.call_id for result in results} == {event.call_id for event in called}
    assert sorted(results, key=lambda result: result.call_id) == sorted(
        finished.result.calls, key=lambda result: result.call_id
    )


def test_a_stream_and_a_run_give_the_same() -> None:
    async def plain() -> g.RunResult:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            return await g.Agent(ScriptedModel(SCRIPT), gate).run("x")

    streamed = run(events_of(SCRIPT))[-1].result
    ran = run(plain())
    assert (streamed.answer, streamed.status, streamed.steps) == (ran.answer, ran.status, ran.steps)
    assert [call.for_model for call in streamed.calls] == [call.for_model for call in ran.calls]


@pytest.mark.parametrize("answered", [True, False])
def test_an_approval_is_told_before_it_is_asked(answered: bool, url: str) -> None:
    approver = (lambda request: True) if answered else None
    events = run(events_of([[("mail.send.v1", {"to": "ana"})], "x"], url, gateway={"approver": approver}))
    needed = [event for event in events if isinstance(event, g.ApprovalNeeded)]
    assert len(needed) == 1
    assert "mail.send.v1" in needed[0].preview
    names = kinds(events)
    assert names.index("ToolCalled") < names.index("ApprovalNeeded") < names.index("ToolFinished")
    assert events[-1].result.status == ("completed" if answered else "pending_approval")


TEXTS = [
    'I look. <tool_use>{"name": "docs.read.v1", "arguments": {"name": "a"}}</tool_use> So.',
    "<tool_call>\n<function=docs.read.v1>\n<parameter=name>\na\n</parameter>\n</function>\n</tool_call>",
    '```json\n{"name": "docs.read.v1", "arguments": {"name": "a"}}\n```',
]


@pytest.mark.parametrize(
    ("text", "profile"),
    list(zip(TEXTS, ["local", "local", "terminal"], strict=True)),
    ids=["tool_use", "qwen3_coder", "fenced"],
)
def test_no_markup_reaches_the_text_for_the_user(text: str, profile: str) -> None:
    class CharByChar(ScriptedModel):
        async def answer(self, request: Any) -> Any:
            async for event in super().answer(request):
                if isinstance(event, TextDelta):
                    for char in event.text:
                        yield TextDelta(char)
                else:
                    yield event

    async def work() -> list[Any]:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            agent = g.Agent(CharByChar([text, "Done."]), gate, profile=profile)
            return [event async for event in agent.stream("x")]

    events = run(work())
    shown = "".join(event.text for event in events if isinstance(event, g.AnswerDelta))
    assert not [mark for mark in ("<tool", "</", "<fun", "<par", "```", "arguments") if mark in shown]
    assert shown.endswith("Done.")
    assert [call.value for call in events[-1].result.calls] == ["text of a"]


def test_a_store_that_fails_reaches_the_caller_of_a_stream(durable: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=durable) as gate:

            def script(messages: Any) -> Any:
                task.append(asyncio.ensure_future(gate.store.close()))
                return [("docs.read.v1", {"name": "a"})] * 2

            task: list[Any] = []
            with pytest.raises(g.StoreError):
                async for _ in g.Agent(ScriptedModel([script]), gate).stream("x"):
                    pass
            await asyncio.gather(*task)

    run(work())


def test_ten_streams_at_once(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            agent = g.Agent(ScriptedModel(["x"]), gate)

            async def one() -> str:
                return [event async for event in agent.stream("x")][-1].result.run_id  # type: ignore[union-attr]

            assert len(set(await asyncio.gather(*(one() for _ in range(10))))) == 10

    run(work())
