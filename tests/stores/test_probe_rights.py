"""Who asks about a call when nobody is there: whoever sent it, with what they may do still, and no more."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import gerbang as g
from gerbang.values.contract_parts import Condition, Probe
from gerbang.values.record import Batch, CallRow, CallState

from .helpers import all_events, run

RULES: list[dict[str, Any]] = [
    {"id": "set", "match": {"tool": ["row.set.v1"]}, "decision": "allow", "reason": "SET"},
    {
        "id": "look",
        "match": {"tool": ["row.look.v1"], "roles": {"none_of": ["clerk"]}},
        "decision": "deny",
        "reason": "NO_CLERK",
    },
]
POLICY = g.Policy.from_rules(RULES)
CLERK = g.Principal("ana", "acme", scopes={"rows", "more"}, roles={"clerk", "x"}, agent="bot", team="desk")
DID, DID_NOT, DOUBT = CallState.RESOLVED_SUCCEEDED, CallState.RESOLVED_FAILED, CallState.UNCERTAIN
Known = Callable[[str, str], Sequence[g.Principal]]


def knows(*ways: g.Principal) -> Known:
    """Return what says that ana's ways in are these."""

    def known(user: str, tenant: str) -> Sequence[g.Principal]:
        return ways if (user, tenant) == ("ana", "acme") else ()

    return known


CASES: list[tuple[str, g.Principal, Known | None, str]] = [
    ("as it was", CLERK, None, DID),
    ("never had the scope", replace(CLERK, scopes={"more"}), None, DOUBT),
    ("never had the role", replace(CLERK, roles={"x"}), None, DOUBT),
    ("has it still", CLERK, knows(CLERK), DID),
    ("has some of it still", CLERK, knows(replace(CLERK, scopes={"rows"}, roles={"clerk"})), DID),
    ("the scope was revoked", CLERK, knows(replace(CLERK, scopes={"more"})), DOUBT),
    ("the role was revoked", CLERK, knows(replace(CLERK, roles=())), DOUBT),
    ("no way in is left", CLERK, knows(), DOUBT),
    ("another agent's way in", CLERK, knows(replace(CLERK, agent=None)), DOUBT),
    ("one of several", CLERK, knows(replace(CLERK, scopes=()), CLERK), DID),
    ("half of it each", CLERK, knows(replace(CLERK, scopes=()), replace(CLERK, roles=())), DOUBT),
    ("never wider than then", replace(CLERK, scopes={"more"}), knows(CLERK), DOUBT),
    ("somebody else's rights", replace(CLERK, user="bo"), knows(CLERK), DOUBT),
]
"""The case, who made the call, what is known of people now, and what becomes of the call."""


def tools(asked: list[g.Principal]) -> list[Any]:
    done, open_ = Condition("equals", True, "/done"), Condition("equals", False, "/done")
    probe = Probe("row.look.v1", done, open_, {"name": "name"})

    @g.tool(name="row.set.v1", risk="write_internal", timeout_s=1, probe=probe)
    async def set_(name: str) -> str:
        """Set a row."""
        raise RuntimeError("gone in the middle")

    @g.tool(name="row.look.v1", risk="read_internal", scopes=["rows"])
    async def look(name: str, context: g.CallContext) -> dict[str, Any]:
        """Look whether a row is set."""
        asked.append(context.principal)
        return {"done": True if len(asked) > 1 else None}  # the first one cannot tell

    return [set_, look]


async def in_doubt(url: str, who: g.Principal) -> str:
    """Leave a call in doubt, by a gateway that is gone then; return its run."""
    asked: list[g.Principal] = []
    async with g.Gateway(tools(asked), store=url, policy=POLICY) as gate:
        result = await gate.call("row.set.v1", {"name": "a"}, run_id="r", principal=who)
        assert result.error is not None
        assert result.error.effect == "unknown"
    return result.run_id


async def the_call(gate: g.Gateway, run_id: str) -> CallRow:
    (row,) = [one for one in await gate.store.calls(run_id) if one.tool == "row.set.v1"]
    return row


@pytest.mark.parametrize(("case", "who", "known", "becomes"), CASES, ids=[case[0] for case in CASES])
def test_the_probe_is_asked_with_the_rights_of_then(
    shared: str, case: str, who: g.Principal, known: Known | None, becomes: str
) -> None:
    async def main() -> None:
        run_id = await in_doubt(shared, who)
        asked = [who]  # the second answer is yes
        async with g.Gateway(tools(asked), store=shared, policy=POLICY) as gate:
            await gate.recover(known=known)
            row = await the_call(gate, run_id)
            assert row.state == becomes, case
            assert len(asked) == (2 if becomes == DID else 1)
            if becomes != DID:
                return
            asker = asked[-1]
            assert (asker.user, asker.tenant, asker.agent, asker.team) == ("ana", "acme", "bot", "desk")
            assert frozenset(asker.scopes) <= frozenset(who.scopes)
            assert frozenset(asker.roles) <= frozenset(who.roles)
            bodies = [msgspec.json.decode(event.body) for event in await all_events(gate.store, run_id)]
            probes = [body for body in bodies if body.get("tool_name") == "row.look.v1" and "scopes" in body]
            assert probes[-1]["scopes"] == sorted(asker.scopes)

    run(main())


def test_each_call_of_a_run_is_asked_about_for_who_made_it(shared: str) -> None:
    narrow = replace(CLERK, scopes={"more"})

    async def main() -> None:
        async with g.Gateway(tools([]), store=shared, policy=POLICY) as gate:
            for name, who in (("a", narrow), ("b", CLERK), ("c", narrow)):
                result = await gate.call(
                    "row.set.v1", {"name": name}, run_id="r", step_id=name, principal=who
                )
                assert result.status == "error"
        asked = [CLERK]
        async with g.Gateway(tools(asked), store=shared, policy=POLICY) as gate:
            await gate.recover()
            rows = [row for row in await gate.store.calls("r") if row.tool == "row.set.v1"]
            states = {row.step_id: row.state for row in rows}
            assert states == {"a": DOUBT, "b": DID, "c": DOUBT}

    run(main())


def test_a_call_whose_sending_is_not_on_record_is_asked_about_without_rights(shared: str) -> None:
    async def main() -> None:
        run_id = await in_doubt(shared, CLERK)
        asked = [CLERK]
        async with g.Gateway(tools(asked), store=shared, policy=POLICY) as gate:
            row = await the_call(gate, run_id)
            other = replace(row, key="other", call_id="of_an_old_version")
            await gate.store.commit(Batch(calls=[other]))
            await gate.recover()
            rows = {one.call_id: one.state for one in await gate.store.calls(run_id)}
            assert rows["of_an_old_version"] == DOUBT
            assert rows[row.call_id] == DID

    run(main())
