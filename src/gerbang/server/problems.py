"""Errors of the server: RFC 9457 problem documents that carry the error taxonomy of the gate."""

from typing import Any, Final

from gerbang.errors import (
    CallerError,
    GerbangError,
    ModelFault,
    ModelTimeout,
    StoreBusy,
    StoreError,
    UsageError,
)
from gerbang.values import CallError, Result
from gerbang.values.text import clean_text

MEDIA_TYPE: Final = "application/problem+json"
STATUS_OF: Final = {
    "parse_error": 400,
    "unknown_tool": 404,
    "validation_error": 422,
    "semantic_error": 422,
    "permission_denied": 403,
    "policy_denied": 403,
    "approval_denied": 403,
    "approval_expired": 403,
    "rate_limited": 429,
    "budget_exceeded": 429,
    "timeout": 504,
    "transient_network_error": 502,
    "upstream_error": 502,
    "conflict": 409,
    "output_validation_error": 502,
    "uncertain_effect": 409,
    "cancelled": 503,
    "internal_error": 500,
}
"""The HTTP status that stands for an error type of the taxonomy."""

_TITLES: Final = {
    400: "Bad request",
    401: "Who are you?",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    413: "Too large",
    415: "Wrong media type",
    421: "Wrong host",
    422: "Cannot be processed",
    426: "Upgrade needed",
    429: "Too many requests",
    500: "Internal error",
    501: "Not built",
    502: "Upstream failed",
    503: "Not available now",
    504: "Timed out",
}
_MAX_DETAIL: Final = 1_000


class Problem(Exception):
    """An answer that is an error. Raised by handlers, sent as a problem document.

    `status` is the HTTP status, `error` the taxonomy's error, `headers` go into the answer, `extra` are
    further members of the document.
    """

    def __init__(
        self,
        status: int,
        error: CallError,
        headers: tuple[tuple[str, str], ...] = (),
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers
        self.extra = extra or {}

    def document(self) -> dict[str, Any]:
        """Return the document of RFC 9457, the taxonomy's error under `error`."""
        return {
            "type": f"urn:gerbang:problem:{self.error.error_type}",
            "title": _TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": clean_text(self.error.message[:_MAX_DETAIL]),
            "error": self.error.as_dict(),
            **self.extra,
        }


def problem(
    status: int, error_type: str, code: str, message: str, fix: str = "", *, recoverable: bool = False
) -> Problem:
    """Return a problem that no call's result stands behind."""
    return Problem(status, CallError(error_type, code, message, recoverable, suggested_fix=fix))


def bad_request(message: str, fix: str = "", code: str = "BAD_REQUEST") -> Problem:
    """Return the problem of a request that cannot be read."""
    return problem(400, "parse_error", code, message, fix, recoverable=True)


def not_found(what: str) -> Problem:
    """Return the problem of something that does not exist, or that the caller may not know of."""
    return problem(404, "semantic_error", "NOT_FOUND", f"There is no {what}.", "Check the name.")


def wait(status: int, error_type: str, code: str, message: str, seconds: float) -> Problem:
    """Return a problem that ends by waiting: it carries Retry-After."""
    whole = max(1, int(seconds + 0.999))
    error = CallError(
        error_type,
        code,
        message,
        True,
        suggested_fix=f"Wait {whole} s, then send it again.",
        retry_after_ms=whole * 1000,
    )
    return Problem(status, error, (("retry-after", str(whole)),))


def of_result(result: Result, whole: dict[str, Any]) -> Problem:
    """Return the problem of a call that ended in an error; `whole`, its JSON form, becomes its `result`."""
    error = result.error
    assert error is not None  # noqa: S101 - asked only for results that have one
    ended = error.error_code == "RUN_CANCELLED"  # for good: nobody should ask again
    status = 409 if ended else STATUS_OF.get(error.error_type, 500)
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(error.retry_after_ms, int):
        headers = (("retry-after", str(max(1, -(-error.retry_after_ms // 1000)))),)
    return Problem(status, error, headers, {"result": whole})


def of_error(error: GerbangError) -> Problem:
    """Return the problem of an error that Gerbang raised. Its text is made to be shown."""
    if isinstance(error, UsageError):
        return bad_request(str(error), code="USAGE")
    if isinstance(error, CallerError):
        return bad_request(str(error), code="CONFIGURATION")
    if isinstance(error, StoreBusy):
        return wait(503, "internal_error", "STORE_BUSY", "The store is busy; nothing was run.", 1)
    if isinstance(error, StoreError):
        return wait(
            503, "internal_error", "STORE_UNAVAILABLE", "Records cannot be written; nothing was run.", 5
        )
    if isinstance(error, ModelTimeout):
        return problem(504, "timeout", "MODEL_TIMEOUT", str(error))
    if isinstance(error, ModelFault):
        return problem(502, "upstream_error", "MODEL_FAILED", str(error))
    return internal("unknown")


def internal(reference: str) -> Problem:
    """Return the problem of a fault inside. It tells nothing but the reference that the log has too."""
    return problem(
        500,
        "internal_error",
        "INTERNAL",
        f"Something went wrong inside (reference {reference}).",
        "Tell whoever runs the server the reference; the log has it.",
    )
