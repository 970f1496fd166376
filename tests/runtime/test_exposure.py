"""Exposure and pinning through the public gateway and agent, on a real store."""

import functools
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import run


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a coroutine test in an event loop of its own."""

    @functools.wraps(test)
    def started(*args: Any, **kwargs: Any) -> None:
        run(test(*args, **kwargs))

    return started


ANA = g.Principal("ana", "acme", roles={"admin"})
BOB = g.Principal("bob", "other")


@g.tool(name="notes.read.v1", risk="read_internal")
async def read() -> str:
    """Reads the note."""
    return "a note"


@g.tool(name="notes.wipe.v1", risk="write_internal", expose={"roles": ["admin"], "states": ["cleaning"]})
async def wipe() -> str:
    """Wipes the notes."""
    return "wiped"


@g.tool(name="notes.burn.v1", risk="destructive", expose={"tenants": ["acme"]})
async def burn() -> str:
    """Burns the notes."""
    return "burnt"


@g.tool(name="notes.list.v1", risk="read_internal", retired=True, replaced_by="notes.read.v1")
async def old() -> str:
    """Listed the notes."""
    return "never"


TOOLS = [read, wipe, burn, old]


def names(gate: g.Gateway, **run: Any) -> list[str]:
    return [contract.name.split(".")[1] for contract in gate.tools(**run)]


@in_loop
async def test_what_is_exposed_and_what_a_guess_gets() -> None:
    async with g.Gateway(TOOLS, policy=g.Policy.default()) as gate:
        assert names(gate) == ["read"]
        assert names(gate, principal=ANA) == ["read", "burn"]
        assert names(gate, principal=ANA, state="cleaning") == ["read", "wipe", "burn"]
        assert names(gate, principal=BOB, state="cleaning") == ["read"]
        guessed = await gate.call("notes.wipe.v1", {}, principal=ANA)
        assert guessed.error is not None
        assert guessed.error.error_code == "TOOL_UNKNOWN"
        assert "wipe" not in str(guessed.error.available)
        assert gate.decide("notes.wipe.v1", {}, principal=ANA).reasons == ("TOOL_UNKNOWN",)
        assert gate.decide("notes.wipe.v1", {}, principal=ANA, state="cleaning").decision == "ask"
        (many,) = await gate.call_many([("notes.wipe.v1", {})], principal=ANA, state="cleaning")
        assert many.status == "pending"
        retired = await gate.call("notes.list.v1", {})
        assert retired.error is not None
        assert (retired.error.error_code, retired.error.available) == ("TOOL_RETIRED", ("notes.read.v1",))


@in_loop
async def test_words_that_are_none() -> None:
    async with g.Gateway(TOOLS) as gate:
        for wrong in (["cleaning"], 3, b"cleaning"):
            with pytest.raises(g.UsageError, match="intent and state are words"):
                gate.tools(state=wrong)  # type: ignore[arg-type]
            with pytest.raises(g.UsageError):
                await gate.call("notes.read.v1", {}, state=wrong)  # type: ignore[arg-type]


@in_loop
async def test_a_ceiling_of_risk_hides_what_is_above_it() -> None:
    async with g.Gateway(TOOLS, max_risk="write_internal") as gate:
        assert names(gate, principal=ANA, state="cleaning") == ["read", "wipe"]
        assert gate.decide("notes.burn.v1", {}, principal=ANA).reasons == ("TOOL_UNKNOWN",)
    with pytest.raises(g.UsageError, match=r"max_risk: 'mild' is not a risk class\. Use one of: compute"):
        g.Gateway(TOOLS, max_risk="mild")


@in_loop
async def test_an_agent_knows_only_what_its_run_may_know() -> None:
    seen: list[list[str]] = []

    def answer(messages: Any) -> Any:
        return [("notes.wipe.v1", {}), ("notes.read.v1", {})] if len(messages) == 1 else "done"

    async with g.Gateway(TOOLS) as gate:
        for state in (None, "cleaning"):
            async with aclosing(g.Agent(model=ScriptedModel([answer, "done"]), gateway=gate)) as agent:
                result = await agent.run("go", principal=ANA, state=state)
                codes = [call.error.error_code if call.error else call.status for call in result.calls]
                seen.append(codes)
    assert seen == [["TOOL_UNKNOWN", "ok"], ["pending", "ok"]]


FILE = """
name: files.echo.v1
risk: read_internal
description: {about}
python: tests.tools.contract_bodies:decorated
"""


@in_loop
async def test_a_definition_of_a_pinned_file_is_approved_before_it_is_called(tmp_path: Path) -> None:
    path, store = tmp_path / "echo.yaml", f"sqlite:{tmp_path / 'g.db'}"

    def gateway(about: str) -> g.Gateway:
        path.write_text(FILE.format(about=about))
        return g.Gateway([*TOOLS, *g.load_contracts(path, pin=True)], store=store)

    async def code(gate: g.Gateway) -> str:
        result = await gate.call("files.echo.v1", {"text": "hi"})
        return result.error.error_code if result.error else str(result.value)

    async with gateway("Says it again.") as gate:
        assert names(gate) == ["read"]
        assert await code(gate) == "TOOL_CHANGED"
        assert [(held.name, held.approved) for held in gate.held_tools] == [("files.echo.v1", None)]
        await gate.approve_tool("files.echo.v1", by=ANA)
        assert (names(gate), gate.held_tools) == (["read", "echo"], ())
        assert await code(gate) == "hi"
        approved = gate.tools()[1].digest
        with pytest.raises(g.UsageError, match=r"needs no approval\. Tools that do: files\.echo"):
            await gate.approve_tool("notes.read.v1", by=ANA)
    async with gateway("Says it again.") as gate:
        assert await code(gate) == "hi"
    async with gateway("Says it again, and mails it.") as gate:
        assert await code(gate) == "TOOL_CHANGED"
        (held,) = gate.held_tools
        assert (held.approved, held.digest != approved, str(path) in held.origin) == (approved, True, True)
        assert gate.decide("files.echo.v1", {"text": "hi"}).reasons == ("TOOL_CHANGED",)
        await gate.approve_tool("files.echo.v1", by=ANA)
        assert await code(gate) == "hi"
    async with gateway("Says it again.") as gate:
        assert await code(gate) == "TOOL_CHANGED"


@in_loop
async def test_names_that_collide_are_refused_with_both_origins(tmp_path: Path) -> None:
    path = tmp_path / "echo.yaml"
    path.write_text(FILE.format(about="x").replace("files.echo.v1", "notes.read.v1"))
    with pytest.raises(g.ContractError) as caught:
        g.Gateway([read, *g.load_contracts(path)])
    assert "tests.runtime.test_exposure.read" in str(caught.value)
    assert str(path) in str(caught.value)
