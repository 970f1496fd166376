"""A tool's contract: the one description that exposure, validation, policy and execution go by."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gerbang.limits import RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values.risk import RiskClass


class Contract(Struct, frozen=True, gc=False):
    """What a tool is called, takes, returns, changes and may cost. Plain data; checked when loaded.

    `name` is canonical: dotted segments, ending in `.vN` for tools that are versioned. `parameters` and
    `returns` are JSON Schemas (draft 2020-12); `returns` None means unchecked. `timeout_s` is seconds,
    `result_max_chars` the cap of what the model sees. `runtime_fields` are filled by the runtime: the
    model neither sees nor may send them. `natural_key` names argument fields that identify the effect;
    `sensitive` names argument fields that records must not show. `intents` limits exposure: empty means
    every intent. `secrets` names the secrets that the body may ask for; their values are never here.
    `origin` says where the definition was read, for error messages. `digest` covers
    everything that matters to a decision; it is set when the contract is loaded.
    """

    name: str
    risk: RiskClass
    description: str
    parameters: dict[str, Any]
    returns: dict[str, Any] | None = None
    timeout_s: float = TOOL_TIMEOUT_S
    result_max_chars: int = RESULT_MAX_CHARS
    runtime_fields: frozenset[str] = frozenset()
    natural_key: tuple[str, ...] = ()
    sensitive: frozenset[str] = frozenset()
    intents: frozenset[str] = frozenset()
    cost_units: float = 0.0
    origin: str = ""
    digest: str = ""
    annotations: Mapping[str, Any] = {}
    secrets: tuple[str, ...] = ()
