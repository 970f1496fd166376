"""The structured error that a model (and a program) gets instead of a result."""

from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType, to_builtins

Effect = Literal["none", "happened", "unknown"]

ERROR_TYPES: Final = frozenset(
    {
        "parse_error",
        "unknown_tool",
        "validation_error",
        "semantic_error",
        "permission_denied",
        "policy_denied",
        "approval_denied",
        "approval_expired",
        "rate_limited",
        "budget_exceeded",
        "timeout",
        "transient_network_error",
        "upstream_error",
        "conflict",
        "output_validation_error",
        "uncertain_effect",
        "cancelled",
        "internal_error",
    }
)

TURNED_AWAY: Final = frozenset(
    {
        "parse_error",
        "unknown_tool",
        "validation_error",
        "semantic_error",
        "permission_denied",
        "rate_limited",
        "conflict",
    }
)
"""Types that say that a call was turned away: unless more is said, it had no effect."""
MENDED: Final = TURNED_AWAY - {"permission_denied"} | {"timeout", "transient_network_error"}
"""Types after which a call may be made again, unless more is said: mended, or after a while."""

OWN_WORDS: Final = "-"
"""`CallError.said` of a message that a tool wrote: it is shown as it is, in every language."""


class InvalidField(Struct, frozen=True, gc=False, omit_defaults=True):
    """One thing that is wrong with the arguments. `path` is a JSON Pointer, `` for the whole object.

    `message` is English; `said` and `params` are what it is made of, so that `gerbang.values.sentences`
    can say it in another language.
    """

    path: str
    code: str
    message: str
    said: str = ""
    params: dict[str, str | int | float] = {}


class CallError(Struct, frozen=True, gc=False, omit_defaults=False):
    """Why a call gave no result, whose fault it is, and what to do next.

    `effect` tells whether the call changed anything. `recoverable` means that the model may mend the
    call and send it again. `suggested_fix` is one sentence for the model; `available` lists names to
    choose from; `retry_after_ms` is a wait in milliseconds; `fix` a JSON Patch over the arguments, where the
    repair is certain. The texts are English; `said` (the entry of the table of sentences, empty for the one
    of the code, OWN_WORDS for a tool's own message) and `params` are what they are made of.
    """

    error_type: str
    error_code: str
    message: str
    recoverable: bool = False
    effect: Effect = "none"
    suggested_fix: str = ""
    invalid_fields: tuple[InvalidField, ...] = ()
    fix: list[dict[str, Any]] | UnsetType = UNSET
    retry_after_ms: int | UnsetType = UNSET
    available: tuple[str, ...] | UnsetType = UNSET
    said: str = ""
    params: dict[str, str | int | float] = {}

    def as_dict(self) -> dict[str, Any]:
        """Return the wire form: `status` first, optional members only when set."""
        wire: dict[str, Any] = {"status": "error", **to_builtins(self)}
        del wire["said"], wire["params"]
        wire["invalid_fields"] = tuple(
            {"path": field.path, "code": field.code, "message": field.message}
            for field in self.invalid_fields
        )
        return wire
