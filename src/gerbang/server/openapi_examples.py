"""Examples of errors for the OpenAPI document: one of each status, made as the server makes them."""

from typing import Any, Final

import msgspec

from gerbang.server.operation import Operation
from gerbang.server.problems import Problem, bad_request, internal, not_found, problem, wait
from gerbang.server.replies import Reply, problem_reply

_DENIED: Final = "permission_denied"
_FAILED: Final = (
    bad_request("The query's limit is wrong: it is a whole number from 1 to 500.", "Give another value."),
    problem(
        401,
        _DENIED,
        "NOT_AUTHENTICATED",
        "This needs a key that is valid.",
        "Send it as Authorization: Bearer KEY. Keys are made with: gerbang keys create",
    ),
    problem(
        403,
        _DENIED,
        "RIGHT_MISSING",
        "This key may not do that: it lacks the right 'calls'.",
        "Use a key with that right.",
    ),
    not_found("run of that id"),
    problem(409, "conflict", "KEY_REUSED", "This key began another run.", "Use a new key for a new run."),
    problem(
        413,
        "validation_error",
        "BODY_TOO_LARGE",
        "The body is larger than 2097152 bytes.",
        "Send less.",
        recoverable=True,
    ),
    problem(
        415,
        "validation_error",
        "NOT_JSON",
        "The body is 'text/plain', not JSON.",
        "Send it with Content-Type: application/json.",
        recoverable=True,
    ),
    problem(
        421,
        _DENIED,
        "HOST",
        "This server is not the host that was asked for.",
        "Use its address, or name the host with --allowed-host.",
    ),
    problem(
        422,
        "validation_error",
        "BODY_SHAPE",
        "The body does not fit: Object missing required field `tool`.",
        "What fits is described in /openapi.json, and for people in /docs.",
        recoverable=True,
    ),
    wait(429, "rate_limited", "RATE_ACTOR", "Too many requests.", 1),
    internal("3f1d20a9b7c4"),
    problem(501, "internal_error", "NOT_BUILT", "This version cannot do that."),
    problem(502, "upstream_error", "MODEL_FAILED", "The model gave no answer."),
    wait(503, "cancelled", "SHUTTING_DOWN", "The server is shutting down.", 5),
    problem(504, "timeout", "TOOL_TIMEOUT", "The tool took longer than 15 s."),
)
FAILED: Final[dict[int, Problem]] = {sample.status: sample for sample in _FAILED}


def component_examples() -> dict[str, Any]:
    """Return the examples of problem documents, by the names that `examples_of` refers to."""
    return {
        f"Problem{status}": {"summary": sample.error.error_code, "value": sample.document()}
        for status, sample in FAILED.items()
    }


def examples_of(operation: Operation, status: int) -> dict[str, Any]:
    """Return the examples of an operation's error: its own, if it has errors in a shape of its own."""
    if operation.failed is problem_reply:
        return {"problem": {"$ref": f"#/components/examples/Problem{status}"}}
    reply = operation.failed(FAILED[status])
    assert isinstance(reply, Reply)  # noqa: S101 - errors are never streamed
    return {"error": {"value": msgspec.json.decode(reply.body)}}
