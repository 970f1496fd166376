"""What is kept of a decision is what it was made on: recorded calls, denied ones too, replay exactly."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.stores.seal_keys import new_seal_key
from gerbang.cli.policy_records import recorded
from gerbang.compose.auditing import check_run
from gerbang.policy.input import PolicyInput
from gerbang.policy.replay import Recorded, replay_run
from gerbang.ports import Store

RULES = g.Policy.from_rules(
    [
        {
            "id": "no-large",
            "match": {"tool": "desk.*", "arguments": {"amount": {"gt": 100}}},
            "decision": "deny",
            "reason": "TOO_LARGE",
        },
        {
            "id": "not-after-web",
            "match": {"tool": "desk.refund.v1", "history": {"after": {"class": "read_external"}}},
            "decision": "deny",
            "reason": "HAS_READ_THE_WEB",
        },
        {"id": "desk", "match": {"tool": ["desk.*", "web.*"]}, "decision": "allow", "reason": "DESK"},
        {"id": "mail", "match": {"tool": "mail.*"}, "decision": "ask", "reason": "MAIL"},
    ]
)
CLERK = g.Principal("ana", "acme", roles={"clerk", "night"}, scopes={"desk"}, agent="helper")


class Watching:
    """A policy that keeps the documents that it saw."""

    version = RULES.version

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], dict[str, Any]] = {}

    def needs(self, _tool: str) -> tuple[str, ...]:
        return ("stock",)

    def decide(self, document: PolicyInput) -> g.Decision:
        decision = RULES.decide(document)
        self.seen[str(document.step), decision.decision] = document.document()
        return decision


@g.tool(
    name="desk.refund.v1", risk="write_internal", sensitive=("iban",), resources={"order": {"kind": "order"}}
)
def refund(order: str, amount: float, iban: str = "") -> str:
    """Refund an order. Use for tests only. Returns `done`."""
    if amount == 13:
        raise g.ToolError("no such order")
    return "done"


@g.tool(name="web.look.v1", risk="read_external")
def look(word: str) -> str:
    """Look a word up. Use for tests only. Returns a text."""
    return f"{word} is order 4711 of anna@example.org"


@g.tool(name="mail.send.v1", risk="external_communication")
def send(to: str) -> str:
    """Send a mail. Use for tests only. Returns `sent`."""
    return "sent"


TOOLS = [refund, look, send]
DAY: list[tuple[int, str, dict[str, Any], str]] = [
    (1, "desk.refund.v1", {"order": "A1", "amount": 7, "iban": "DE89"}, "ok"),
    (2, "desk.refund.v1", {"order": "A1", "amount": 700.5, "iban": "DE89370400"}, "error"),
    (3, "desk.refund.v1", {"order": "A2", "amount": 13}, "error"),
    (4, "web.look.v1", {"word": "anna"}, "ok"),
    (5, "desk.refund.v1", {"order": "4711", "amount": 5}, "error"),
    (6, "mail.send.v1", {"to": "anna@example.org"}, "ok"),
    (7, "mail.send.v1", {"to": "anna@example.org"}, "pending"),
    (8, "web.look.v1", {"word": "bea"}, "ok"),
]
DECIDED = ["allow", "deny", "allow", "allow", "deny", "ask", "ask", "allow"]


def whose(given: dict[str, Any], _who: g.Principal) -> str:
    """Say whose an order is."""
    return "acme" if given["name"] else "nobody"


async def day(store: str, policy: Any, seal: str | None = None) -> None:
    """Make the calls, each as a step of one run. The person agrees to the first mail, and then is away."""
    asked: list[str] = []

    def person(request: Any) -> g.ApprovalAnswer:
        asked.append(request.tool)
        return g.ApprovalAnswer("approve" if len(asked) == 1 else "wait", g.Principal("bo", "acme"))

    async with g.Gateway(
        TOOLS,
        policy=policy,
        store=store,
        approver=person,
        owners={"order": whose},
        facts={"stock": lambda _given, _who: {"left": 3}},
        seal=seal,
    ) as gate:
        for step, tool, arguments, wanted in DAY:
            result = await gate.call(
                tool, arguments, run_id="day", step_id=step, principal=CLERK, purpose="support"
            )
            assert result.status == wanted, result.for_model


async def taken(store: str, seal: str | None = None, run_id: str = "day") -> list[Recorded]:
    """Return what is on record of the run."""
    async with g.Gateway(TOOLS, policy=RULES, store=store, owners={"order": whose}, seal=seal) as gate:
        inner: Store = gate.store
        row = await inner.run(run_id)
        assert row is not None
        return recorded(row, await inner.events(run_id), await inner.calls(run_id))


def replayed(found: list[Recorded]) -> tuple[list[Any], list[dict[str, Any]]]:
    """Decide all again by the rules, and return what came of it and the documents."""
    documents: list[dict[str, Any]] = []

    def decide(document: PolicyInput) -> g.Decision:
        documents.append(document.document())
        return RULES.decide(document)

    return replay_run(found, decide), documents


@pytest.mark.parametrize("sealed", [False, True], ids=["in the clear", "sealed"])
def test_every_document_is_the_one_that_was_decided_on(tmp_path: Path, sealed: bool) -> None:
    store, seal, policy = f"sqlite:{tmp_path}/s.db", None, Watching()
    if sealed:
        new_seal_key(f"file:{tmp_path}/seal.key")
        seal = f"file:{tmp_path}/seal.key"
    asyncio.run(day(store, policy, seal))
    found, documents = replayed(asyncio.run(taken(store, seal)))
    assert [item.why for item in found] == [""] * len(DAY)
    assert [item.call.whole for item in found] == [True] * len(DAY)
    assert [item.changed for item in found] == [False] * len(DAY)
    assert [item.call.decision for item in found] == DECIDED
    for (step, tool, arguments, _), decision, document in zip(DAY, DECIDED, documents, strict=True):
        assert document == policy.seen[str(step), decision], step
        assert (document["tool"]["name"], document["purpose"]) == (tool, "support")
        assert document["arguments"].items() >= arguments.items()
    words = b"".join(part.read_bytes() for part in tmp_path.glob("s.db*"))
    assert (b"DE89370400" in words) is not sealed


def test_other_rules_change_what_was_denied(tmp_path: Path) -> None:
    asyncio.run(day(f"sqlite:{tmp_path}/s.db", RULES))
    found = asyncio.run(taken(f"sqlite:{tmp_path}/s.db"))
    looser = g.Policy.from_rules(
        [
            {
                "id": "no-large",
                "match": {"tool": "desk.*", "arguments": {"amount": {"gt": 1000}}},
                "decision": "deny",
                "reason": "TOO_LARGE",
            },
            {"id": "clerks", "match": {"roles": ["clerk"]}, "decision": "allow", "reason": "CLERK"},
        ]
    )
    now = [item.now.decision for item in replay_run(found, looser.decide) if item.now is not None]
    assert now == ["allow"] * len(DAY)


def test_what_was_denied_is_erased_and_checked_like_all_else(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/s.db"

    async def work() -> None:
        async with g.Gateway(TOOLS, policy=RULES, store=store, owners={"order": whose}) as gate:
            for amount in (200, 300, 200, 7, 400):  # one place: denied, denied, and only then something else
                given = {"order": "A1", "amount": amount}
                await gate.call("desk.refund.v1", given, step_id=1, run_id="r", principal=CLERK)
            rows = await gate.store.calls("r")
            assert sorted(row.state for row in rows) == ["REFUSED", "REFUSED", "REFUSED", "SUCCEEDED"]
            assert (await check_run(gate.store, "r")).whole
            row = await gate.store.run("r")
            assert row is not None
            found = recorded(row, await gate.store.events("r"), rows)
            assert [(item.decision, (item.arguments or {})["amount"]) for item in found] == [
                ("deny", 200),
                ("deny", 300),
                ("allow", 7),
                ("deny", 400),
            ]
            await gate.erase("r", by=g.Principal("dpo", "acme"))
            left = await gate.store.calls("r")
            assert {(one.arguments, one.policy_input, one.for_model) for one in left} == {(b"{}", b"", "")}
            assert {one.key for one in left} == {one.key for one in rows}

    asyncio.run(work())
    forget = asyncio.run(taken(store, run_id="r"))
    assert [item.why for item in replay_run(forget, RULES.decide)] == ["its arguments were not kept"] * 4


def test_a_changed_payload_of_a_denied_call_is_found(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/s.db"
    asyncio.run(day(store, RULES))
    with sqlite3.connect(tmp_path / "s.db") as file:
        changed = file.execute(
            "UPDATE calls SET arguments = ? WHERE state = 'REFUSED' AND step_id = 'step_002'",
            (b'{"amount":1,"iban":"DE89370400","order":"A1"}',),
        )
        assert changed.rowcount == 1

    async def work() -> str:
        async with g.Gateway(TOOLS, policy=RULES, store=store, owners={"order": whose}) as gate:
            return (await check_run(gate.store, "day")).what

    assert asyncio.run(work()) == "payload"
