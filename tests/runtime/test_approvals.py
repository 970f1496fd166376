"""A person decides: asked at once, or later; once, for exactly what they saw."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import Effects, code, endings, run, toolbox

BOSS = g.Principal(user="boss")


async def send(gate: g.Gateway, step: int = 1, to: str = "ana", **options: Any) -> g.Result:
    return await gate.call("mail.send.v1", {"to": to}, run_id="r", step_id=step, **options)


def yes(request: g.ApprovalRequest) -> Any:
    return True


def no(request: g.ApprovalRequest) -> Any:
    return False


async def yes_later(request: g.ApprovalRequest) -> Any:
    await asyncio.sleep(0)
    return True


def answer(request: g.ApprovalRequest) -> Any:
    return g.ApprovalAnswer("approve", BOSS, "fine")


def refusal(request: g.ApprovalRequest) -> Any:
    return g.ApprovalAnswer("refuse", BOSS, "not to her")


def nobody(request: g.ApprovalRequest) -> Any:
    return g.ApprovalAnswer("unavailable", BOSS)


def breaks(request: g.ApprovalRequest) -> Any:
    raise RuntimeError("token=abcdefghijkl")


async def breaks_later(request: g.ApprovalRequest) -> Any:
    await asyncio.sleep(0)
    raise RuntimeError("token=abcdefghijkl")


class Desk:
    """An approver that is an object."""

    async def ask(self, request: g.ApprovalRequest) -> g.ApprovalAnswer:
        return g.ApprovalAnswer("approve", BOSS)


INLINE: list[tuple[str, Any, str]] = [
    ("true", yes, "ok"),
    ("false", no, "APPROVER_REFUSED"),
    ("true, async", yes_later, "ok"),
    ("answer", answer, "ok"),
    ("an object", Desk(), "ok"),
    ("refusal", refusal, "APPROVER_REFUSED"),
    ("nobody there", nobody, "APPROVER_UNAVAILABLE"),
    ("breaks", breaks, "APPROVER_ERROR"),
    ("breaks later", breaks_later, "APPROVER_ERROR"),
    ("None", lambda request: None, "APPROVER_ERROR"),
    ("1 is not True", lambda request: 1, "APPROVER_ERROR"),
    ("a text is not True", lambda request: "yes", "APPROVER_ERROR"),
    ("takes no argument", lambda: True, "APPROVER_ERROR"),
]


@pytest.mark.parametrize(("approver", "wanted"), [pytest.param(a, w, id=name) for name, a, w in INLINE])
def test_an_approver_that_is_asked_at_once(approver: Any, wanted: str, url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            result = await send(gate)
            assert code(result) == wanted
            assert effects.log == (["mail ana"] if wanted == "ok" else [])
            assert await endings(gate.store, "r") == {result.call_id: 1}
            assert "abcdefghijkl" not in str(result)
            (approval,) = await gate.store.approvals()
            assert approval.state == ("used" if wanted == "ok" else "refused")
            (row,) = await gate.store.calls("r")
            assert row.state == ("SUCCEEDED" if wanted == "ok" else "REFUSED")
            if result.error is not None:
                assert result.error.error_type == "approval_denied"
                assert not result.error.recoverable
                assert result.error.suggested_fix

    run(work())


def test_what_a_person_sees() -> None:
    seen: list[g.ApprovalRequest] = []

    def approver(request: g.ApprovalRequest) -> bool:
        seen.append(request)
        return False

    async def work() -> None:
        ana = g.Principal(user="ana", tenant="acme")
        async with g.Gateway(tools=toolbox(Effects()), approver=approver) as gate:
            text = "\x1b[2Jhi \u202e api_key=abcdefghijklmnop"
            await gate.call("mail.send.v1", {"to": "x@y", "text": text}, principal=ana, run_id="r")

    run(work())
    (request,) = seen
    assert (request.tool, request.risk, request.run_id) == ("mail.send.v1", "external_communication", "r")
    assert request.principal.user == "ana"
    assert request.reasons == ("CLASS_EXTERNAL_COMMUNICATION",)
    assert "x@y" in request.preview
    assert "\x1b" not in request.preview
    assert "\u202e" not in request.preview
    assert "abcdefghijklmnop" not in request.preview


def test_the_refusal_reaches_the_model() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), approver=refusal) as gate:
            result = await send(gate)
            assert "not to her" in result.for_model
            assert "boss" in result.for_model

    run(work())


def test_the_same_refused_call_is_refused_again_without_asking(url: str) -> None:
    asked: list[str] = []

    def approver(request: g.ApprovalRequest) -> bool:
        asked.append(request.arguments["to"])
        return False

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, approver=approver) as gate:
            for step in (1, 2, 3):
                assert code(await send(gate, step)) == "APPROVER_REFUSED"
            assert code(await send(gate, 4, to="bob")) == "APPROVER_REFUSED"

    run(work())
    assert asked == ["ana", "bob"]


def test_an_edit_is_what_runs_and_the_model_is_told(url: str) -> None:
    effects = Effects()

    def approver(request: g.ApprovalRequest) -> g.ApprovalAnswer:
        return g.ApprovalAnswer("approve", BOSS, arguments={"to": "bob"})

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            result = await send(gate)
            assert result.value == "sent to bob"
            assert "bob" in result.for_model
            assert "boss" in result.for_model
            (row,) = await gate.store.calls("r")
            assert row.arguments == b'{"to":"bob"}'

    run(work())
    assert effects.log == ["mail bob"]


EDITS: list[tuple[str, Any, str]] = [
    ("missing field", {"text": "x"}, "MISSING_FIELD"),
    ("extra field", {"to": "bob", "cc": "eve"}, "EXTRA_FIELD"),
    ("not JSON", {"to": object()}, "APPROVER_ERROR"),
    ("denied by policy", {"to": "eve"}, "NOT_TO_EVE"),
]


@pytest.mark.parametrize(("arguments", "wanted"), [pytest.param(a, w, id=name) for name, a, w in EDITS])
def test_an_edit_passes_every_layer_again(arguments: Any, wanted: str, url: str) -> None:
    effects = Effects()
    policy = g.Policy.from_rules(
        [
            {
                "id": "eve",
                "match": {"tool": "mail.*", "arguments": {"to": "eve"}},
                "decision": "deny",
                "reason": "NOT_TO_EVE",
            }
        ]
    )

    def approver(request: g.ApprovalRequest) -> g.ApprovalAnswer:
        return g.ApprovalAnswer("approve", BOSS, arguments=arguments)

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver, policy=policy) as gate:
            result = await send(gate)
            assert code(result) == wanted
            assert await endings(gate.store, "r") == {result.call_id: 1}

    run(work())
    assert effects.log == []


def test_an_approver_that_never_answers_can_be_cancelled(url: str) -> None:
    effects = Effects()
    asked = asyncio.Event()

    async def approver(request: g.ApprovalRequest) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            task = asyncio.create_task(send(gate))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (approval,) = await gate.store.approvals()
            assert approval.state == "cancelled"

    run(work())
    assert effects.log == []
