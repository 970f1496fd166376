"""Who decides and what they name: what cannot be recorded is refused in words, before anything is changed."""

from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import run

BO = g.Principal("bo")
SECRET = "ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zABCDE"


@g.tool(name="notes.save.v1", risk="write_internal")
async def save(text: str) -> str:
    """Save a note."""
    return "saved"


@pytest.mark.parametrize("field", ["scopes", "roles", "delegated_by"])
@pytest.mark.parametrize("value", ["admin", 5, None, {1}, [["a"]], {""}, {"\ud800"}, {"a" * 513}])
def test_a_principal_has_names_only(field: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"Principal.{field} takes"):
        g.Principal("bo", **{field: value})


def test_names_may_come_in_any_collection() -> None:
    who = g.Principal("bo", scopes=["a"], roles={"b": 1}, delegated_by=["c"])  # type: ignore[arg-type]
    assert (who.scopes, who.roles, who.delegated_by) == (frozenset("a"), frozenset("b"), ("c",))


UNFIT = [
    g.Principal(""),
    g.Principal("b\ud800"),
    g.Principal(5),  # type: ignore[arg-type]
    g.Principal("bo", ""),
    g.Principal("bo", agent="\ud800"),
    g.Principal("bo", team="\ud800"),
    "bo",
    None,
]


@pytest.mark.parametrize("who", UNFIT)
def test_nobody_without_a_name_decides_anything(who: Any) -> None:
    async def story() -> None:
        async with g.Gateway([save]) as gate:
            waiting = (await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")).approval_id
            assert waiting is not None
            for decide in (gate.approve, gate.refuse, gate.cancel):
                with pytest.raises(g.UsageError):
                    await decide(waiting, by=who)
            for work in (gate.approve_tool("notes.save.v1", by=who), gate.prune(0, by=who)):
                with pytest.raises(g.UsageError, match="by"):
                    await work
            with pytest.raises(g.UsageError):
                await gate.erase("r", by=who)
            if who is not None:
                with pytest.raises(g.UsageError):
                    await gate.kill("all", by=who)
                with pytest.raises(g.UsageError):
                    await gate.call("notes.save.v1", {"text": "hi"}, principal=who)
            row = await gate.store.approval(waiting)
            assert row is not None
            assert row.state == "pending"
            assert await gate.kills() == []

    run(story())


@pytest.mark.parametrize("arguments", [[1], "text", 5, (), {"text": float("nan")}, {"text": "\ud800"}])
def test_arguments_that_are_no_object_edit_nothing(arguments: Any) -> None:
    async def story() -> None:
        async with g.Gateway([save]) as gate:
            waiting = (await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")).approval_id
            assert waiting is not None
            with pytest.raises(g.UsageError, match="new arguments"):
                await gate.approve(waiting, by=BO, arguments=arguments)
            row = await gate.store.approval(waiting)
            assert row is not None
            assert row.state == "pending"

    run(story())


@pytest.mark.parametrize("approval_id", ["", "\ud800", None, 5, "a" * 10_000, "q\0z"])
def test_an_id_that_names_nothing_is_unknown_and_on_record(approval_id: Any) -> None:
    async def story() -> None:
        async with g.Gateway([save]) as gate:
            with pytest.raises(g.UsageError, match="There is no approval"):
                await gate.approve(approval_id, by=BO)
            events = await gate.store.events("approvals")
            assert [event.kind for event in events] == ["approval.attempted"]

    run(story())


@pytest.mark.parametrize(
    "target", ["", "tool:", "tool:a\0b", "tool:\ud800", "tenant:", "everything", None, 5]
)
def test_a_switch_that_names_nothing_is_not_turned(target: Any) -> None:
    async def story() -> None:
        async with g.Gateway([save]) as gate:
            with pytest.raises(g.UsageError, match="kill switch"):
                await gate.kill(target)
            assert await gate.kills() == []

    run(story())


@pytest.mark.parametrize("tenant", ["acme", "a\0b", "a\nb", "t" * 512])
def test_every_tenant_that_may_call_can_be_stopped(tenant: str) -> None:
    async def story() -> list[str]:
        async with g.Gateway([save], approver=lambda _: True) as gate:
            await gate.kill(f"tenant:{tenant}", reason=f"\ud800 token {SECRET}")
            (switch,) = await gate.kills()
            assert "ghp_" not in switch.reason
            who = g.Principal("ana", tenant)
            result = await gate.call("notes.save.v1", {"text": "hi"}, principal=who)
            return [] if result.error is None else [result.error.error_code]

    assert run(story()) == ["KILL_SWITCH"]
