"""The contract as a document: the fields of a YAML or JSON file, and the keywords of Python, are the same.

One structure says which fields there are, of what type and within what bounds. Reading a document, the
errors about it and the JSON Schema for editors (`contract.schema.json`) all come from it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from gerbang.contract.explain import explain
from gerbang.errors import ContractError
from gerbang.limits import MAX_TOOL_NAME, RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values.contract_parts import (
    Cancellation,
    Check,
    DataClass,
    Exposure,
    Fact,
    Guidance,
    Milliseconds,
    Probe,
    Rate,
    ResourceRef,
    Retry,
    Seconds,
    SideEffects,
    Word,
)
from gerbang.values.risk import RiskClass

Role = Literal["control", "content", "runtime"]
ToolName = Annotated[str, Meta(max_length=MAX_TOOL_NAME)]
Slots = Annotated[int, Meta(ge=1, le=10_000)]
JsonSchema = dict[str, Any]


class Argument(Struct, frozen=True, forbid_unknown_fields=True):
    """What one argument is. `control` steers the effect (recipient, path, amount), `content` is only carried,
    `runtime` is filled by the runtime and never sent by the model. `resource` names a kind of thing.
    """

    role: Role | None = None
    sensitive: bool = False
    resource: ResourceRef | Word | None = None


def _said(about: str, **bounds: Any) -> Meta:
    return Meta(description=about, **bounds)


class ContractDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contract of one tool."""

    name: Annotated[ToolName, _said("Dotted and versioned: domain.action.v1.")]
    risk: Annotated[RiskClass, _said("What a call can change or reach.")]
    description: Annotated[str, _said("What the tool does, for the model.", max_length=20_000)]
    parameters: Annotated[JsonSchema, _said("JSON Schema of the arguments (draft 2020-12).")] = {}
    returns: Annotated[JsonSchema | None, _said("JSON Schema of the result.")] = None
    arguments: Annotated[dict[str, Argument], _said("What each argument is.")] = {}
    guidance: Annotated[Guidance, _said("What helps the model to choose well.")] = Guidance()
    side_effects: Annotated[SideEffects | None, _said("What a call changes.")] = None
    timeout_s: Annotated[Seconds, _said("Time-out of one call, seconds.")] = TOOL_TIMEOUT_S
    timeout_ms: Annotated[Milliseconds | None, _said("The same in milliseconds.")] = None
    idle_timeout_s: Annotated[Seconds | None, _said("Longest silence of a streaming tool, seconds.")] = None
    retry: Annotated[Retry, _said("May only narrow what the class of the tool allows.")] = Retry()
    honours_key: Annotated[bool, _said("The target runs an idempotency key only once.")] = False
    key_argument: Annotated[Word | None, _said("Parameter of the function that takes the key.")] = None
    probe: Annotated[Probe | None, _said("A reading tool that tells whether a call has happened.")] = None
    natural_key: Annotated[tuple[Word, ...], _said("Arguments that identify the effect.")] = ()
    key_namespace: Annotated[
        str, _said("What natural keys stand in, default: the name without its version.", max_length=128)
    ] = ""
    concurrency: Annotated[Slots | None, _said("Calls at the same time.")] = None
    rate: Annotated[Rate | None, _said("Calls in a time.")] = None
    cost_units: Annotated[float, _said("What one call is booked with.", ge=0, le=1e9)] = 0.0
    result_max_chars: Annotated[int, _said("What the model sees at most.", ge=1)] = RESULT_MAX_CHARS
    cancellation: Annotated[Cancellation, _said("What a cancelled call does.")] = "unknown"
    partial_result: Annotated[bool, _said("A result may be cut short.")] = False
    error_categories: Annotated[tuple[Word, ...], _said("Error types that the tool answers with.")] = ()
    owner: Annotated[str, _said("Who answers for the tool.", max_length=128)] = ""
    runtime_fields: Annotated[frozenset[Word], _said("Arguments that the runtime fills.")] = frozenset()
    control: Annotated[frozenset[Word], _said("Arguments that steer the effect.")] = frozenset()
    content: Annotated[frozenset[Word], _said("Arguments that are only carried.")] = frozenset()
    sensitive: Annotated[frozenset[Word], _said("Arguments that records must not show.")] = frozenset()
    resources: Annotated[dict[str, ResourceRef], _said("Arguments that name a thing.")] = {}
    data_class: Annotated[DataClass | None, _said("Class of the data handed out.")] = None
    scopes: Annotated[frozenset[Word], _said("Scopes that the actor must have.")] = frozenset()
    validators: Annotated[tuple[Check, ...], _said("Checks of meaning, in order.")] = ()
    facts: Annotated[tuple[Fact, ...], _said("Risk facts of every call.")] = ()
    secrets: Annotated[tuple[Word, ...], _said("Secrets that the tool may ask for.")] = ()
    intents: Annotated[frozenset[Word], _said("Short for expose.intents.")] = frozenset()
    expose: Annotated[Exposure, _said("Which runs may know of the tool.")] = Exposure()
    group: Annotated[str, _said("Capability, default: the name before its last word.", max_length=128)] = ""
    deprecated: Annotated[bool, _said("Still works; new uses should take another.")] = False
    replaced_by: Annotated[ToolName | None, _said("The tool to use instead.")] = None
    retired: Annotated[bool, _said("Works no more; answers with replaced_by.")] = False
    annotations: Annotated[dict[str, Any], _said("Anything else, for programs.")] = {}
    body: Annotated[str, _said("Digest of a body that is plain data.", max_length=128)] = ""


D = TypeVar("D", bound=ContractDocument)


def read_document(fields: Mapping[str, Any], where: str, structure: type[D]) -> D:
    """Return the checked document. Raises ContractError that names every wrong field by its path."""
    try:
        return msgspec.convert(fields, structure)
    except msgspec.ValidationError as error:
        said = explain(fields, structure) or [str(error)]
        more = f" (and {len(said) - 5} more)" if len(said) > 5 else ""
        raise ContractError(f"{where}: {'; '.join(said[:5])}{more}.") from None
