"""What a program gives in the wrong shape is refused at once, with a sentence that says what is taken."""

import asyncio
import inspect
import logging
from collections.abc import Sequence
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import run

WRONG: list[Any] = [5, "zz", [1], object(), b"x", -1, True, float("nan")]
FREE: dict[str, list[Any]] = {
    "tools": [],
    "store": [],
    "lease_s": [5],
    "approval_s": [5],
    "files": ["zz"],
}
AGENT_FREE: dict[str, list[Any]] = {
    "system": ["zz"],
    "stream": [True],
    **{name: [5] for name in ("max_steps", "max_calls", "max_repeats", "deadline_s", "max_parallel")},
    **{name: [5] for name in ("result_max_chars", "model_timeout_s", "context_tokens", "max_cost")},
    "max_tokens": [5],
}


@g.tool(name="note.read.v1", risk="read_internal")
async def read() -> str:
    """Read the note."""
    return "milk"


def _cases(owner: Any, free: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    names = inspect.signature(owner).parameters
    return [
        (name, value)
        for name in names
        for value in WRONG
        if not any(value is one or (type(value) is type(one) and value == one) for one in free.get(name, []))
    ]


@pytest.mark.parametrize(("name", "value"), _cases(g.Gateway, FREE))
def test_a_gateway_refuses(name: str, value: Any) -> None:
    options = {name: value} if name == "tools" else {"tools": [read], name: value}
    with pytest.raises(g.GerbangError, match=r"\w{3}.* .*\w{3}"):
        g.Gateway(**options)


@pytest.mark.parametrize(("name", "value"), _cases(g.Agent, AGENT_FREE))
def test_an_agent_refuses(name: str, value: Any) -> None:
    options: dict[str, Any] = {"model": ScriptedModel(["x"]), "gateway": g.Gateway([read]), name: value}
    with pytest.raises(g.GerbangError, match={"lang": "[lL]ang"}.get(name, name)):
        g.Agent(**options)


@pytest.mark.parametrize("value", WRONG)
def test_a_policy_is_made_by_its_makers_only(value: Any) -> None:
    with pytest.raises(g.UsageError, match=r"Policy\.shipped"):
        g.Policy(value)


@pytest.mark.parametrize("target", ["tool:", "tool:a\nb", "tool", "", 5, None])
def test_a_switch_that_there_cannot_be_is_refused_without_a_word_that_it_is_turned(
    target: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with g.Gateway([read]) as gate:
            for turn in (gate.kill, gate.revive):
                with pytest.raises(g.UsageError, match="A kill switch is called"):
                    turn(target)

    with caplog.at_level(logging.WARNING):
        run(body())
    assert caplog.messages == []


@pytest.mark.parametrize("items", [5, None, "x", [], [5], [[5]], [[("a",)]]])
def test_a_script_refuses(items: Any) -> None:
    with pytest.raises(g.UsageError, match=r"ScriptedModel|item of a script"):
        ScriptedModel(items)


def test_a_script_may_name_the_class_of_an_error_and_keeps_the_messages_it_got() -> None:
    kept: list[Sequence[g.Message]] = []

    def first(messages: Sequence[g.Message]) -> Any:
        kept.append(messages)
        return [("note.read.v1", {})]

    async def body() -> g.RunResult:
        async with g.Gateway([read]) as gate:
            return await g.Agent(ScriptedModel([first, TimeoutError]), gate).run("What is in it?")

    assert asyncio.run(body()).status == "model_error"
    assert [message.content for message in kept[0]] == ["What is in it?"]
