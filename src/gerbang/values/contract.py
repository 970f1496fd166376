"""A tool's contract: the one description that exposure, validation, policy and execution go by."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gerbang.limits import RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values.contract_parts import (
    Cancellation,
    Check,
    DataClass,
    Exposure,
    Fact,
    Guidance,
    Probe,
    Rate,
    ResourceRef,
    Retry,
    SideEffects,
)
from gerbang.values.risk import RiskClass


class Contract(Struct, frozen=True, gc=False):
    """What a tool is called, takes, returns, changes and may cost. Plain data; checked when loaded.

    What it is: `name` is canonical: dotted segments, ending in `.vN` for tools that are versioned. `group`
    is its capability (default: the name before its last word and version). `deprecated` tools still work;
    `retired` ones do not and answer with `replaced_by`. `owner` says who answers for the tool. `origin` says
    where the definition was read, for error messages.

    What it takes and gives: `parameters` and `returns` are JSON Schemas (draft 2020-12); `returns` None
    means unchecked. `runtime_fields` are filled by the runtime: the model neither sees nor may send them.
    `control` names arguments that steer the effect (recipient, path, amount), `content` those that are only
    carried; `sensitive` those that records must not show; `resources` those that name a thing of the
    tenant's. `data_class` is the class of the data handed out, None when not declared. `validators` are
    checks of meaning, run in order. `facts` are risk facts of every call. `scopes` are required of the actor,
    all of them.

    What it does: `side_effects` None means not declared. `natural_key` names argument fields that identify
    the effect, in the `key_namespace` that tools with one and the same effect share; empty: the name without
    its version. `honours_key` says that the target runs one idempotency key only once; `key_argument` is the
    parameter of the function that takes the key. `probe` tells what became of a call of unknown fate.

    How it runs: `timeout_s` and `idle_timeout_s` are seconds, `result_max_chars` the cap of what the model
    sees, `concurrency` how many calls may run at once, `cost_units` what one call is booked with.
    `cancellation` says what a cancelled call does, `partial_result` that a result may be cut short,
    `error_categories` which error types of the taxonomy the tool itself answers with (empty: not declared).
    `secrets` names the secrets that the body may ask for; their values are never here.

    `expose` limits who knows of the tool. `body` is the digest of a body that is plain data too, such as
    an HTTP request; empty for code. `digest` covers everything but `origin`; it is set when the contract
    is made.
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
    key_namespace: str = ""
    sensitive: frozenset[str] = frozenset()
    cost_units: float = 0.0
    origin: str = ""
    digest: str = ""
    annotations: Mapping[str, Any] = {}
    secrets: tuple[str, ...] = ()
    guidance: Guidance = Guidance()
    side_effects: SideEffects | None = None
    retry: Retry = Retry()
    honours_key: bool = False
    key_argument: str | None = None
    probe: Probe | None = None
    concurrency: int | None = None
    rate: Rate | None = None
    idle_timeout_s: float | None = None
    cancellation: Cancellation = "unknown"
    partial_result: bool = False
    error_categories: tuple[str, ...] = ()
    owner: str = ""
    control: frozenset[str] = frozenset()
    content: frozenset[str] = frozenset()
    resources: Mapping[str, ResourceRef] = {}
    data_class: DataClass | None = None
    scopes: frozenset[str] = frozenset()
    validators: tuple[Check, ...] = ()
    facts: tuple[Fact, ...] = ()
    group: str = ""
    deprecated: bool = False
    replaced_by: str | None = None
    retired: bool = False
    expose: Exposure = Exposure()
    body: str = ""

    @property
    def intents(self) -> frozenset[str]:
        """The intents of `expose`."""
        return self.expose.intents
