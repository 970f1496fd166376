"""Code that is not the gate's own and that the gate asks: it may raise anything, hang, or answer nonsense.

Whatever it does, a call has one result and one record, nothing runs on it, and the process goes on.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import gerbang as g
from tests.runtime.street import Effects, code, run

BO = g.Principal("bo")
ALLOW = [{"id": "all", "match": {"tool": "notes.*"}, "decision": "allow", "reason": "YES"}]
SECRET = "ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zABCDE"


def raising(error: BaseException) -> Callable[..., Any]:
    def stranger(*_: Any) -> Any:
        raise error

    return stranger


async def hanging(*_: Any) -> Any:
    await asyncio.sleep(3_600)


async def deaf(*_: Any) -> Any:
    """Goes on through the first cancellation."""
    for _again in range(2):
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            continue


async def cancelling_itself(*_: Any) -> Any:
    raise asyncio.CancelledError


class Odd:
    """An object that ends the program when somebody looks at it."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit(4)

    def __eq__(self, other: object) -> bool:
        raise SystemExit(5)

    __hash__ = None  # type: ignore[assignment]


RAISES: dict[str, Callable[..., Any]] = {
    "an error": raising(ValueError(SECRET)),
    "the end of the program": raising(SystemExit(1)),
    "a cancellation": raising(asyncio.CancelledError()),
    "a cancellation of its own": cancelling_itself,
    "the end of a generator": raising(GeneratorExit()),
    "the end of a loop": raising(StopIteration()),
    "a group": raising(BaseExceptionGroup("both", [SystemExit(1)])),
}
ANSWERS: dict[str, Callable[..., Any]] = {
    "nothing": lambda *_: None,
    "one": lambda *_: 1,
    "a word": lambda *_: "approve",
    "an object": lambda *_: {"verdict": "approve", "decision": "allow"},
    "an odd object": lambda *_: Odd(),
}


def wrong_answer(*fields: Any, **more: Any) -> Callable[..., Any]:
    return lambda _: g.ApprovalAnswer(*fields, **more)


APPROVERS = {
    **RAISES,
    **ANSWERS,
    "a verdict that there is not": wrong_answer("APPROVE", BO),
    "a name in place of a person": wrong_answer("approve", "bo"),
    "a person without a name": wrong_answer("approve", g.Principal("")),
    "a person with half a letter": wrong_answer("approve", g.Principal("b\ud800")),
    "a person with a number for a name": wrong_answer("approve", g.Principal(5)),  # type: ignore[arg-type]
    "a team with half a letter": wrong_answer("approve", g.Principal("bo", team="\ud800")),
    "arguments that are a list": wrong_answer("approve", BO, arguments=[1]),
    "arguments that are no JSON": wrong_answer("approve", BO, arguments={"text": float("nan")}),
}


def notes(effects: Effects, **more: Any) -> Any:
    @g.tool(name="notes.save.v1", risk="write_internal", **more)
    async def save(text: str) -> str:
        """Save a note."""
        effects(text)
        return "saved"

    return save


def places(tmp_path: Path) -> Iterator[str]:
    yield "memory:"
    yield f"sqlite:{tmp_path}/strangers.db"


@pytest.mark.parametrize("store", [0, 1], ids=["memory", "sqlite"])
@pytest.mark.parametrize("what", APPROVERS)
def test_an_approver_that_fails_has_not_approved(what: str, store: int, tmp_path: Path) -> None:
    async def story() -> None:
        effects = Effects()
        where = list(places(tmp_path))[store]
        async with g.Gateway([notes(effects)], approver=APPROVERS[what], store=where) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")
            assert (code(result), effects.log) == ("APPROVER_ERROR", [])
            assert SECRET not in result.for_model
            assert [row.state for row in await gate.store.calls("r")] == ["REFUSED"]
            assert [row.state for row in await gate.store.approvals(run_id="r")] == ["refused"]

    run(story())


@pytest.mark.parametrize("store", [0, 1], ids=["memory", "sqlite"])
@pytest.mark.parametrize("approver", [hanging, deaf])
def test_an_approver_that_never_answers_is_asked_until_the_request_expires(
    approver: Callable[..., Any], store: int, tmp_path: Path
) -> None:
    async def story() -> None:
        effects = Effects()
        where = list(places(tmp_path))[store]
        tools = [notes(effects)]
        async with g.Gateway(tools, approver=approver, store=where, approval_s=0.2) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")
            assert (code(result), effects.log) == ("APPROVAL_TIMEOUT", [])
            assert [row.state for row in await gate.store.approvals(run_id="r")] == ["expired"]

    run(story())


def test_somebody_else_may_decide_while_an_approver_of_the_same_process_is_asked() -> None:
    async def story() -> None:
        effects = Effects()
        async with g.Gateway([notes(effects)], approver=hanging, store="memory:") as gate:
            call = asyncio.ensure_future(gate.call("notes.save.v1", {"text": "hi"}, run_id="r"))
            while not (waiting := await gate.store.approvals(run_id="r")):
                await asyncio.sleep(0)
            await gate.approve(waiting[0].approval_id, by=BO)
            assert ((await call).value, effects.log) == ("saved", ["hi"])

    run(story())


class Policy:
    """A policy of the embedding program's own, that answers with what a function says."""

    version = "1"

    def __init__(self, says: Callable[..., Any]) -> None:
        self._says = says

    def decide(self, document: Any) -> Any:
        return self._says(document)


class Waiting(Policy):
    async def decide_async(self, document: Any) -> Any:
        said = self._says(document)
        return await said if asyncio.iscoroutine(said) else said


def decision(*fields: Any) -> Callable[..., Any]:
    return lambda _: g.Decision(*fields)


POLICIES = {
    **{what: says for what, says in RAISES.items() if what != "a cancellation of its own"},
    **ANSWERS,
    "a verdict that there is not": decision("maybe", ("YES",), None, "1"),
    "no reason": decision("allow", (), None, "1"),
    "a word for reasons": decision("allow", "YES", None, "1"),
    "a number for a reason": decision("allow", (1,), None, "1"),
    "a reason with half a letter": decision("allow", ("\ud800",), None, "1"),
    "a denial with half a letter": decision("deny", ("\ud800",), None, "1"),
    "a question with half a letter": decision("ask", ("YES",), "\ud800", "1"),
    "a number for a rule": decision("allow", ("YES",), 5, "1"),
    "no version": decision("allow", ("YES",), None, None),
    "a number for a duty": decision("allow", ("YES",), None, "1", (5,)),
    "no list of duties": decision("allow", ("YES",), None, "1", None),
    "a duty that nobody knows": decision("allow", ("YES",), None, "1", ("jump",)),
}


@pytest.mark.parametrize("kind", [Policy, Waiting])
@pytest.mark.parametrize("what", POLICIES)
def test_a_policy_that_fails_has_said_no(kind: type[Policy], what: str) -> None:
    async def story() -> None:
        effects = Effects()
        async with g.Gateway([notes(effects)], policy=kind(POLICIES[what])) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")
            assert (code(result), effects.log) == ("POLICY_ERROR", [])
            assert SECRET not in result.for_model

    run(story())


def test_a_policy_that_cancels_itself_has_said_no() -> None:
    async def story() -> None:
        async with g.Gateway([notes(Effects())], policy=Waiting(cancelling_itself)) as gate:
            assert code(await gate.call("notes.save.v1", {"text": "hi"})) == "POLICY_ERROR"

    run(story())


FINDINGS: dict[str, Callable[..., Any]] = {
    **{what: says for what, says in RAISES.items() if what != "a cancellation of its own"},
    **ANSWERS,
    "numbers": lambda *_: [g.Finding(*cast(Any, (5, (6,), 7)))],
    "half a letter": lambda *_: [g.Finding("BAD", ("text",), "\ud800")],
    "half a letter for a code": lambda *_: [g.Finding("\ud800", ("text",), "bad")],
    "an endless code": lambda *_: [g.Finding("X" * 10_000, ("text",), "bad")],
}


@pytest.mark.parametrize("what", FINDINGS)
def test_a_validator_that_fails_has_not_found_the_call_sound(what: str) -> None:
    async def story() -> None:
        effects = Effects()
        validator = g.SemanticValidator("odd", FINDINGS[what])
        tool = notes(effects, validators=[{"name": "odd"}])
        policy = g.Policy.from_rules(ALLOW)
        async with g.Gateway([tool], policy=policy, validators=[validator]) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"})
            assert (code(result), effects.log) == ("CHECK_FAILED", [])
            assert SECRET not in result.for_model

    run(story())


def test_what_a_validator_says_is_masked_and_bounded() -> None:
    def talkative(*_: Any) -> Iterator[g.Finding]:
        for _again in range(1_000):
            yield g.Finding("BAD", ("text",), f"{SECRET} {'blah ' * 10_000}")

    async def story() -> None:
        tool = notes(Effects(), validators=[{"name": "odd"}])
        async with g.Gateway([tool], validators=[g.SemanticValidator("odd", talkative)]) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"})
            assert code(result) == "BAD"
            assert SECRET not in repr(result)
            assert len(result.for_model) < 16_000

    run(story())


@pytest.mark.parametrize("what", [*RAISES, "an odd object"])
def test_a_reader_that_fails_leaves_a_call_unchecked_and_unmade(what: str) -> None:
    async def story() -> None:
        effects = Effects()
        look = {"name": "exists", "options": {"reader": "note", "subject": ["text"]}}
        readers = {"note": {**RAISES, **ANSWERS}[what]}
        async with g.Gateway([notes(effects, validators=[look])], readers=readers) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"})
            assert (code(result), effects.log) == ("CHECK_FAILED", [])

    run(story())


@pytest.mark.parametrize("what", [*(name for name in RAISES if name != "a cancellation of its own")])
def test_a_hook_that_fails_leaves_a_call_unapproved(what: str) -> None:
    async def story() -> None:
        effects = Effects()
        tool = notes(effects)
        tool.files(RAISES[what])
        async with g.Gateway([tool], approver=lambda _: True) as gate:
            result = await gate.call("notes.save.v1", {"text": "hi"})
            assert (code(result), effects.log) == ("APPROVAL_FILES", [])

    run(story())


def test_a_gateway_that_is_opened_again_in_another_loop_still_times_its_strangers_out() -> None:
    gate = g.Gateway([notes(Effects())], approver=hanging, approval_s=0.2)

    async def story() -> None:
        async with gate:
            assert code(await gate.call("notes.save.v1", {"text": "hi"})) == "APPROVAL_TIMEOUT"

    run(story())
    run(story())
