"""The duties that a policy puts on an approval: who may give it, how many, and what they may see."""

from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import Effects, bodies, code, run, toolbox

ASKER = g.Principal("ana", "acme", roles={"clerk"})
AGENT = g.Principal("ana", "acme", agent="robot", delegated_by=("head",))


def person(name: str, *roles: str, **more: Any) -> g.Principal:
    return g.Principal(name, "acme", roles=roles, **more)


def policy(*obligations: Any, decision: str = "ask") -> g.Policy:
    rule = {
        "id": "mail",
        "match": {"tool": "mail.send.v1"},
        "decision": decision,
        "reason": "MAIL",
        "obligations": list(obligations),
    }
    return g.Policy.from_rules([rule])


async def send(gate: g.Gateway, step: int = 1, to: str = "eve", **more: Any) -> g.Result:
    who = more.pop("principal", ASKER)
    return await gate.call("mail.send.v1", {"to": to, **more}, run_id="r", step_id=step, principal=who)


async def asked(gate: g.Gateway, **more: Any) -> str:
    waiting = await send(gate, **more)
    assert waiting.status == "pending", waiting
    assert waiting.approval_id is not None
    return waiting.approval_id


BO, CY = person("bo"), person("cy")

# obligations, then who votes (and with what), then what comes of each vote: the state, or an error's code
VOTES: list[tuple[list[Any], g.Principal, list[tuple[g.Principal, dict[str, Any] | None]], list[str]]] = [
    ([], ASKER, [(ASKER, None)], ["granted"]),
    (["two_person"], ASKER, [(BO, None), (CY, None)], ["pending", "granted"]),
    (["two_person"], ASKER, [(BO, None), (BO, None)], ["pending", "SECOND_PERSON"]),
    (["two_person"], ASKER, [(BO, None), (person("bo", "chief"), None)], ["pending", "SECOND_PERSON"]),
    (["two_person"], ASKER, [(BO, None), (person("cy", delegated_by=("bo",)), None)],
     ["pending", "SECOND_PERSON"]),
    (["two_person"], ASKER, [(person("bo", delegated_by=("cy",)), None), (CY, None)],
     ["pending", "SECOND_PERSON"]),
    (["two_person"], ASKER, [(person("bo", agent="bot"), None)], ["APPROVER_IS_AGENT"]),
    (["two_person"], ASKER, [(ASKER, None), (BO, None)], ["pending", "granted"]),
    (["two_person", "no_self_approval"], ASKER, [(ASKER, None), (BO, None), (CY, None)],
     ["SELF_APPROVAL", "pending", "granted"]),
    (["two_person"], ASKER, [(BO, None), (CY, {"to": "al"}), (CY, None), (BO, None)],
     ["pending", "pending", "SECOND_PERSON", "granted"]),
    (["two_person"], ASKER, [(BO, {"to": "al"}), (CY, None)], ["pending", "granted"]),
    (["no_self_approval"], ASKER, [(ASKER, None), (BO, None)], ["SELF_APPROVAL", "granted"]),
    (["no_self_approval"], ASKER, [(person("bo", delegated_by=("ana",)), None)], ["SELF_APPROVAL"]),
    (["no_self_approval"], AGENT, [(person("head"), None), (person("ana"), None), (BO, None)],
     ["SELF_APPROVAL", "SELF_APPROVAL", "granted"]),
    ([{"approvers": ["ops", "chief"]}], ASKER, [(BO, None), (person("cy", "ops"), None)],
     ["APPROVER_ROLE", "granted"]),
    ([{"approvers": ["clerk"]}, "no_self_approval"], ASKER, [(ASKER, None)], ["SELF_APPROVAL"]),
    (["other_approver"], ASKER, [(BO, None)], ["granted"]),
    (["other_approver"], ASKER, [(BO, {"to": "al"}), (BO, None), (CY, None)],
     ["pending", "OTHER_APPROVER", "granted"]),
    (["other_approver"], ASKER, [(BO, {"to": "al"}), (CY, {"to": "di"}), (BO, None)],
     ["pending", "pending", "granted"]),
    (["other_approver", "two_person"], ASKER,
     [(BO, {"to": "al"}), (CY, None), (BO, None), (person("di"), None)],
     ["pending", "pending", "OTHER_APPROVER", "granted"]),
]  # fmt: skip


@pytest.mark.parametrize(("obligations", "asker", "votes", "wanted"), VOTES)
def test_votes(
    obligations: list[Any],
    asker: g.Principal,
    votes: list[tuple[g.Principal, dict[str, Any] | None]],
    wanted: list[str],
    url: str,
) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=policy(*obligations)) as gate:
            waiting = await asked(gate, principal=asker)
            to = "eve"
            for (by, arguments), want in zip(votes, wanted, strict=True):
                if want.isupper():
                    with pytest.raises(g.UsageError, match=want):
                        await gate.approve(waiting, by=by, arguments=arguments)
                    continue
                row = await gate.approve(waiting, by=by, arguments=arguments)
                assert row.state == want
                to = to if arguments is None else arguments["to"]
            done = await send(gate, principal=asker)
            granted = wanted[-1] == "granted"
            assert done.status == ("ok" if granted else "pending")
            assert effects.log == ([f"mail {to}"] if granted else [])
            said = [body for body in await bodies(gate.store, "r") if body["kind"].startswith("approval.")]
            assert [body.get("error_code", "") for body in said[1:]] == [
                want if want.isupper() else "" for want in wanted
            ]
            assert [body["approver"] for body in said[1:]] == [by.user for by, _ in votes]
            assert all(body["finished_at"] > 0 for body in said)

    run(work())


def test_two_people_survive_restarts(durable: str) -> None:
    effects = Effects()
    two = policy("two_person")

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable, policy=two) as gate:
            waiting = await asked(gate)
        async with g.Gateway(store=durable) as clerk:
            assert (await clerk.approve(waiting, by=BO)).state == "pending"
        async with g.Gateway(tools=toolbox(effects), store=durable, policy=two) as gate:
            assert (await send(gate)).status == "pending"
        async with g.Gateway(store=durable) as clerk:
            row = await clerk.approve(waiting, by=CY)
            assert (row.state, row.decided_by) == ("granted", "bo, cy")
        async with g.Gateway(tools=toolbox(effects), store=durable, policy=two) as gate:
            assert (await send(gate)).status == "ok"
            (dispatched,) = [one for one in await bodies(gate.store, "r") if one["kind"] == "call.dispatched"]
            assert dispatched["approver"] == "bo, cy"

    run(work())
    assert effects.log == ["mail eve"]


# what an approver that is asked at once answers, under which duties, and what comes of it
INLINE: list[tuple[list[Any], Any, str]] = [
    ([], [True], "ok"),
    (["no_self_approval"], [True], "SELF_APPROVAL"),
    (["two_person"], [True], "APPROVER_UNNAMED"),
    ([{"approvers": ["ops"]}], [True], "APPROVER_ROLE"),
    ([{"approvers": ["clerk"]}], [True], "ok"),
    (["two_person"], [g.ApprovalAnswer("approve", BO), g.ApprovalAnswer("approve", CY)], "ok"),
    (["two_person"], [g.ApprovalAnswer("approve", BO)], "pending"),
    (["two_person"], [g.ApprovalAnswer("approve", BO), g.ApprovalAnswer("refuse", CY)], "APPROVER_REFUSED"),
    ([{"approvers": ["ops"]}], [g.ApprovalAnswer("approve", BO)], "APPROVER_ROLE"),
    ([{"approvers": ["ops"]}], [g.ApprovalAnswer("approve", person("bo", "ops"))], "ok"),
    ([{"approvers": ["ops"]}], [g.ApprovalAnswer("approve", g.Principal("bo", roles={"ops"}))],
     "APPROVER_FOREIGN"),
    (["other_approver"], [g.ApprovalAnswer("approve", BO, arguments={"to": "al"})], "pending"),
    ([], [g.ApprovalAnswer("wait", BO)], "pending"),
]  # fmt: skip


@pytest.mark.parametrize(("obligations", "answers", "wanted"), INLINE)
def test_an_approver_asked_at_once(obligations: list[Any], answers: list[Any], wanted: str, url: str) -> None:
    effects = Effects()
    asked: list[g.ApprovalRequest] = []

    def approver(request: g.ApprovalRequest) -> Any:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    async def work() -> None:
        duties = policy(*obligations)
        async with g.Gateway(tools=toolbox(effects), store=url, policy=duties, approver=approver) as gate:
            assert code(await send(gate)) == wanted
            assert len(effects.log) == (wanted == "ok")
            (row,) = await gate.store.approvals()
            assert row.state == {"ok": "used", "pending": "pending"}.get(wanted, "refused")
            if row.state == "refused":
                assert code(await send(gate, 2)) == wanted  # it is not asked again
                assert len(await gate.store.approvals()) == 1

    run(work())


def test_redacted_arguments_are_shown_to_nobody(url: str) -> None:
    effects = Effects()
    shown: list[g.ApprovalRequest] = []

    def approver(request: g.ApprovalRequest) -> g.ApprovalAnswer:
        shown.append(request)
        return g.ApprovalAnswer("approve", BO, arguments={**request.arguments, "to": "al"})

    async def work() -> None:
        hidden = policy({"redact": ["text"]})
        async with g.Gateway(tools=toolbox(effects), store=url, policy=hidden, approver=approver) as gate:
            result = await send(gate, text="the heron flies at nine")
            assert result.value == "sent to al"
            (row,) = await gate.store.approvals()
            said = await gate.store.events("r")
            assert b"heron" not in b"".join(event.body for event in said)
            assert "heron" not in row.preview + result.for_model
            assert b"heron" in row.arguments  # the masked value that came back stands for what was there
            assert shown[0].arguments == {"to": "eve", "text": "[redacted]"}

    run(work())


def test_redacted_arguments_of_calls_that_nobody_is_asked_about(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        hidden = policy({"redact": ["text"]}, decision="allow")
        async with g.Gateway(tools=toolbox(effects), store=url, policy=hidden) as gate:
            assert (await send(gate, text="the heron flies at nine")).status == "ok"
            events = await gate.store.events("r")
            assert b"heron" not in b"".join(event.body for event in events)

    run(work())


@pytest.mark.parametrize("decision", ["allow", "ask"])
def test_who_is_to_be_told_is_on_record(decision: str, url: str) -> None:
    news: list[Any] = []

    class Channel:
        async def ask(self, request: g.ApprovalRequest) -> g.ApprovalAnswer:
            return g.ApprovalAnswer("approve", BO)

        def notify(self, what: Any) -> None:
            news.append(what)

    async def work() -> None:
        told = policy({"notify": ["security"]}, decision=decision)
        async with g.Gateway(tools=toolbox(Effects()), store=url, policy=told, approver=Channel()) as gate:
            assert (await send(gate)).status == "ok"
            found = [body["kind"] for body in await bodies(gate.store, "r") if body.get("notify")]
            wanted = (
                ["policy.notified"] if decision == "allow" else ["approval.requested", "approval.granted"]
            )
            assert found == wanted
            assert len(news) == 1

    run(work())


def test_a_duty_that_has_come_up_since_is_asked_for(durable: str) -> None:
    """The same policy, but a fact of today's call asks for a second person."""
    effects = Effects()
    large: list[bool] = [False]
    rules = [
        {"id": "mail", "match": {"tool": "mail.send.v1"}, "decision": "ask", "reason": "MAIL"},
        {
            "id": "large",
            "match": {"tool": "mail.send.v1", "facts": {"large": True}},
            "decision": "ask",
            "reason": "LARGE",
            "obligations": ["two_person"],
        },
    ]

    async def work() -> None:
        async with g.Gateway(
            tools=toolbox(effects),
            store=durable,
            policy=g.Policy.from_rules(rules, facts=["large"]),
            facts={"large": lambda _, __: large[0]},
        ) as gate:
            waiting = await asked(gate)
            assert (await gate.approve(waiting, by=BO)).state == "granted"
            large[0] = True
            assert code(await send(gate)) == "SECOND_PERSON"
            row = await gate.store.approval(waiting)
            assert row is not None
            assert row.state == "expired"

    run(work())
    assert effects.log == []


def test_the_model_is_told_what_was_changed(url: str) -> None:
    seen: list[str] = []

    def last(messages: Any) -> str:
        seen.append(messages[-1].content)
        return "Sent."

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, policy=policy()) as gate:
            agent = g.Agent(ScriptedModel([[("mail.send.v1", {"to": "eve", "text": "hi"})], last]), gate)
            first = await agent.run("Send it.", principal=ASKER)
            (row,) = await gate.store.approvals(state="pending")
            await gate.approve(row.approval_id, by=BO, arguments={"to": "al"})
            done = await agent.resume(first.run_id, principal=ASKER)
            assert done.status == "completed"

    run(work())
    assert 'bo changed the call before it ran: text: "hi" → (removed); to: "eve" → "al"' in seen[0]


def test_a_refusal_is_remembered_after_a_restart(durable: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=durable, policy=policy()) as gate:
            await gate.refuse(await asked(gate), by=BO, reason="not to eve")
            assert code(await send(gate)) == "APPROVER_REFUSED"
        async with g.Gateway(tools=toolbox(Effects()), store=durable, policy=policy()) as gate:
            again = await send(gate, 2)
            assert code(again) == "APPROVER_REFUSED"
            assert "not to eve" in again.for_model
            assert (await send(gate, 3, to="al")).status == "pending"  # another call is another question
            assert len(await gate.store.approvals()) == 2

    run(work())


def test_what_is_hidden_is_not_in_a_preview_either() -> None:
    @g.tool(name="mail.send.v1", risk="external_communication")
    async def tell(to: str, text: str) -> str:
        """Tell somebody something."""
        return text

    @tell.preview
    def shown(to: str, text: str) -> str:
        return f"tell {to}: {text}"

    async def work() -> None:
        call = ("mail.send.v1", {"to": "eve", "text": "the heron flies at nine"})
        async with g.Gateway(tools=[tell], policy=policy({"redact": ["text"]})) as gate:
            would = await gate.dry_run(*call)
            assert "heron" not in would.preview
            waiting = await gate.call(*call, run_id="r")
            row = await gate.store.approval(waiting.approval_id or "")
            assert row is not None
            assert "heron" not in row.preview
        async with g.Gateway(tools=[tell], policy=policy()) as gate:
            assert "It would: tell eve: the heron flies at nine" in (await gate.dry_run(*call)).preview
            waiting = await gate.call(*call, run_id="r")
            row = await gate.store.approval(waiting.approval_id or "")
            assert row is not None
            assert "It would: tell eve: the heron flies at nine" in row.preview

    run(work())
