"""Errors of the OpenAI-compatible routes, in the shape that its clients read."""

from typing import Any, Final

from gerbang.server.problems import Problem
from gerbang.server.replies import Reply, json_reply
from gerbang.values import CallError
from gerbang.values.sentences import further_advice
from gerbang.values.text import clean_text

_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
_CODES: Final = {"NOT_AUTHENTICATED": "invalid_api_key", "RATE_ACTOR": "rate_limit_exceeded"}
_NOTHING_RAN: Final = frozenset({"STORE_BUSY", "SHUTTING_DOWN", "TOO_MANY_RUNS"})
"""Errors after which the same request may be sent again by a program: no tool was called."""


def invalid(message: str, param: str | None = None, code: str = "INVALID_VALUE") -> Problem:
    """Return the problem of a request that cannot be taken. `param` is the path of what is wrong with it."""
    error = CallError("validation_error", code, message, True)
    return Problem(400, error, extra={} if param is None else {"param": param})


def unknown_model(name: str) -> Problem:
    """Return the problem of a model that there is not."""
    message = f"The model {name[:80]!r} does not exist here. GET /v1/models lists those that do."
    return Problem(
        404, CallError("semantic_error", "MODEL_NOT_FOUND", message, True), extra={"param": "model"}
    )


def unknown_run() -> Problem:
    """Return the problem of a run that there is not, or that is not the caller's."""
    message = "There is no run of that id. An answer's `gerbang.run_id` is one."
    error = CallError("semantic_error", "RUN_NOT_FOUND", message, True)
    return Problem(404, error, extra={"param": "gerbang.run_id"})


def error_body(problem: Problem) -> dict[str, Any]:
    """Return the object that stands under `error`."""
    status, error = problem.status, problem.error
    message = f"{error.message} {further_advice(error)}".strip()
    body = {
        "message": clean_text(message[:2_000]),
        "type": _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error"),
        "param": problem.extra.get("param"),
        "code": _CODES.get(error.error_code) or error.error_code.lower(),
    }
    if "run_id" in problem.extra:
        body["gerbang"] = {"run_id": problem.extra["run_id"]}
    return body


def error_reply(problem: Problem) -> Reply:
    """Return the answer for a problem. Clients that repeat by themselves are told when they may not."""
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in problem.headers]
    status = 400 if problem.status in (415, 422) else problem.status
    if status >= 500 and problem.error.error_code not in _NOTHING_RAN:
        headers.append((b"x-should-retry", b"false"))  # tools may have been called
    return json_reply({"error": error_body(problem)}, status, tuple(headers))
