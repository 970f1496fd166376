"""How a run of one call ends: as the call does, and anew when the call is made again."""

from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import run

MANY = {
    "id": "many",
    "match": {"tool": "*"},
    "everything": True,
    "decision": "allow",
    "reason": "YES",
}
NO_MAIL = {"id": "no", "match": {"tool": "mail.send.v1"}, "decision": "deny", "reason": "NO_MAIL"}


def tools(sent: list[str]) -> list[Any]:
    @g.tool(
        name="shop.order.v1",
        risk="write_external",
        timeout_s=0.2,
        retry={"max_attempts": 1},
        probe={
            "tool": "shop.find.v1",
            "arguments": {"item": "item"},
            "happened": {"test": "equals", "path": "/found", "value": True},
            "not_happened": {"test": "equals", "path": "/found", "value": False},
        },
    )
    async def order(item: str) -> str:
        """Order."""
        if item != "tea":
            sent.append(item)
        raise g.ToolError("no answer", error_type="transient_network_error", effect="unknown")

    @g.tool(name="shop.find.v1", risk="read_external")
    async def find(item: str) -> dict[str, Any]:
        """Find an order."""
        if item == "rice":
            raise g.ToolError("away", code="AWAY")
        return {"found": item in sent}

    @g.tool(name="mail.send.v1", risk="external_communication", scopes=("mail",), cost_units=1.0)
    async def send(to: str) -> str:
        """Send."""
        if to == "nobody":
            raise g.ToolError("There is no such person.", code="NOT_FOUND")
        return "sent"

    return [order, find, send]


ENDS: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    ("it ran", "mail.send.v1", {"to": "ana"}, {}, "completed"),
    ("the tool says no", "mail.send.v1", {"to": "nobody"}, {}, "failed"),
    ("wrong arguments", "mail.send.v1", {}, {}, "failed"),
    ("no such tool", "mail.read.v1", {}, {}, "failed"),
    ("policy says no", "mail.send.v1", {"to": "ana"}, {"rules": [NO_MAIL]}, "denied"),
    ("no right to it", "mail.send.v1", {"to": "ana"}, {"who": g.Principal("eve")}, "denied"),
    ("a person says no", "mail.send.v1", {"to": "ana"}, {"rules": [], "approver": lambda _: False}, "denied"),
    ("a switch is on", "mail.send.v1", {"to": "ana"}, {"kill": "tool:mail.send.v1"}, "denied"),
    ("nobody was asked yet", "mail.send.v1", {"to": "ana"}, {"rules": []}, "pending_approval"),
    (
        "the budget is used up",
        "mail.send.v1",
        {"to": "ana"},
        {"limits": [g.Limit("actor", cost=0.5)]},
        "budget",
    ),
    ("a probe says that it happened", "shop.order.v1", {"item": "milk"}, {}, "completed"),
    ("a probe says that it did not", "shop.order.v1", {"item": "tea"}, {}, "failed"),
    ("nobody knows", "shop.order.v1", {"item": "rice"}, {}, "failed"),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "how", "state"), [one[1:] for one in ENDS], ids=[one[0] for one in ENDS]
)
@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_it_ends_as_its_call_does(
    tmp_path: Path, store: str, tool: str, arguments: dict[str, Any], how: dict[str, Any], state: str
) -> None:
    async def work() -> None:
        url = store if store == "memory:" else f"sqlite:{tmp_path / 's.db'}"
        gate = g.Gateway(
            tools([]),
            policy=g.Policy.from_rules(how.get("rules", [MANY])),
            store=url,
            approver=how.get("approver"),
            limits=how.get("limits", ()),
        )
        async with gate:
            if "kill" in how:
                await gate.kill(how["kill"])
            who = how.get("who", g.Principal("ana", scopes={"mail"}))
            out = await gate.call(tool, arguments, principal=who)
            row = await gate.store.run(out.run_id)
            assert row is not None
            assert row.state == state

    run(work())


def test_made_again_under_its_name_it_ends_anew(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 's.db'}"

    async def made(*rules: dict[str, Any]) -> tuple[str, str]:
        async with g.Gateway(tools([]), policy=g.Policy.from_rules(list(rules)), store=url) as gate:
            who = g.Principal("ana", scopes={"mail"})
            out = await gate.call("mail.send.v1", {"to": "ana"}, principal=who, run_id="r", alone=True)
            row = await gate.store.run("r")
            assert row is not None
            return out.status, row.state

    async def work() -> None:
        assert await made(MANY, NO_MAIL) == ("error", "denied")
        assert await made(MANY) == ("ok", "completed")
        assert await made(MANY, NO_MAIL) == ("error", "completed")

    run(work())
