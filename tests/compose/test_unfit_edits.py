"""A person who gives a call arguments that its tool does not take is told so at once, and nothing changes."""

import asyncio
from typing import Annotated, Any

import pytest
from msgspec import Meta, to_builtins

import gerbang as g
from gerbang.compose.people import Unfit
from gerbang.errors import UsageError

BOSS = g.Principal("boss")
CASES: list[tuple[Any, set[tuple[str, str]]]] = [
    ({"to": "ana", "amount": "x"}, {("/amount", "WRONG_TYPE")}),
    ({"to": "ana", "amount": -1}, {("/amount", "OUT_OF_RANGE")}),
    ({"amount": 1, "more": 2}, {("/to", "MISSING_FIELD"), ("/more", "EXTRA_FIELD")}),
    ({"to": "bo", "amount": 1}, set()),  # another natural key is another call
]


@g.tool(
    name="pay.send.v1",
    risk="transactional",
    natural_key=("to",),
)
async def pay(to: str, amount: Annotated[int, Meta(ge=0)]) -> str:
    """Pay."""
    return f"{amount} to {to}"


@pytest.mark.parametrize(("new", "findings"), CASES)
def test_it_is_told_at_once(new: Any, findings: set[tuple[str, str]]) -> None:
    async def main() -> None:
        async with g.Gateway([pay]) as gate:
            given = {"to": "ana", "amount": 5}
            waiting = await gate.call("pay.send.v1", given, run_id="r")
            assert waiting.approval_id is not None
            before = to_builtins(await gate.store.approval(waiting.approval_id))
            with pytest.raises(Unfit, match="Nothing was changed") as caught:
                await gate.approve(waiting.approval_id, by=BOSS, arguments=new)
            error = caught.value.error
            assert error.error_type == "validation_error"
            assert {(one.path, one.code) for one in error.invalid_fields} == findings
            assert to_builtins(await gate.store.approval(waiting.approval_id)) == before
            await gate.approve(waiting.approval_id, by=BOSS, arguments={"to": "ana", "amount": 3})
            assert (await gate.call("pay.send.v1", given, run_id="r")).value == "3 to ana"

    asyncio.run(main())


@pytest.mark.parametrize("new", [[], "x", {"to": float("nan")}])
def test_what_is_no_json_object(new: Any) -> None:
    async def main() -> None:
        async with g.Gateway([pay]) as gate:
            waiting = await gate.call("pay.send.v1", {"to": "ana", "amount": 5}, run_id="r")
            assert waiting.approval_id is not None
            with pytest.raises(UsageError, match="othing was changed"):
                await gate.approve(waiting.approval_id, by=BOSS, arguments=new)

    asyncio.run(main())
