"""Labels of values that came from tools: data, never instructions."""

from typing import Literal

from msgspec import Struct

TrustLevel = Literal["trusted", "internal", "external"]


class Taint(Struct, frozen=True, gc=False):
    """Where a value came from and what it may be used for.

    `source` is the canonical tool name; `trust_level` is `trusted` for values that the runtime computed
    itself, `internal` for the own tenant's data, `external` for everything else.
    """

    source: str
    trust_level: TrustLevel
    untrusted_source: bool
    may_contain_instructions: bool
    allowed_use: tuple[str, ...] = ("summarization", "evidence")
    forbidden_use: tuple[str, ...] = ("policy_override", "credential_request", "tool_authorization")
