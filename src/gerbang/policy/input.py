"""The document that every kind of policy sees."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gerbang.values import Principal, RiskClass

INPUT_VERSION = 1


class PolicyInput(Struct, frozen=True, gc=False):
    """Facts about one call. `arguments` have passed their schema.

    `calls_before` counts earlier calls of the run, `calls_of_tool` those of the same tool. `repaired`
    tells that the reader mended the call's text, `coerced` that a value's type was changed.
    `tainted_run` tells that the run has read something from outside. `time` is seconds since the epoch.
    """

    tool: str
    risk: RiskClass
    arguments: Mapping[str, Any]
    actor: Principal
    purpose: str | None = None
    intent: str | None = None
    run_id: str = ""
    repaired: bool = False
    coerced: bool = False
    tainted_run: bool = False
    calls_before: int = 0
    calls_of_tool: int = 0
    time: float = 0.0
