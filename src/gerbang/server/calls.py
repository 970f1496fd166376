"""`/v1/calls`: one gated call. `/v1/decisions`: what would happen, and why; nothing runs."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gerbang.errors import UsageError
from gerbang.server.operation import Answer, Exchange, Operation, Parameter, RouteGroup, short
from gerbang.server.problems import bad_request, not_found, of_result
from gerbang.server.replies import Reply, json_reply
from gerbang.server.schemas import DecisionView, ResultView


def _nothing() -> msgspec.Raw:
    return msgspec.Raw(b"{}")


Name = Annotated[str, Meta(min_length=1, max_length=512)]
RunId = Annotated[str, Meta(min_length=1, max_length=512)]
StepNumber = Annotated[int, Meta(ge=-(2**53), le=2**53)]


class CallBody(Struct, frozen=True, forbid_unknown_fields=True):
    """One call. `arguments` is a JSON object, or the JSON text that a model wrote.

    `run_id` and `step_id` name its place: the same place with the same arguments gives the stored result.
    `key` is an idempotency key of your own; the header Idempotency-Key says the same.
    """

    tool: Name
    arguments: msgspec.Raw = msgspec.field(default_factory=_nothing)
    run_id: RunId | None = None
    step_id: StepNumber | Name = 1
    key: Name | None = None
    purpose: Name | None = None
    intent: Name | None = None


class DecisionBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is only decided on; fields as in a call."""

    tool: Name
    arguments: msgspec.Raw = msgspec.field(default_factory=_nothing)
    run_id: RunId | None = None
    step_id: StepNumber | Name = 1
    purpose: Name | None = None
    intent: Name | None = None


_CALL: Final = msgspec.json.Decoder(CallBody)
_DECISION: Final = msgspec.json.Decoder(DecisionBody)
_TEXT: Final = msgspec.json.Decoder(str)


async def call(exchange: Exchange) -> Reply:
    """Make one gated call."""
    asked: CallBody = exchange.read(_CALL)
    key = _key(exchange, asked.key)
    who = exchange.caller.principal
    toolset = exchange.service.toolsets.of(who.tenant)
    toolset.hold()
    try:
        result = await toolset.gateway.call(
            asked.tool,
            _arguments(asked.arguments),
            principal=who,
            run_id=asked.run_id,
            step_id=asked.step_id,
            key=key,
            purpose=asked.purpose,
            intent=asked.intent,
        )
    except UsageError as error:
        raise _of_usage(error, asked.run_id) from None
    finally:
        toolset.release()
    if result.status == "error":
        raise of_result(result)
    return json_reply(result.as_dict(), 202 if result.status == "pending" else 200)


async def decide(exchange: Exchange) -> Reply:
    """Say what would happen to a call."""
    asked: DecisionBody = exchange.read(_DECISION)
    who = exchange.caller.principal
    toolset = exchange.service.toolsets.of(who.tenant)
    try:
        decision = toolset.gateway.decide(
            asked.tool,
            _arguments(asked.arguments),
            principal=who,
            run_id=asked.run_id,
            step_id=asked.step_id,
            purpose=asked.purpose,
            intent=asked.intent,
        )
    except UsageError as error:
        raise _of_usage(error, asked.run_id) from None
    return json_reply({"tool": asked.tool, **decision.as_dict()})


def _arguments(raw: msgspec.Raw) -> str:
    """Return the arguments as the JSON text that the gate reads: it refuses doubled names, this does not."""
    text = bytes(raw)
    return _TEXT.decode(text) if text[:1] == b'"' else text.decode()


def _key(exchange: Exchange, given: str | None) -> str | None:
    header = exchange.header(b"idempotency-key")
    if header is None:
        return given
    try:
        short(header)
    except ValueError as error:
        raise bad_request(f"Idempotency-Key is wrong: {error}.", "Send another.") from None
    if given is not None and given != header:
        raise bad_request("Idempotency-Key and the body's key differ.", "Send one of them.")
    return header


def _of_usage(error: UsageError, run_id: str | None) -> Exception:
    """Return what a caller is told: somebody else's run does not exist for them."""
    if run_id is not None and "belongs to somebody else" in str(error):
        return not_found("run of that id")
    return bad_request(str(error), "Correct the field.", "USAGE")


_EXAMPLE: Final = {
    "weather": {
        "summary": "Ask a tool, at step 1 of a run of your own",
        "value": {
            "tool": "weather.get_current.v1",
            "arguments": {"city": "Paris"},
            "run_id": "r1",
            "step_id": 1,
        },
    },
}
_RESULT: Final[dict[str, Any]] = {
    "status": "ok",
    "tool": "weather.get_current.v1",
    "run_id": "r1",
    "step_id": 1,
    "call_id": "call_3f1d20a9b7c4",
    "value": {"city": "Paris", "celsius": 21},
    "error": None,
    "replayed": False,
    "taint": None,
    "event_id": "r1/2",
    "for_model": '{"celsius":21,"city":"Paris"}',
    "approval_id": None,
    "decision": {
        "decision": "allow",
        "reasons": ["CLASS_DEFAULT"],
        "rule": None,
        "policy_version": "sha256:…",
    },
}
GROUP: Final = RouteGroup(
    "calls",
    "One gated call, and what would be decided about one.",
    (
        Operation(
            "POST",
            "/v1/calls",
            call,
            "calls",
            "Make one gated call",
            right="calls",
            about="The call is checked, decided, recorded and run once. An error of the call is a problem "
            "document whose `result` is the whole result.",
            body=CallBody,
            examples=_EXAMPLE,
            parameters=(
                Parameter(
                    "Idempotency-Key",
                    "header",
                    "A key of your own: the same key with the same call gives the stored result.",
                    {"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^[!-~]+$"},
                ),
            ),
            answers=(
                Answer(200, "The result", ResultView, _RESULT),
                Answer(202, "It waits for a person's approval", ResultView),
            ),
            problems=(400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 502, 503, 504),
        ),
        Operation(
            "POST",
            "/v1/decisions",
            decide,
            "calls",
            "Say what would happen to a call, and why",
            right="calls",
            about="Runs and records nothing.",
            body=DecisionBody,
            examples=_EXAMPLE,
            answers=(
                Answer(
                    200,
                    "The decision",
                    DecisionView,
                    {
                        "tool": "weather.get_current.v1",
                        "decision": "allow",
                        "reasons": ["CLASS_DEFAULT"],
                        "rule": None,
                        "policy_version": "sha256:…",
                    },
                ),
            ),
            problems=(400, 401, 403, 404, 413, 415, 422, 429, 500, 503),
        ),
    ),
)
