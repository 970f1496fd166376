"""An integer that no double holds is an argument like any other: recorded and bound with every digit."""

from typing import Any

import pytest

import gerbang as g
from gerbang.audit.receipts import hash_of
from gerbang.testing import ScriptedModel
from tests.runtime.street import bodies, run

RULES: list[dict[str, Any]] = [
    {"id": "no", "match": {"tool": "sum.no.v1"}, "decision": "deny", "reason": "NO"},
    {
        "id": "bound",
        "match": {"tool": "sum.add.v1", "arguments": {"by": {"gt": 1.5}}},
        "decision": "deny",
        "reason": "TOO_MUCH",
    },
]


@g.tool(name="sum.add.v1", risk="compute")
async def add(by: int) -> dict[str, int]:
    """Add one."""
    return {"sum": by + 1}


@g.tool(name="sum.no.v1", risk="compute")
async def no(by: float) -> str:
    """Never runs."""
    return "ran"


CASES = [2**63, 2**64 + 1, 10**308, 10**309, 10**400, 10**4_299, -(10**309), -(10**4_298)]


@pytest.mark.parametrize("number", CASES, ids=lambda number: f"{len(str(number))} digits")
@pytest.mark.parametrize("tool", ["sum.add.v1", "sum.no.v1", "sum.none.v1"])
def test_a_large_integer_is_allowed_or_refused_with_a_record(url: str, number: int, tool: str) -> None:
    async def main() -> None:
        async with g.Gateway([add, no], policy=g.Policy.from_rules(RULES), store=url) as gate:
            result = await gate.call(tool, {"by": number})
            if tool == "sum.add.v1" and number < 0:
                assert result.value == {"sum": number + 1}
            else:
                codes = {"sum.add.v1": "TOO_MUCH", "sum.no.v1": "NO", "sum.none.v1": "TOOL_UNKNOWN"}
                assert result.error is not None
                assert result.error.error_code == codes[tool]
            written = await bodies(gate.store, result.run_id)
            hashes = [body["arguments_hash"] for body in written if "arguments_hash" in body]
            assert all(found == hash_of({"by": number}) for found in hashes)

    run(main())


def test_a_model_cannot_end_a_run_by_a_number(url: str) -> None:
    numbers = [
        "1" + "0" * 400,
        "-" + "1" * 4_299,
        "1" * 4_300,
        "-" + "1" * 4_300,
        "1" * 5_000,
        "1e400",
        "1e-400",
    ]
    call = '<tool_call>{"name": "sum.no.v1", "arguments": {"by": %s}}</tool_call>'
    script: list[Any] = [*(call % number for number in numbers), "done"]

    async def main() -> None:
        async with g.Gateway([add, no], policy=g.Policy.from_rules(RULES), store=url) as gate:
            result = await g.Agent(ScriptedModel(script), gate, max_steps=20).run("go")
            assert (result.status, result.answer) == ("completed", "done")

    run(main())
