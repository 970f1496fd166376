"""What a tool says of its failure, and what its type says where the tool says nothing."""

from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import run

AWAY = ("validation_error", "semantic_error", "conflict", "rate_limited", "unknown_tool", "parse_error")
LOST = ("timeout", "transient_network_error")
OTHER = ("upstream_error", "internal_error")
SAID: list[tuple[str, dict[str, Any], str, bool, str]] = [
    # what kind of tool, what it says, then the effect, recoverable and the state that follow
    *(("write_internal", {"error_type": one}, "none", True, "FAILED") for one in AWAY),
    *(("transactional", {"error_type": one}, "none", True, "FAILED") for one in AWAY),
    *(("read_internal", {"error_type": one}, "none", True, "FAILED") for one in (*AWAY, *LOST)),
    *(("write_internal", {"error_type": one}, "unknown", False, "UNCERTAIN") for one in (*LOST, *OTHER)),
    ("write_internal", {"error_type": "permission_denied"}, "none", False, "FAILED"),
    ("read_internal", {"error_type": "upstream_error"}, "none", False, "FAILED"),
    ("read_internal", {"error_type": "upstream_error", "recoverable": True}, "none", True, "FAILED"),
    ("read_internal", {"error_type": "conflict", "recoverable": False}, "none", False, "FAILED"),
    ("write_internal", {"error_type": "conflict", "effect": "unknown"}, "unknown", False, "UNCERTAIN"),
    ("write_internal", {"recoverable": True}, "unknown", False, "UNCERTAIN"),
    ("write_internal", {"recoverable": True, "effect": "unknown"}, "unknown", False, "UNCERTAIN"),
    ("write_internal", {"recoverable": True, "effect": "happened"}, "happened", False, "SUCCEEDED"),
    ("write_internal", {"recoverable": True, "effect": "none"}, "none", True, "FAILED"),
    ("write_internal", {"error_type": "transient_network_error", "effect": "none"}, "none", True, "FAILED"),
]


@pytest.mark.parametrize(("risk", "said", "effect", "recoverable", "state"), SAID)
def test_what_a_failure_means(
    risk: str, said: dict[str, Any], effect: str, recoverable: bool, state: str
) -> None:
    @g.tool(name="shop.order.v1", risk=risk, retry={"max_attempts": 1})
    async def order() -> str:
        """Order."""
        raise g.ToolError("no", **said)

    match = {"tool": "shop.order.v1"}
    rules = [{"id": "all", "match": match, "decision": "allow", "reason": "OK", "auto": True}]

    async def body() -> None:
        async with g.Gateway([order], policy=g.Policy.from_rules(rules)) as gate:
            error = (await gate.call("shop.order.v1", {}, run_id="r")).error
            assert error is not None
            assert (error.effect, error.recoverable) == (effect, recoverable)
            assert [row.state for row in await gate.store.calls("r")] == [state]

    run(body())
