"""Runs that end as `denied`: refused as a whole. A call that was refused in a run that goes on is none."""

from typing import Any

import pytest

import gerbang as g
from gerbang.loop.profile import profile_named
from gerbang.testing import ScriptedModel
from tests.runtime.street import Effects, bodies, run, toolbox

POLICY = g.Policy.from_rules(
    [
        {"id": "mail", "match": {"tool": "mail.send.v1"}, "decision": "deny", "reason": "NO_MAIL"},
    ]
)
MAIL = ("mail.send.v1", {"to": "ana"})
WRONG = ("mail.send.v1", {"to": 7})
SUM = ("sums.add.v1", {"a": 1, "b": 2})
CRASH: tuple[str, dict[str, int]] = ("sums.crash.v1", {})
TEXTS = profile_named("local").texts("en")

ENDS: list[tuple[str, list[Any], str, str]] = [
    ("refused, then silent", [[MAIL], ""], "denied", TEXTS.denied),
    ("refused twice, then silent", [[MAIL], [("mail.send.v1", {"to": "bo"})], " \n"], "denied", TEXTS.denied),
    ("two refused in one answer", [[MAIL, ("mail.send.v1", {"to": "bo"})], ""], "denied", TEXTS.denied),
    ("mended, refused, then silent", [[WRONG], [MAIL], ""], "denied", TEXTS.denied),
    ("refused, then prose", [[MAIL], "I may not send mail."], "completed", "I may not send mail."),
    ("one of two ran", [[MAIL, SUM], ""], "completed", TEXTS.empty),
    ("one ran before", [[SUM], [MAIL], ""], "completed", TEXTS.empty),
    ("one ran after", [[MAIL], [SUM], ""], "completed", TEXTS.empty),
    ("one failed, then refused", [[CRASH], [MAIL], ""], "completed", TEXTS.empty),
    ("wrong arguments, then silent", [[WRONG], ""], "completed", TEXTS.empty),
    ("nothing asked for", [""], "completed", TEXTS.empty),
]


def agent(gate: g.Gateway, script: list[Any]) -> g.Agent:
    return g.Agent(ScriptedModel(script), gate, profile="local")


@pytest.mark.parametrize(
    ("script", "status", "answer"), [one[1:] for one in ENDS], ids=[one[0] for one in ENDS]
)
def test_how_a_run_ends(url: str, script: list[Any], status: str, answer: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, policy=POLICY) as gate:
            result = await agent(gate, script).run("Write to Ana.")
            assert (result.status, result.answer) == (status, answer)
            row = await gate.store.run(result.run_id)
            assert row is not None
            assert (row.state, row.answer) == (status, answer)
            last = (await bodies(gate.store, result.run_id))[-1]
            assert (last["kind"], last["status"]) == ("run.finished", status)

    run(work())


@pytest.mark.parametrize(
    ("earlier", "status"),
    [([], "denied"), ([SUM], "completed"), ([CRASH], "completed"), ([WRONG], "denied")],
    ids=["nothing before", "one ran before", "one failed before", "a wrong one before"],
)
def test_a_run_that_a_person_refused(durable: str, earlier: list[Any], status: str) -> None:
    script = [*([earlier] if earlier else []), [MAIL], ""]

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=durable) as gate:
            waiting = await agent(gate, script).run("Write to Ana.")
            assert waiting.status == "pending_approval"
            (request,) = await gate.store.approvals(run_id=waiting.run_id)
            await gate.refuse(request.approval_id, by=g.Principal("bo"), reason="not her")
        async with g.Gateway(tools=toolbox(Effects()), store=durable) as gate:
            result = await agent(gate, [""]).resume(waiting.run_id)
            assert result.status == status
            with pytest.raises(g.UsageError, match=status):
                await agent(gate, [""]).resume(waiting.run_id)

    run(work())


class Picker(ScriptedModel):
    """A model that only picks tools."""

    writes_prose = False


def test_a_model_without_prose_ends_with_what_was_said(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, policy=POLICY) as gate:
            result = await g.Agent(Picker([[MAIL], ""]), gate, profile="local").run("Write to Ana.")
            assert result.status == "denied"
            assert result.calls[0].error is not None
            assert result.answer == result.calls[0].error.message

    run(work())


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("all", "denied"),
        ("tenant:local", "denied"),
        ("tool:sums.add.v1", "completed"),
        ("tenant:x", "completed"),
    ],
)
def test_a_switch_over_the_whole_run_ends_it(url: str, target: str, status: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, policy=POLICY) as gate:

            def turned(_: Any) -> Any:
                gate.kill(target, reason="drill")
                return [("sums.add.v1", {"a": 3, "b": 4})]

            model = ScriptedModel([[SUM], turned, "done"])
            result = await g.Agent(model, gate, profile="local").run("Add.")
            assert result.status == status
            assert model.requests == (2 if status == "denied" else 3)
            if status == "denied":
                assert (result.answer, "KILL_SWITCH" in result.detail) == (TEXTS.killed, True)

    run(work())


def test_a_switch_that_another_process_turned(durable: str) -> None:
    async def work() -> None:
        async with (
            g.Gateway(tools=toolbox(Effects()), store=durable, policy=POLICY) as gate,
            g.Gateway(store=durable) as other,
        ):
            await other.kill("all", reason="drill")
            result = await agent(gate, [[SUM], "done"]).run("Add.")
            assert (result.status, result.answer) == ("denied", TEXTS.killed)

    run(work())
