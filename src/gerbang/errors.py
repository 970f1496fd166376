"""The errors that Gerbang raises to the program that uses it.

Bad text from a model and failures of tools are *values* (`gerbang.values.CallError`), never exceptions.
What is raised is sorted by whose fault it is::

    GerbangError
    ├── CallerError            the program or its configuration is wrong; fix it and run again
    │   ├── UsageError         a value of the wrong type or shape was passed to the API
    │   ├── ConfigError        a setting, a model address or a file of settings is wrong
    │   ├── ContractError      a tool's contract cannot be used (schema, name, risk class)
    │   └── PolicyError        a policy cannot be loaded; nothing is allowed by it
    ├── ModelFault             the model or its server did not give an answer
    │   ├── ModelUnavailable   nothing listens there, or the connection failed before any output
    │   ├── ModelTimeout       no answer within the time allowed
    │   └── ModelProtocol      the server answered something that is not the protocol (HTML, wrong JSON)
    ├── ToolError              raised *by a tool* to tell the model something; its text is shown
    │   └── NotSent            raised *to a tool* that may not begin its effect any more: let it pass
    ├── SpeechError            a sentence could not be spoken; the text of the answer is not touched by it
    └── StoreError             a record could not be written or read; nothing was executed after it
        ├── StoreUnavailable   missing folder, read-only file, disk full, lost connection
        ├── StoreBusy          another process held the lock longer than the time allowed
        └── StoreTooNew        written by a newer version; this one refuses to touch it
"""

from typing import Literal


class GerbangError(Exception):
    """Root of everything that Gerbang raises. `str(error)` says what happened and what to do next."""


class CallerError(GerbangError):
    """The calling program or its configuration is wrong."""


class UsageError(CallerError):
    """A value of the wrong type or shape was passed to the API."""


class ConfigError(CallerError):
    """A setting, a model address or a settings file is wrong."""


class ContractError(CallerError):
    """A tool's contract cannot be used: bad schema, name, or risk class."""


class PolicyError(CallerError):
    """A policy cannot be loaded. Nothing is allowed by a policy that did not load."""


class ModelFault(GerbangError):
    """The model, or the server before it, gave no usable answer.

    `retryable` tells whether the same request may succeed later.
    """

    retryable: bool = False


class ModelUnavailable(ModelFault):
    """Nothing listens at the address, or the connection failed before any output."""

    retryable = True


class ModelTimeout(ModelFault):
    """No answer within the time allowed."""

    retryable = True


class ModelProtocol(ModelFault):
    """The server answered with something that is not its protocol."""


class ToolError(GerbangError):
    """Raised by a tool to tell the model what went wrong. Only this text is shown, after redaction.

    `code` is an upper-case error code such as `NOT_FOUND`; `error_type` one of the taxonomy's types.
    `recoverable` says that the call may be mended and made again, `effect` what is known of the effect. Of
    what is not given the type decides: a call that was turned away (`validation_error`, `semantic_error`,
    `conflict`, `permission_denied`, `rate_limited`) had none, of any other mutation it is `unknown`; and
    all of these but `permission_denied` may be mended. What may have taken effect is never recoverable.
    """

    params: dict[str, str | int] | None = None
    """What fills the runtime's own sentence for the code; None for a tool's own words."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "TOOL_FAILED",
        error_type: str = "upstream_error",
        recoverable: bool | None = None,
        suggested_fix: str = "",
        effect: Literal["none", "happened", "unknown"] | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.error_type = error_type
        self.recoverable = recoverable
        self.suggested_fix = suggested_fix
        self.effect = effect
        self.retry_after_ms = retry_after_ms


class NotSent(ToolError):
    """The call may not be sent any more: its run is another process's, or its time is over."""

    def __init__(self, code: str) -> None:
        super().__init__("The call was not sent.", code=code, error_type="cancelled", effect="none")


class SpeechError(GerbangError):
    """A sentence could not be spoken. The run and its text go on without."""


class StoreError(GerbangError):
    """A record could not be written or read."""


class StoreUnavailable(StoreError):
    """Missing folder, read-only file, full disk or lost connection."""


class StoreBusy(StoreError):
    """Another process held the store's lock longer than the time allowed."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Gerbang."""
