"""One way in, one way out: every proposal has one result and one terminal record."""

from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import ALLOW_ALL, Effects, bodies, code, endings, history, run, toolbox

DEEP: Any = {}
_at = DEEP
for _ in range(200):
    _at["n"] = {}
    _at = _at["n"]
CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE

BAD_ARGUMENTS: list[tuple[str, Any, str]] = [
    ("not JSON", "{name: x}", "CALL_NOT_JSON"),
    ("half JSON", '{"name": "x', "CALL_NOT_JSON"),
    ("nothing", "", "MISSING_FIELD"),
    ("two values", '{"name": "x"} {"name": "y"}', "CALL_NOT_JSON"),
    ("NaN in text", '{"name": "x", "turns": NaN}', "CALL_NOT_JSON"),
    ("key twice", '{"name": "x", "name": "y"}', "CALL_AMBIGUOUS"),
    ("a list", "[1]", "CALL_SHAPE"),
    ("null", "null", "CALL_SHAPE"),
    ("a string", '"x"', "CALL_SHAPE"),
    ("a number", "7", "CALL_SHAPE"),
    ("10 MB of text", '{"name": "' + "x" * 10_000_000 + '"}', "CALL_TOO_LARGE"),
    ("200 deep in text", '{"name": ' + '{"n":' * 200 + "1" + "}" * 201, "CALL_TOO_DEEP"),
    ("half a surrogate pair in text", '{"name": "\\ud800"}', "CALL_NOT_JSON"),
    ("10 MB", {"name": "x" * 10_000_000}, "CALL_TOO_LARGE"),
    ("200 deep", DEEP, "CALL_TOO_DEEP"),
    ("a cycle", CYCLE, "CALL_TOO_DEEP"),
    ("NaN", {"name": "x", "turns": float("nan")}, "NOT_A_NUMBER"),
    ("infinity", {"name": "x", "turns": float("inf")}, "NOT_A_NUMBER"),
    ("half a surrogate pair", {"name": "\ud800"}, "BAD_UNICODE"),
    ("half a surrogate pair in a key", {"name": "x", "\ud800": 1}, "BAD_UNICODE"),
    ("a key that is no text", {"name": "x", 1: 2}, "NOT_JSON"),
    ("bytes", {"name": b"x"}, "NOT_JSON"),
    ("an object", {"name": object()}, "NOT_JSON"),
    ("an endless integer", {"name": "x", "turns": 10**5000}, "NOT_A_NUMBER"),
    ("None", None, "WRONG_TYPE"),
    ("a list of pairs", [("name", "x")], "WRONG_TYPE"),
    ("missing", {}, "MISSING_FIELD"),
    ("extra", {"name": "x", "force": True}, "EXTRA_FIELD"),
    ("mistyped", {"name": 7}, "WRONG_TYPE"),
    ("null for a text", {"name": None}, "WRONG_TYPE"),
    ("a fraction for an integer", {"name": "x", "turns": 1.5}, "WRONG_TYPE"),
]


@pytest.mark.parametrize(
    ("arguments", "wanted"), [pytest.param(a, w, id=name) for name, a, w in BAD_ARGUMENTS]
)
def test_bad_arguments_run_nothing_and_say_what_to_do(arguments: Any, wanted: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=ALLOW_ALL) as gate:
            result = await gate.call("docs.read.v1", arguments, run_id="r")
            assert code(result) == wanted
            assert result.error is not None
            assert result.error.recoverable
            assert result.error.effect == "none"
            assert result.error.suggested_fix
            assert result.status == "error"
            assert len(result.for_model) < 4_000
            assert "Traceback" not in result.for_model
            assert await endings(gate.store, "r") == {result.call_id: 1}
            assert (await gate.call("docs.read.v1", {"name": "next"}, run_id="r", step_id=2)).status == "ok"

    run(work())
    assert effects.log == ["+next", "-next"]


def test_all_findings_come_at_once() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            result = await gate.call("bank.transfer.v1", {"amount": "lots", "to": "me"})
            assert result.error is not None
            assert [(field.path, field.code) for field in result.error.invalid_fields] == [
                ("/amount", "WRONG_TYPE"),
                ("/invoice", "MISSING_FIELD"),
                ("/to", "EXTRA_FIELD"),
            ]
            assert "lots" not in result.for_model  # what was sent may be a secret

    run(work())


UNKNOWN = [
    "rm_rf",
    "docs.read.v2",
    "read",
    "",
    " ",
    "docs.read.v1 ",
    "../docs.read.v1",
    "x" * 100_000,
    "nul\0",
]


@pytest.mark.parametrize("name", UNKNOWN, ids=[f"{name[:12]!r}" for name in UNKNOWN])
def test_invented_names_run_nothing(name: str, url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=ALLOW_ALL, store=url) as gate:
            result = await gate.call(name, {"name": "x"}, run_id="r")
            assert code(result) == "TOOL_UNKNOWN"
            assert result.error is not None
            assert result.error.recoverable
            assert result.error.available
            assert len(result.for_model) < 4_000
            assert await endings(gate.store, "r") == {result.call_id: 1}

    run(work())
    assert effects.log == []


def test_a_name_nearly_right_gets_the_right_one() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            result = await gate.call("docs.raed.v1", {"name": "x"})
            assert result.error is not None
            assert "docs.read.v1" in result.error.suggested_fix

    run(work())


def test_wire_name_and_canonical_name_are_the_same_tool() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            for name in ("sums.add.v1", "sums__add__v1"):
                result = await gate.call(name, {"a": 1, "b": 2})
                assert (result.value, result.tool) == (3, "sums.add.v1")

    run(work())


def test_a_read_runs_and_is_recorded(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            result = await gate.call("web.get.v1", {"page": "home"}, run_id="r", step_id=7)
            assert (result.status, result.value, result.replayed) == ("ok", "page home", False)
            assert result.taint is not None
            assert result.taint.untrusted_source
            assert result.taint.source == "web.get.v1"
            assert "page home" in result.for_model
            assert result.event_id == "r/2"
            first, last = await bodies(gate.store, "r")
            assert (first["kind"], last["kind"]) == ("call.dispatched", "call.finished")
            assert first["step_id"] == "step_007"
            assert first["policy_decision"] == "approved_by_policy"
            assert first["reasons"] == ["CLASS_READ_EXTERNAL"]
            assert first["risk_class"] == "read_external"
            assert first["input_hash"].startswith("sha256:")
            assert first["input_redacted"] == '{"page":"home"}'
            assert (last["status"], last["state"]) == ("success", "SUCCEEDED")
            (row,) = await gate.store.calls("r")
            assert (row.state, row.result) == ("SUCCEEDED", b'"page home"')
            stored = await gate.store.run("r")
            assert stored is not None
            assert (stored.tenant, stored.user) == ("local", "local")

    run(work())
    assert effects.log == ["got home"]


def test_a_crash_of_a_tool_is_a_result(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            result = await gate.call("sums.crash.v1", {}, run_id="r")
            assert code(result) == "INTERNAL"
            assert result.error is not None
            assert "Reference" in result.error.message
            assert "hunter2" not in str(result)
            assert await endings(gate.store, "r") == {result.call_id: 1}
            assert all(b"hunter2" not in event.body for event in await history(gate.store, "r"))

    run(work())


def test_denials_say_why(url: str) -> None:
    effects = Effects()
    policy = g.Policy.from_rules(
        [{"id": "no-mail", "match": {"tool": "mail.*"}, "decision": "deny", "reason": "MAIL_IS_OFF"}]
    )

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=policy) as gate:
            result = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
            assert code(result) == "MAIL_IS_OFF"
            assert result.error is not None
            assert result.error.error_type == "policy_denied"
            assert not result.error.recoverable
            assert result.error.suggested_fix
            (record,) = await bodies(gate.store, "r")
            assert (record["kind"], record["policy_decision"]) == ("call.refused", "denied_by_policy")
            assert record["error_code"] == "MAIL_IS_OFF"

    run(work())
    assert effects.log == []


def test_no_policy_denies_everything() -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=None) as gate:
            for name, arguments in (("sums.add.v1", {"a": 1, "b": 2}), ("docs.read.v1", {"name": "x"})):
                assert code(await gate.call(name, arguments)) == "NO_POLICY"

    run(work())
    assert effects.log == []


class Raises:
    """A policy that breaks."""

    version = "broken"

    def decide(self, document: Any) -> g.Decision:
        raise KeyError("no such fact")


def test_a_policy_that_raises_denies(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=Raises(), store=url) as gate:
            result = await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="r")
            assert code(result) == "POLICY_ERROR"
            assert "no such fact" not in str(result)
            assert await endings(gate.store, "r") == {result.call_id: 1}
            decision = gate.decide("sums.add.v1", {"a": 1, "b": 2})
            assert (decision.decision, decision.reasons) == ("deny", ("POLICY_ERROR",))

    run(work())
    assert effects.log == []


def test_omitted_policy_is_strict() -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            assert gate.policy.version == g.Policy.shipped("strict").version

    run(work())


def test_decide_runs_and_records_nothing(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            table: list[tuple[str, dict[str, Any], str]] = [
                ("docs.read.v1", {"name": "x"}, "allow"),
                ("docs.write.v1", {"name": "x"}, "ask"),
                ("bank.transfer.v1", {"invoice": "1", "amount": 2}, "ask"),
            ]
            for name, arguments, wanted in table:
                decision = gate.decide(name, arguments, run_id="r")
                assert decision.decision == wanted
                assert decision.reasons
            refused: list[tuple[str, dict[str, Any], str]] = [
                ("rm_rf", {}, "TOOL_UNKNOWN"),
                ("docs.read.v1", {}, "MISSING_FIELD"),
            ]
            for name, arguments, reason in refused:
                decision = gate.decide(name, arguments)
                assert (decision.decision, decision.reasons) == ("deny", (reason,))
            assert await gate.store.runs() == []
            assert await gate.store.events("r") == []
            assert await gate.store.calls("r") == []

    run(work())
    assert effects.log == []


def test_coercion_is_recorded(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            result = await gate.call("sums.add.v1", {"a": "40", "b": 2}, run_id="r")
            assert result.value == 42
            first, _ = await bodies(gate.store, "r")
            assert first["coerced"] == ["/a"]

    run(work())


def test_one_tool_that_is_not_in_a_list_is_said_so() -> None:
    @g.tool(name="one.tool.v1", risk="compute")
    def one() -> None:
        """Nothing."""

    with pytest.raises(g.UsageError, match=r"tools=\[\.\.\.\]"):
        g.Gateway(one)  # type: ignore[arg-type]


def test_a_program_that_uses_it_wrongly_is_told(durable: str) -> None:
    async def work() -> None:
        gate = g.Gateway(tools=toolbox(Effects()), store=durable)
        with pytest.raises(g.UsageError, match="async with"):
            await gate.call("sums.add.v1", {"a": 1, "b": 2})
        with pytest.raises(g.ContractError, match="@gerbang"):
            g.Gateway(tools=[print])
        with pytest.raises(g.ContractError, match="Two tools"):
            g.Gateway(tools=[*toolbox(Effects()), *toolbox(Effects())])
        with pytest.raises(g.UsageError, match="policy"):
            g.Gateway(policy="allow")
        async with gate:
            await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="r")
            other = g.Principal(user="eve", tenant="evil")
            with pytest.raises(g.UsageError, match="somebody else"):
                await gate.call("sums.add.v1", {"a": 1, "b": 2}, run_id="r", principal=other)
        await gate.aclose()

    run(work())


def test_the_runtime_fills_its_own_fields() -> None:
    @g.tool(name="who.am_i.v1", risk="read_internal")
    async def whoami(context: g.CallContext) -> dict[str, Any]:
        """Tell who asks."""
        return {"user": context.principal.user, "run": context.run_id, "purpose": context.purpose}

    async def work() -> None:
        ana = g.Principal(user="ana", tenant="acme", scopes={"x"})
        async with g.Gateway(tools=[whoami]) as gate:
            result = await gate.call("who.am_i.v1", {}, principal=ana, run_id="r", purpose="support")
            assert result.value == {"user": "ana", "run": "r", "purpose": "support"}
            forged = await gate.call(
                "who.am_i.v1", {"context": {"principal": {"user": "root"}}}, principal=ana
            )
            assert code(forged) == "RUNTIME_OWNED_FIELD"
            assert "context" not in gate.tools()[0].parameters["properties"]

    run(work())


class Junk:
    """A policy that answers with something that is no decision."""

    version = "junk"

    def decide(self, document: Any) -> Any:
        return "allow"


def test_a_policy_that_answers_with_junk_denies() -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), policy=Junk()) as gate:
            assert code(await gate.call("sums.add.v1", {"a": 1, "b": 2})) == "POLICY_ERROR"
            assert gate.decide("sums.add.v1", {"a": 1, "b": 2}).decision == "deny"

    run(work())
    assert effects.log == []


WRONG: list[Any] = [None, 7, b"x", ["x"]]


@pytest.mark.parametrize("prompt", WRONG, ids=[str(item) for item in WRONG])
def test_a_prompt_that_is_no_text(prompt: Any) -> None:
    async def work() -> None:
        async with g.Gateway() as gate:
            with pytest.raises(g.UsageError):
                await g.Agent(ScriptedModel(["x"]), gate).run(prompt)

    run(work())


@pytest.mark.parametrize("principal", ["ana", 7, {"user": "ana"}])
def test_a_principal_that_is_none(principal: Any) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects())) as gate:
            with pytest.raises(g.UsageError):
                await gate.call("sums.add.v1", {"a": 1, "b": 2}, principal=principal)
            with pytest.raises(g.UsageError):
                await g.Agent(ScriptedModel(["x"]), gate).run("x", principal=principal)

    run(work())


def test_a_foreign_model_that_breaks_is_a_model_error() -> None:
    class Breaks(ScriptedModel):
        async def answer(self, request: Any) -> Any:
            for text in ("password=hunter2",):
                raise KeyError(text)
            yield None

    async def work() -> None:
        async with g.Gateway() as gate:
            result = await g.Agent(Breaks(["x"]), gate).run("x")
            assert result.status == "model_error"
            assert "hunter2" not in str(result)
            row = await gate.store.run(result.run_id)
            assert row is not None
            assert row.state == "model_error"

    run(work())


@pytest.mark.parametrize(
    ("tool", "arguments", "risk_class"),
    [
        ("docs.read.v1", {}, "read_internal"),
        ("docs.read.v1", '{"name": ', "read_internal"),
        ("docs__read__v1", {"name": 7}, "read_internal"),
        ("rm_rf", {}, ""),
    ],
)
def test_the_record_of_a_call_that_does_not_fit_has_its_class(
    tool: str, arguments: Any, risk_class: str, url: str
) -> None:
    async def work() -> None:
        async with g.Gateway(toolbox(Effects()), store=url) as gate:
            result = await gate.call(tool, arguments, run_id="r")
            (body,) = await bodies(gate.store, "r")
            assert body.get("risk_class", "") == risk_class
            assert body["tool_name"] == result.tool

    run(work())
