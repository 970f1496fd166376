"""Attacks on the layers: lying and hanging look-ups, names of other tenants, evidence, siblings in flight."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.contract.authorise import owner_of
from gerbang.errors import ToolError
from gerbang.testing import ScriptedModel, memory_store
from gerbang.values.model import ModelDone, ModelEvent, ModelRequest, Usage
from tests.runtime.street import ALLOW_ALL, Effects, code, run, toolbox

ACME = g.Principal(user="ana", tenant="acme")


async def deaf(subject: dict[str, Any], who: g.Principal) -> Any:
    """Swallow every cancellation."""
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def leaves(subject: dict[str, Any], who: g.Principal) -> Any:
    """Say that it was cancelled, which nobody has done."""
    raise asyncio.CancelledError


async def quits(subject: dict[str, Any], who: g.Principal) -> Any:
    """End the program."""
    raise SystemExit(3)


def quits_in_thread(subject: dict[str, Any], who: g.Principal) -> Any:
    """End the program, from a thread."""
    raise SystemExit(3)


async def cancels(subject: dict[str, Any], who: g.Principal) -> Any:
    """Give back something that no JSON has."""
    return {1, 2, object()}


@pytest.mark.parametrize("reader", [leaves, quits, quits_in_thread, cancels, deaf])
def test_whatever_a_reader_does_the_call_has_its_one_answer(
    reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gerbang.runtime.lookups._SECONDS", 0.05)

    @g.tool(
        name="docs.write.v1",
        risk="compute",
        validators=[{"name": "exists", "options": {"reader": "doc", "subject": ["name"]}}],
    )
    async def write(name: str) -> str:
        """Write. Returns `written`."""
        return "written"

    async def work() -> None:
        async with g.Gateway(tools=[write], policy=ALLOW_ALL, readers={"doc": reader}) as gate:
            assert code(await gate.call("docs.write.v1", {"name": "a"})) == "CHECK_FAILED"
            assert gate.decide("docs.write.v1", {"name": "a"}).reasons == ("CHECK_FAILED",)

    run(work())


@pytest.mark.parametrize("risk", ["compute", "write_internal"])
def test_a_tool_that_says_at_once_that_it_was_cancelled_was_not(risk: str) -> None:
    @g.tool(name="docs.leave.v1", risk=risk)
    async def leave() -> str:
        """Leave. Returns nothing."""
        raise asyncio.CancelledError

    async def work() -> None:
        async with g.Gateway(tools=[leave], policy=ALLOW_ALL) as gate:
            assert code(await gate.call("docs.leave.v1", {})) == "INTERNAL"

    run(work())


NAMES = [
    ("{tenant}/", "acme/report", "acme"),
    ("{tenant}/", "acme/a..b/c.txt", "acme"),
    ("{tenant}/", "acme/100%/x", "acme"),
    ("{tenant}/", "acme-2/report", "another"),
    ("{tenant}/", "acme/../other/report", "another"),
    ("{tenant}/", "acme\\..\\other", "another"),
    ("{tenant}/", "acme/%2e%2e/other", "another"),
    ("{tenant}/", "acme/%2E%2E%2Fother", "another"),
    ("{tenant}/", "acme/%252e%252e/other", "another"),
    ("{tenant}/", "acme/%25252525252e%2e/other", "another"),
    ("{tenant}/", "acme/\uff0e\uff0e/other", "another"),
    ("{tenant}/", "acme/\u2025/other", "another"),
    ("{tenant}/", "acme/..;a=b/other", "another"),
    ("{tenant}/", "acme/.. /other", "another"),
    ("{tenant}/", "acme/a\0/other", "another"),
    ("{tenant}/", "ACME/report", "another"),
    ("{tenant}/", "\u0430cme/report", "another"),
    ("tenants/{tenant}", "tenants/acme", "acme"),
    ("tenants/{tenant}", "tenants/acme/x", "acme"),
    ("tenants/{tenant}", "tenants/acme2/x", "another"),
    ("tenants/{tenant}", "tenants/acme-2/x", "another"),
    ("{tenant}-", "acme-17", "acme"),
]


@pytest.mark.parametrize(("prefix", "name", "owner"), NAMES)
def test_a_prefix_is_the_tenants_own(prefix: str, name: str, owner: str) -> None:
    @g.tool(
        name="repo.read.v1",
        risk="read_internal",
        resources={"repo": {"kind": "repository", "tenant_prefix": prefix}},
    )
    async def read(repo: str) -> str:
        """Read. Returns its text."""
        return repo

    assert owner_of(read.contract, "repo", name, ACME) == owner


def test_one_call_is_one_piece_of_evidence() -> None:
    @g.tool(name="docs.read.v1", risk="read_internal")
    async def read() -> str:
        """Read. Returns its text."""
        return "text"

    @g.tool(
        name="docs.sum.v1",
        risk="compute",
        validators=[{"name": "evidence", "options": {"argument": "seen", "min": 2}}],
    )
    async def conclude(seen: list[str]) -> str:
        """Conclude. Returns `done`."""
        return "done"

    async def work() -> None:
        async with g.Gateway(tools=[read, conclude], policy=ALLOW_ALL) as gate:
            one = await gate.call("docs.read.v1", {}, run_id="r", step_id=1)
            twice = {"seen": [one.call_id, one.event_id]}
            assert code(await gate.call("docs.sum.v1", twice, run_id="r", step_id=2)) == "NO_EVIDENCE"
            assert (
                code(await gate.call("docs.sum.v1", {"seen": ["", ""]}, run_id="r", step_id=3))
                == "NO_EVIDENCE"
            )
            two = await gate.call("docs.read.v1", {}, run_id="r", step_id=4)
            both = {"seen": [one.call_id, two.event_id]}
            assert code(await gate.call("docs.sum.v1", both, run_id="r", step_id=5)) == "ok"

    run(work())


THREE: list[dict[str, Any]] = [
    {
        "id": "three",
        "match": {"history": {"count": {"class": "external_communication", "ge": 3}}, "tool": "mail.send.v1"},
        "decision": "deny",
        "reason": "THREE_MAILS",
    },
    {
        "id": "read_before",
        "match": {"history": {"after": {"tool": "bank.transfer.v1"}}, "tool": "web.get.v1"},
        "decision": "deny",
        "reason": "AFTER_THE_BANK",
    },
    {"id": "all", "match": {"tool": ["*"]}, "everything": True, "decision": "allow", "reason": "ALL"},
    {
        "id": "bank",
        "match": {"tool": ["bank.transfer.v1"]},
        "auto": True,
        "decision": "allow",
        "reason": "BANK",
    },
]


@pytest.mark.parametrize("where", ["memory:", "sqlite"])
def test_siblings_in_flight_count(where: str, tmp_path: Path) -> None:
    async def work() -> None:
        effects = Effects()
        store = where if where == "memory:" else f"sqlite:{tmp_path / 'g.db'}"
        async with g.Gateway(tools=toolbox(effects), policy=g.Policy.from_rules(THREE), store=store) as gate:
            sent = await asyncio.gather(
                *(gate.call("mail.send.v1", {"to": f"m{n}"}, run_id="r", step_id=n) for n in range(12))
            )
            assert sorted(map(code, sent)) == ["THREE_MAILS"] * 9 + ["ok"] * 3
            assert len(effects.log) == 3

    run(work())


def test_what_the_limits_refused_was_not_sent_and_does_not_count() -> None:
    async def work() -> None:
        effects = Effects()
        async with g.Gateway(tools=toolbox(effects), policy=g.Policy.from_rules(THREE)) as gate:
            gate.kill("tool:mail.send.v1")
            for number in range(5):
                refused = await gate.call("mail.send.v1", {"to": "x"}, run_id="r", step_id=number)
                assert code(refused) == "KILL_SWITCH"
            await gate.revive("tool:mail.send.v1")
            assert code(await gate.call("mail.send.v1", {"to": "x"}, run_id="r", step_id=9)) == "ok"

    run(work())


def test_a_run_that_is_given_anothers_result_has_read_it() -> None:
    async def work() -> None:
        effects = Effects()
        async with g.Gateway(tools=toolbox(effects), policy=g.Policy.from_rules(THREE)) as gate:
            paid = {"invoice": "i1", "amount": 3}
            assert code(await gate.call("bank.transfer.v1", paid, run_id="a")) == "ok"
            again = await gate.call("bank.transfer.v1", paid, run_id="b")
            assert (again.status, again.replayed) == ("ok", True)
            assert (
                code(await gate.call("web.get.v1", {"page": "p"}, run_id="b", step_id=2)) == "AFTER_THE_BANK"
            )

    run(work())


@pytest.mark.parametrize("keeps_tool", [True, False])
def test_what_a_run_did_is_known_to_the_next_process(keeps_tool: bool) -> None:
    """Also when the tool is gone, or its class has become harmless."""

    async def work() -> None:
        effects, store = Effects(), memory_store()
        policy = g.Policy.from_rules(THREE)
        tools = toolbox(effects)
        async with g.Gateway(tools=tools, policy=policy, store=store) as gate:
            await gate.call("bank.transfer.v1", {"invoice": "i1", "amount": 3}, run_id="a")
        left = tools if keeps_tool else [one for one in tools if one.contract.name != "bank.transfer.v1"]
        async with g.Gateway(tools=left, policy=policy, store=store) as gate:
            assert (
                code(await gate.call("web.get.v1", {"page": "p"}, run_id="a", step_id=2)) == "AFTER_THE_BANK"
            )

    run(work())


@pytest.mark.parametrize("blocking", [False, True])
def test_a_tool_that_changes_its_arguments_changes_no_later_attempt(blocking: bool) -> None:
    seen: list[Any] = []

    def work_on(items: list[str], deep: dict[str, Any]) -> str:
        """Read. Returns text."""
        seen.append((list(items), dict(deep)))
        items.append("evil")
        deep["to"] = "evil"
        raise ToolError(
            "no", code="CONNECT_FAILED", error_type="transient_network_error", effect="none", recoverable=True
        )

    async def waiting(items: list[str], deep: dict[str, Any]) -> str:
        """Read. Returns text."""
        return work_on(items, deep)

    body: Any = work_on if blocking else waiting
    tool = g.tool(name="docs.read.v1", risk="read_internal", retry={"max_attempts": 3, "base_ms": 1})(body)

    async def work() -> None:
        async with g.Gateway(tools=[tool], policy=ALLOW_ALL) as gate:
            await gate.call("docs.read.v1", {"items": ["a"], "deep": {}})
        assert seen == [(["a"], {})] * 3

    run(work())


@pytest.mark.parametrize("kind", ["deaf", "quits", "changes", "hangs in a thread"])
def test_whatever_a_previewer_does_a_dry_run_answers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gerbang.runtime.executor._PREVIEW_S", 0.05)
    over = threading.Event()

    async def previewed(names: list[str]) -> str:
        """Say what would happen."""
        if kind == "quits":
            raise SystemExit(3)
        if kind == "changes":
            names.append("evil")
            return "nothing"
        await deaf({}, ACME)
        return "never"

    def hangs(names: list[str]) -> str:
        """Say what would happen, far too late."""
        over.wait()
        return "late"

    @g.tool(name="docs.write.v1", risk="write_internal")
    async def write(names: list[str]) -> str:
        """Write. Returns the names."""
        return ",".join(names)

    write.previewer = hangs if kind == "hangs in a thread" else previewed

    async def work() -> None:
        async with g.Gateway(tools=[write], policy=ALLOW_ALL) as gate:
            dry = await gate.dry_run("docs.write.v1", {"names": ["a"]})
            assert dry.decision.decision == "allow"
            assert "evil" not in str(dry.preview)
            assert (await gate.call("docs.write.v1", {"names": ["a"]})).value == "a"
        over.set()

    run(work())


class Thirsty(ScriptedModel):
    """A model that says it used 60 tokens for every answer."""

    async def answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the next item, and what it took."""
        async for event in super().answer(request):
            yield ModelDone(event.finish_reason, Usage(50, 10)) if isinstance(event, ModelDone) else event


def test_tokens_that_a_run_has_used_are_used_after_a_resume() -> None:
    async def work() -> None:
        effects = Effects()
        async with g.Gateway(tools=toolbox(effects), store=memory_store()) as gate:
            script: list[Any] = [
                [("mail.send.v1", {"to": "ana"})],
                [("docs.read.v1", {"name": "a"})],
                "Done.",
            ]
            agent = g.Agent(Thirsty(script), gate, max_tokens=100)
            first = await agent.run("Mail it.")
            assert first.calls[-1].approval_id is not None
            await gate.approve(first.calls[-1].approval_id, by=g.Principal(user="boss"))
            done = await agent.resume(first.run_id)
            assert (done.status, effects.log) == ("budget", ["mail ana", "+a", "-a"])

    run(work())
