"""Layers 2 to 5 in order: meaning, permission, risk facts, policy; what is looked up for them is recorded."""

from typing import Any

import msgspec
import pytest

import gerbang as g
from gerbang.testing import ManualClock
from tests.runtime.street import ALLOW_ALL, code, run

ANA = g.Principal("ana", "acme", scopes={"tickets"}, roles={"support"})
TICKETS: dict[str, dict[str, Any]] = {
    "acme/1": {"state": "open", "version": 3, "tenant": "acme"},
    "other/2": {"state": "open", "version": 1, "tenant": "other"},
}


def ticket(subject: dict[str, Any], principal: g.Principal) -> Any:
    """Look a ticket up, as a reader does."""
    return TICKETS.get(subject["ticket"])


async def owner(subject: dict[str, Any], principal: g.Principal) -> Any:
    """Tell whose a ticket is."""
    found = TICKETS.get(subject["name"])
    return None if found is None else found["tenant"]


def tools(done: list[str]) -> list[Any]:
    look = {"reader": "ticket", "subject": ["ticket"]}

    @g.tool(
        name="tickets.move.v1",
        risk="write_internal",
        scopes=("tickets",),
        resources={"ticket": {"kind": "ticket"}},
        validators=(
            {"name": "exists", "options": look},
            {"name": "version", "options": {**look, "argument": "version", "path": "/version"}},
            {
                "name": "transition",
                "options": {
                    **look,
                    "to": "state",
                    "path": "/state",
                    "table": {"open": ["closed"], "closed": []},
                },
            },
        ),
    )
    async def move(ticket: str, version: int, state: str) -> str:
        """Move a ticket to another state."""
        done.append(ticket)
        return "moved"

    @g.tool(
        name="git.merge.v1",
        risk="write_internal",
        validators=(
            {"name": "differs", "options": {"arguments": ["source_branch", "target_branch"]}},
            {"name": "bounds", "options": {"argument": "depth", "min": 1, "max": 5}},
            {"name": "dates", "options": {"arguments": ["start", "end"], "past": False, "max_days": 30}},
        ),
    )
    async def merge(
        source_branch: str, target_branch: str, depth: int = 1, start: str = "", end: str = ""
    ) -> str:
        """Merge."""
        done.append("merge")
        return "merged"

    @g.tool(name="docs.read.v1", risk="read_internal")
    async def read(name: str) -> str:
        """Read."""
        return name

    @g.tool(
        name="docs.write.v1",
        risk="write_internal",
        validators=(
            {
                "name": "fresh_snapshot",
                "options": {"read_by": ["docs.read.v1"], "same": ["name"], "within_s": 60},
            },
        ),
    )
    async def write(name: str) -> str:
        """Write."""
        done.append(name)
        return name

    @g.tool(
        name="case.close.v1",
        risk="write_internal",
        validators=(
            {"name": "evidence", "options": {"argument": "evidence", "min": 1, "from": ["docs.read.v1"]}},
            {"name": "goal", "options": {"purposes": ["support"]}},
        ),
    )
    async def close(evidence: list[str]) -> str:
        """Close a case."""
        done.append("close")
        return "closed"

    return [move, merge, read, write, close]


MOVES: list[tuple[dict[str, Any], str, g.Principal]] = [
    ({"ticket": "acme/1", "version": 3, "state": "closed"}, "ok", ANA),
    ({"ticket": "acme/1", "version": 2, "state": "closed"}, "STALE_SNAPSHOT", ANA),
    ({"ticket": "acme/1", "version": 3, "state": "open"}, "ILLEGAL_TRANSITION", ANA),
    ({"ticket": "acme/9", "version": 3, "state": "closed"}, "NOT_FOUND", ANA),
    ({"ticket": "other/2", "version": 1, "state": "closed"}, "TENANT_MISMATCH", ANA),
    ({"ticket": "acme/1", "version": 3, "state": "closed"}, "SCOPE_MISSING", g.Principal("bob", "acme")),
    ({"ticket": "acme/1", "version": "x", "state": "closed"}, "WRONG_TYPE", g.Principal("bob", "other")),
]


@pytest.mark.parametrize(("arguments", "want", "who"), MOVES)
def test_the_first_layer_that_fails_answers(arguments: Any, want: str, who: g.Principal) -> None:
    done: list[str] = []

    async def work() -> None:
        async with g.Gateway(
            tools=tools(done), policy=ALLOW_ALL, readers={"ticket": ticket}, owners={"ticket": owner}
        ) as gate:
            result = await gate.call("tickets.move.v1", arguments, principal=who, run_id="r")
            assert (result.status if want == "ok" else code(result)) == want
            assert done == (["acme/1"] if want == "ok" else [])
            events = await gate.store.events("r")
            body = msgspec.json.decode(events[0].body)
            if want == "ok":
                assert [one["name"] for one in body["reads"]] == ["ticket", "ticket"]
            plain = gate.decide("tickets.move.v1", arguments, principal=who)
            assert plain.decision == ("allow" if want == "ok" else "deny")

    run(work())


def test_all_findings_of_a_layer_come_at_once() -> None:
    async def work() -> None:
        async with g.Gateway(
            tools=tools([]), policy=ALLOW_ALL, readers={"ticket": ticket}, owners={"ticket": owner}
        ) as gate:
            result = await gate.call(
                "tickets.move.v1", {"ticket": "acme/1", "version": 1, "state": "open"}, principal=ANA
            )
            assert result.error is not None
            assert {field.code for field in result.error.invalid_fields} == {
                "STALE_SNAPSHOT",
                "ILLEGAL_TRANSITION",
            }
            assert (result.error.error_type, result.error.recoverable) == ("semantic_error", True)

    run(work())


@pytest.mark.parametrize("broken", ["raises", "waits", "no json"])
def test_what_cannot_be_looked_up_is_a_no(broken: str) -> None:
    done: list[str] = []

    def failing(subject: dict[str, Any], principal: g.Principal) -> Any:
        if broken == "raises":
            raise RuntimeError("hunter2")
        return object() if broken == "no json" else {"state": "open", "version": 3}

    async def no_owner(subject: dict[str, Any], principal: g.Principal) -> Any:
        raise RuntimeError("hunter2")

    async def work() -> None:
        async with g.Gateway(
            tools=tools(done), policy=ALLOW_ALL, readers={"ticket": failing}, owners={"ticket": no_owner}
        ) as gate:
            result = await gate.call(
                "tickets.move.v1", {"ticket": "acme/1", "version": 3, "state": "closed"}, principal=ANA
            )
            assert code(result) == ("TENANT_MISMATCH" if broken == "waits" else "CHECK_FAILED")
            assert "hunter2" not in str(result)
            assert done == []

    run(work())


MERGES: list[tuple[dict[str, Any], str]] = [
    ({"source_branch": "a", "target_branch": "b"}, "ok"),
    ({"source_branch": "a", "target_branch": "a"}, "SAME_BRANCH"),
    ({"source_branch": "a", "target_branch": "b", "depth": 6}, "OUT_OF_RANGE"),
    ({"source_branch": "a", "target_branch": "b", "depth": 0}, "OUT_OF_RANGE"),
    ({"source_branch": "a", "target_branch": "b", "start": "2026-02-30", "end": "2026-03-01"}, "BAD_DATE"),
    ({"source_branch": "a", "target_branch": "b", "start": "2026-11-03", "end": "2026-11-02"}, "BAD_DATE"),
    ({"source_branch": "a", "target_branch": "b", "start": "2026-10-03", "end": "2026-11-02"}, "BAD_DATE"),
    ({"source_branch": "a", "target_branch": "b", "start": "2027-10-03", "end": "2027-11-02"}, "BAD_DATE"),
    (
        {
            "source_branch": "a",
            "target_branch": "b",
            "start": "2026-11-02",
            "end": "2026-11-03T10:00:00+07:00",
        },
        "ok",
    ),
]


@pytest.mark.parametrize(("arguments", "want"), MERGES)
def test_checks_that_need_no_reading(arguments: Any, want: str) -> None:
    async def work() -> None:
        clock = ManualClock(1_793_577_600.0)  # 2026-11-02, midnight UTC
        async with g.Gateway(tools=tools([])[1:2], policy=ALLOW_ALL, clock=clock) as gate:
            result = await gate.call("git.merge.v1", arguments)
            assert (result.status if want == "ok" else code(result)) == want

    run(work())


def test_read_before_write() -> None:
    done: list[str] = []

    async def work() -> None:
        clock = ManualClock(1_000_000.0)
        async with g.Gateway(tools=tools(done)[2:4], policy=ALLOW_ALL, clock=clock) as gate:
            steps = iter(range(1, 20))

            async def call(tool: str, name: str) -> g.Result:
                return await gate.call(tool, {"name": name}, run_id="r", step_id=next(steps))

            assert code(await call("docs.write.v1", "a")) == "STALE_SNAPSHOT"
            assert (await call("docs.read.v1", "b")).status == "ok"
            assert code(await call("docs.write.v1", "a")) == "STALE_SNAPSHOT"
            assert (await call("docs.read.v1", "a")).status == "ok"
            assert (await call("docs.write.v1", "a")).status == "ok"
            clock.advance(61)
            assert code(await call("docs.write.v1", "a")) == "STALE_SNAPSHOT"
            assert done == ["a"]

    run(work())


def test_evidence_and_goal() -> None:
    done: list[str] = []

    async def work() -> None:
        kept = tools(done)
        async with g.Gateway(tools=[kept[2], kept[4]], policy=ALLOW_ALL) as gate:
            place: dict[str, Any] = {"run_id": "r", "purpose": "support"}
            seen = await gate.call("docs.read.v1", {"name": "a"}, step_id=1, **place)
            none = await gate.call("case.close.v1", {"evidence": []}, step_id=2, **place)
            invented = await gate.call("case.close.v1", {"evidence": ["r/99"]}, step_id=3, **place)
            assert (code(none), code(invented)) == ("NO_EVIDENCE", "NO_EVIDENCE")
            other = await gate.call(
                "case.close.v1", {"evidence": [seen.event_id]}, run_id="r", step_id=4, purpose="sales"
            )
            assert code(other) == "OFF_GOAL"
            good = await gate.call("case.close.v1", {"evidence": [seen.event_id]}, step_id=5, **place)
            assert (good.status, done) == ("ok", ["close"])

    run(work())


def test_a_validator_of_the_programs_own() -> None:
    def check(options: Any, facts: g.SemanticFacts) -> Any:
        if facts.arguments["name"] in options["names"]:
            yield g.Finding("TABOO", ("name",), "This name is not spoken of.")

    @g.tool(
        name="docs.say.v1",
        risk="compute",
        validators=({"name": "taboo", "options": {"names": ["voldemort"]}},),
    )
    async def say(name: str) -> str:
        """Say a name."""
        return name

    async def work() -> None:
        taboo = g.SemanticValidator("taboo", check)
        async with g.Gateway(tools=[say], validators=[taboo]) as gate:
            assert code(await gate.call("docs.say.v1", {"name": "voldemort"})) == "TABOO"
            assert (await gate.call("docs.say.v1", {"name": "ana"})).value == "ana"
        with pytest.raises(g.ContractError, match="no validator 'taboo'"):
            g.Gateway(tools=[say])

    run(work())


WRONG = [
    ({"name": "bounds", "options": {"max": 3}}, "needs the option 'argument'"),
    ({"name": "bounds", "options": {"argument": "nme", "max": 3}}, "does not have"),
    ({"name": "differs", "options": {"arguments": "name"}}, "takes a list"),
    ({"name": "exists", "options": {"reader": "x", "subject": ["name"]}}, "nothing reads 'x'"),
    ({"name": "exists", "options": {"reader": "x", "subject": ["name"], "typo": 1}}, "no option 'typo'"),
    ({"name": "nothing", "options": {}}, "no validator 'nothing'"),
]


@pytest.mark.parametrize(("check", "want"), WRONG)
def test_wrong_checks_are_refused_when_the_gateway_is_made(check: dict[str, Any], want: str) -> None:
    @g.tool(name="docs.say.v1", risk="compute", validators=(check,))
    async def say(name: str) -> str:
        """Say."""
        return name

    with pytest.raises(g.ContractError, match=want):
        g.Gateway(tools=[say])


PREFIXED = [
    ("acme/site", "ok"),
    ("acme/../other/site", "TENANT_MISMATCH"),
    ("other/site", "TENANT_MISMATCH"),
    ("acmeother", "TENANT_MISMATCH"),
    ("", "TENANT_MISMATCH"),
]


@pytest.mark.parametrize(("name", "want"), PREFIXED)
def test_the_tenant_boundary_by_prefix(name: str, want: str) -> None:
    @g.tool(
        name="repo.read.v1",
        risk="read_internal",
        resources={"repo": {"kind": "repository", "tenant_prefix": "{tenant}/"}},
    )
    async def read(repo: str) -> str:
        """Read."""
        return repo

    async def work() -> None:
        async with g.Gateway(tools=[read]) as gate:
            result = await gate.call("repo.read.v1", {"repo": name}, principal=ANA)
            assert (result.status if want == "ok" else code(result)) == want

    run(work())


def test_a_resource_that_nobody_can_place_is_refused_at_once() -> None:
    @g.tool(name="repo.read.v1", risk="read_internal", resources={"repo": {"kind": "repository"}})
    async def read(repo: str) -> str:
        """Read."""
        return repo

    with pytest.raises(g.ContractError, match="whose a 'repository'"):
        g.Gateway(tools=[read])


def test_facts_are_looked_up_for_the_policy_and_recorded() -> None:
    policy = g.Policy.from_rules(
        [
            {
                "id": "small",
                "match": {"tool": "git.push.v1", "facts": {"diff.files": {"le": 20}}},
                "decision": "allow",
                "reason": "SMALL",
            }
        ],
        facts=["diff.files"],
    )

    @g.tool(name="git.push.v1", risk="draft")
    async def push(branch: str) -> str:
        """Push."""
        return branch

    async def size(arguments: dict[str, Any], principal: g.Principal) -> Any:
        if arguments["branch"] == "gone":
            raise RuntimeError
        return len(arguments["branch"])

    async def work() -> None:
        async with g.Gateway(tools=[push], policy=policy, facts={"diff.files": size}) as gate:
            small = await gate.call("git.push.v1", {"branch": "x"}, run_id="r")
            assert small.decision is not None
            assert (small.status, small.decision.rule) == ("ok", "small")
            (body, *_) = [msgspec.json.decode(one.body) for one in await gate.store.events("r")]
            assert body["facts"] == {"diff.files": 1}
            assert [one["name"] for one in body["reads"]] == ["diff.files"]
            gone = await gate.call("git.push.v1", {"branch": "gone"})
            assert code(gone) == "POLICY_FACT_MISSING"

    run(work())


def test_risk_facts_are_floors() -> None:
    @g.tool(name="db.migrate.v1", risk="write_internal", facts=("production",))
    async def migrate() -> str:
        """Migrate."""
        return "done"

    @g.tool(name="note.add.v1", risk="write_internal")
    async def add(risk: str = "low") -> str:
        """Add a note."""
        return "added"

    async def work() -> None:
        night = ManualClock(1_793_500_000.0)
        async with g.Gateway(
            tools=[migrate, add],
            policy=ALLOW_ALL,
            clock=night,
            hours=g.WorkingHours(from_hour=8, to_hour=18),
        ) as gate:
            assert gate.decide("db.migrate.v1", {}).decision == "ask"
            assert "FLOOR_OUTSIDE_HOURS" in gate.decide("note.add.v1", {}).reasons
        async with g.Gateway(tools=[migrate, add], policy=ALLOW_ALL) as gate:
            assert gate.decide("note.add.v1", {}).decision == "allow"
            assert "FLOOR_MODEL_CLAIM" in gate.decide("note.add.v1", {"risk": "high"}).reasons
            assert gate.decide("note.add.v1", {"risk": "low"}).decision == "allow"

    run(work())


CLEARED: list[tuple[str, set[str], str]] = [
    ("public", set(), "ok"),
    ("internal", set(), "ok"),
    ("confidential", set(), "SCOPE_MISSING"),
    ("confidential", {"data:confidential"}, "ok"),
    ("confidential", {"data:restricted"}, "ok"),
    ("restricted", {"data:confidential"}, "SCOPE_MISSING"),
    ("restricted", {"data:restricted"}, "ok"),
]


@pytest.mark.parametrize(("data", "scopes", "want"), CLEARED)
def test_classes_of_data(data: Any, scopes: set[str], want: str) -> None:
    @g.tool(name="people.find.v1", risk="read_internal", data_class=data)
    async def find() -> str:
        """Find somebody."""
        return "Ana"

    async def work() -> None:
        async with g.Gateway(tools=[find]) as gate:
            result = await gate.call("people.find.v1", {}, principal=g.Principal("bob", scopes=scopes))
            assert (result.status if want == "ok" else code(result)) == want

    run(work())
