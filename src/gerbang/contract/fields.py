"""The fields of a contract as keywords of Python. What may stand in a YAML file may stand here."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from gerbang.contract.document import Argument
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

Fields = Mapping[str, Any]


class ContractFields(TypedDict, total=False):
    """Every optional field, with the meaning of `gerbang.Contract`. Parts are structures or mappings."""

    returns: dict[str, Any] | None
    arguments: Mapping[str, Argument | Fields]
    guidance: Guidance | Fields
    side_effects: SideEffects | Fields | None
    timeout_s: float
    timeout_ms: int | None
    idle_timeout_s: float | None
    retry: Retry | Fields
    honours_key: bool
    key_argument: str | None
    probe: Probe | Fields | None
    natural_key: Iterable[str]
    key_namespace: str
    concurrency: int | None
    rate: Rate | Fields | None
    cost_units: float
    result_max_chars: int
    cancellation: Cancellation
    partial_result: bool
    error_categories: Iterable[str]
    owner: str
    runtime_fields: Iterable[str]
    control: Iterable[str]
    content: Iterable[str]
    sensitive: Iterable[str]
    resources: Mapping[str, ResourceRef | Fields]
    data_class: DataClass | None
    scopes: Iterable[str]
    validators: Iterable[Check | Fields]
    facts: Iterable[Fact]
    secrets: Iterable[str]
    intents: Iterable[str]
    expose: Exposure | Fields
    group: str
    deprecated: bool
    replaced_by: str | None
    retired: bool
    annotations: Mapping[str, Any]
    body: str
