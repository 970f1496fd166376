"""One run of a caller's own loop, driven by several processes at once: each knows what the others did."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.compose.auditing import check_run

from .child_caller import RULES, TOOLS
from .helpers import CHILD_S, child, run

CALLER = Path(__file__).parent / "child_caller.py"
PROCESSES = 3


def gateway(url: str, **more: Any) -> g.Gateway:
    return g.Gateway(TOOLS, policy=more.pop("policy", RULES), store=url, **more)


async def call(gate: g.Gateway, tool: str, step: int, text: str = "x") -> str:
    """Make a call of the run; return `ok`, `pending` or the error's code."""
    result = await gate.call(tool, {"text": text}, run_id="r", step_id=step)
    return result.status if result.error is None else result.error.error_code


def rules(*items: dict[str, Any]) -> g.Policy:
    everything = {"id": "rest", "match": {"tool": ["mail.*", "note.*", "web.*"]}}
    return g.Policy.from_rules([*items, everything | {"decision": "allow", "reason": "OK"}])


def deny(tool: str, **match: Any) -> dict[str, Any]:
    return {"id": "no", "match": {"tool": tool, **match}, "decision": "deny", "reason": "NO"}


SEQUENCES: list[tuple[str, g.Policy, list[tuple[int, str, str]]]] = [
    (
        "what another process sent counts",
        RULES,
        [(0, "web.read.v1", "ok"), (1, "mail.send.v1", "ok"), (0, "mail.send.v1", "ONE_MAIL")],
    ),
    (
        "what another process read counts",
        rules(deny("mail.send.v1", history={"after": {"class": "read_external"}})),
        [(0, "mail.send.v1", "ok"), (1, "web.read.v1", "ok"), (0, "mail.send.v1", "NO")],
    ),
    (
        "and lets a rule allow",
        rules(deny("mail.send.v1", history={"not_after": {"tool": "note.write.v1"}})),
        [(0, "mail.send.v1", "NO"), (1, "note.write.v1", "ok"), (0, "mail.send.v1", "ok")],
    ),
    (
        "in the order of the record",
        rules(
            deny(
                "mail.send.v1",
                history={"not_after": {"tool": "note.write.v1", "since": {"tool": "web.read.v1"}}},
            )
        ),
        [
            (0, "note.write.v1", "ok"),
            (1, "web.read.v1", "ok"),
            (0, "mail.send.v1", "NO"),
            (1, "note.write.v1", "ok"),
            (0, "mail.send.v1", "ok"),
            (0, "web.read.v1", "ok"),
            (1, "mail.send.v1", "NO"),
        ],
    ),
    (
        "taint of what another process read",
        rules(deny("mail.send.v1", taint={"run": True})),
        [(0, "mail.send.v1", "ok"), (1, "web.read.v1", "ok"), (0, "mail.send.v1", "NO")],
    ),
    (
        "calls of the run in its budget",
        rules(deny("mail.send.v1", budget={"calls": {"ge": 4}})),
        [(0, "note.write.v1", "ok"), (1, "note.write.v1", "ok"), (0, "mail.send.v1", "NO")],
    ),
]


@pytest.mark.parametrize("case", SEQUENCES, ids=[name for name, _, _ in SEQUENCES])
def test_sequences_over_two_processes(shared: str, case: tuple[str, g.Policy, list[Any]]) -> None:
    _, policy, calls = case

    async def work() -> list[str]:
        async with gateway(shared, policy=policy) as one, gateway(shared, policy=policy) as other:
            for gate in (one, other):  # both know the run from its beginning
                await call(gate, "clock.now.v1", 1 if gate is one else 2)
            both = (one, other)
            return [await call(both[who], tool, 10 + n) for n, (who, tool, _) in enumerate(calls)]

    assert run(work()) == [code for _, _, code in calls]


def test_where_a_value_came_from_is_known_over_processes(shared: str) -> None:
    policy = rules(deny("mail.send.v1", taint={"arguments": {"text": ["equal", "contained"]}}))

    async def work() -> list[str]:
        async with gateway(shared, policy=policy) as one, gateway(shared, policy=policy) as other:
            said = [await call(one, "mail.send.v1", 1, "the page of bunga")]
            said.append(await call(other, "web.read.v1", 2, "bunga"))
            said.append(await call(one, "mail.send.v1", 3, "the page of bunga"))
            said.append(await call(one, "mail.send.v1", 4, "something that nobody read"))
            return said

    assert run(work()) == ["ok", "ok", "NO", "ok"]


def test_what_the_user_said_to_one_process_is_known_to_the_others(shared: str) -> None:
    policy = rules(deny("mail.send.v1", taint={"arguments": {"text": ["unexplained", "contained"]}}))

    async def work() -> list[str]:
        async with gateway(shared, policy=policy) as one, gateway(shared, policy=policy) as other:
            said = [await call(one, "clock.now.v1", 1), await call(other, "clock.now.v1", 2)]
            said.append(await call(one, "mail.send.v1", 3, "ana@acme.example"))
            await other.said("Write to ana@acme.example.", run_id="r")
            said.append(await call(one, "mail.send.v1", 4, "ana@acme.example"))
            said.append(await call(other, "mail.send.v1", 5, "bo@acme.example"))
            return said

    assert run(work()) == ["ok", "ok", "NO", "ok", "NO"]


def test_a_run_that_somebody_else_began_meanwhile_is_not_gone_on_with(shared: str) -> None:
    ana, bo = g.Principal("ana", "acme"), g.Principal("bo", "other")
    given: dict[str, Any] = {"text": "x"}

    async def work() -> list[str]:
        async with gateway(shared) as one, gateway(shared) as other:
            await other._runs.memory("r", bo, other.store, other.catalogue)  # before there is such a run
            await one.call("note.write.v1", given, run_id="r", step_id=1, principal=ana)
            with pytest.raises(g.UsageError, match="belongs to somebody else"):
                await other.call("note.write.v1", given, run_id="r", step_id=2, principal=bo)
            return [row.step_id for row in await one.store.calls("r")]

    assert run(work()) == ["step_001"]


def test_a_refusal_by_a_person_holds_in_every_process(shared: str) -> None:
    policy = g.Policy.from_rules(
        [{"id": "ask", "match": {"tool": ["mail.*", "web.*"]}, "decision": "ask", "reason": "ASK"}]
    )
    asked: list[str] = []

    def person(request: Any) -> bool:
        asked.append(request.tool)
        return bool(request.tool == "web.read.v1")

    async def work() -> list[str]:
        async with (
            gateway(shared, policy=policy, approver=person) as one,
            gateway(shared, policy=policy, approver=person) as other,
        ):
            said = [await call(one, "web.read.v1", 1), await call(other, "web.read.v1", 2)]
            said.append(await call(other, "mail.send.v1", 3, "same"))
            said.append(await call(one, "mail.send.v1", 4, "same"))
            return said

    assert run(work()) == ["ok", "ok", "APPROVER_REFUSED", "APPROVER_REFUSED"]
    assert asked == ["web.read.v1", "web.read.v1", "mail.send.v1"]


def test_processes_that_race_keep_the_rules(shared: str) -> None:
    async def begin() -> None:
        async with gateway(shared) as gate:  # makes the store
            await call(gate, "clock.now.v1", 1)

    async def whole() -> bool:
        async with gateway(shared) as gate:
            return (await check_run(gate.store, "r")).whole

    run(begin())
    children = [child(CALLER, shared, f"p{n}") for n in range(PROCESSES)]
    ended = [one.communicate(timeout=CHILD_S) for one in children]
    assert [err for _, err in ended] == [""] * PROCESSES
    found = Counter(line for out, _ in ended for line in out.splitlines())
    assert run(whole())
    assert found["mail.send.v1 ok "] == 1
    assert found["note.write.v1 ok "] == 5
    assert found["web.read.v1 ok "] == 6 * PROCESSES
    assert found["mail.send.v1 error ONE_MAIL"] == 6 * PROCESSES - 1
    assert found["note.write.v1 error FIVE_NOTES"] == 6 * PROCESSES - 5
    assert sum(found.values()) == 18 * PROCESSES
