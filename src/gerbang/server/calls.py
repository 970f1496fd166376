"""`/v1/calls`: one gated call. `/v1/decisions`: what would happen, and why; nothing runs."""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

from gerbang import parse
from gerbang.errors import UsageError
from gerbang.server.operation import Answer, Exchange, Operation, RouteGroup
from gerbang.server.problems import bad_request, not_found, of_result, problem
from gerbang.server.replies import Reply, json_reply
from gerbang.server.run_keys import key_of, key_parameter
from gerbang.server.run_names import MAX_GIVEN, inner_name, result_as_given
from gerbang.server.schemas import DecisionView, ResultView


def _nothing() -> msgspec.Raw:
    return msgspec.Raw(b"{}")


Name = Annotated[str, Meta(min_length=1, max_length=512)]
RunId = Annotated[str, Meta(min_length=1, max_length=MAX_GIVEN)]


_MAX_STEP: Final = 2**53
_STEP: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "integer", "minimum": -_MAX_STEP, "maximum": _MAX_STEP},
        {"type": "string", "minLength": 1, "maxLength": 512},
    ],
    "default": 1,
}
_OBJECT: Final[dict[str, Any]] = {"type": "object", "default": {}}


class CallBody(Struct, frozen=True, forbid_unknown_fields=True):
    """One call. `arguments` is a JSON object, or the JSON text that a model wrote.

    `run_id` and `step_id` name its place: the same place with the same arguments gives the stored result.
    `key` is an idempotency key of your own; the header Idempotency-Key says the same.
    """

    SCHEMAS: ClassVar[dict[str, Any]] = {"step_id": _STEP, "arguments": _OBJECT}

    tool: Name
    arguments: msgspec.Raw = msgspec.field(default_factory=_nothing)
    run_id: RunId | None = None
    step_id: int | float | str = 1
    key: Name | None = None
    purpose: Name | None = None
    intent: Name | None = None


class DecisionBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is only decided on; fields as in a call.

    Everything that the call would look up is looked up; with `run_id` what the run has done counts too, in
    whatever process.
    """

    SCHEMAS: ClassVar[dict[str, Any]] = {"step_id": _STEP, "arguments": _OBJECT}

    tool: Name
    arguments: msgspec.Raw = msgspec.field(default_factory=_nothing)
    run_id: RunId | None = None
    step_id: int | float | str = 1
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
            run_id=inner_name(exchange.caller, asked.run_id),
            step_id=_step(asked.step_id),
            key=key,
            purpose=asked.purpose,
            intent=asked.intent,
        )
    except UsageError as error:
        raise _of_usage(error, asked.run_id) from None
    finally:
        toolset.release()
    exchange.service.metrics.spent(who, result.call_id)
    if result.status == "error":
        raise of_result(result, result_as_given(result.as_dict(), who.tenant))
    return json_reply(
        result_as_given(result.as_dict(), who.tenant), 202 if result.status == "pending" else 200
    )


async def decide(exchange: Exchange) -> Reply:
    """Say what would happen to a call."""
    asked: DecisionBody = exchange.read(_DECISION)
    who = exchange.caller.principal
    toolset = exchange.service.toolsets.of(who.tenant)
    arguments, fault = parse.arguments_from_json(_arguments(asked.arguments))
    if arguments is None:
        code, message = fault or ("CALL_NOT_JSON", "The arguments are no JSON object.")
        raise bad_request(message, "Send one JSON object.", code)
    place: dict[str, Any] = {"principal": who, "purpose": asked.purpose, "intent": asked.intent}
    try:
        inner = inner_name(exchange.caller, asked.run_id)
        step = _step(asked.step_id)
        dry = await toolset.gateway.dry_run(asked.tool, arguments, run_id=inner, step_id=step, **place)
    except UsageError as error:
        raise _of_usage(error, asked.run_id) from None
    said = None if dry.error is None else dry.error.as_dict()
    return json_reply({"tool": asked.tool, **dry.decision.as_dict(), "error": said, "preview": dry.preview})


def _arguments(raw: msgspec.Raw) -> str:
    """Return the arguments as the JSON text that the gate reads: it refuses doubled names, this does not."""
    text = bytes(raw)
    return _TEXT.decode(text) if text[:1] == b'"' else text.decode()


def _step(given: float | str) -> int | str:
    """Return the step: a text, or a whole number, however JSON writes it."""
    if isinstance(given, str):
        if 0 < len(given) <= 512:
            return given
    elif abs(given) <= _MAX_STEP and given == int(given):
        return int(given)
    message = "step_id is a whole number, or a text of 1 to 512 characters."
    raise problem(422, "validation_error", "BODY_SHAPE", message, recoverable=True)


def _key(exchange: Exchange, given: str | None) -> str | None:
    header = key_of(exchange)
    if header is None:
        return given
    if given is not None and given != header:
        raise problem(409, "conflict", "TWO_KEYS", "Idempotency-Key and the body's key differ.", "Send one.")
    return header


def _of_usage(error: UsageError, run_id: str | None) -> Exception:
    """Return what a caller is told: another user's run does not exist for them."""
    if run_id is not None and "belongs to somebody else" in str(error):
        return not_found("run of that id")
    return bad_request(str(error), "Correct the field.", "USAGE")


_EXAMPLE: Final = {
    "order": {
        "summary": "Ask a tool, at step 1 of a run of your own",
        "value": {
            "tool": "shop.find_order.v1",
            "arguments": {"number": "A-17"},
            "run_id": "r1",
            "step_id": 1,
        },
    },
}
_RESULT: Final[dict[str, Any]] = {
    "status": "ok",
    "tool": "shop.find_order.v1",
    "run_id": "r1",
    "step_id": 1,
    "call_id": "call_3f1d20a9b7c4",
    "value": {"number": "A-17", "state": "sent"},
    "error": None,
    "replayed": False,
    "taint": None,
    "event_id": "r1/2",
    "for_model": '{"number":"A-17","state":"sent"}',
    "approval_id": None,
    "decision": {
        "decision": "allow",
        "reasons": ["CLASS_DEFAULT"],
        "rule": None,
        "policy_version": "sha256:…",
    },
}
_WAITS: Final[dict[str, Any]] = _RESULT | {
    "status": "pending",
    "tool": "mail.send.v1",
    "value": None,
    "event_id": "",
    "for_model": "This call waits for a person's approval. It has not run.",
    "approval_id": "apr_386eabc6ea4995d8594b",
    "decision": _RESULT["decision"] | {"decision": "ask", "reasons": ["CLASS_EXTERNAL_COMMUNICATION"]},
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
                key_parameter("A key of your own: the same key with the same call gives the stored result."),
            ),
            answers=(
                Answer(200, "The result", ResultView, _RESULT),
                Answer(202, "It waits for a person's approval", ResultView, _WAITS),
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
                        "tool": "shop.find_order.v1",
                        "decision": "allow",
                        "reasons": ["CLASS_DEFAULT"],
                        "rule": None,
                        "policy_version": "sha256:…",
                        "obligations": [],
                        "error": None,
                        "preview": "",
                    },
                ),
            ),
            problems=(400, 401, 403, 404, 413, 415, 422, 429, 500, 503),
        ),
    ),
)
