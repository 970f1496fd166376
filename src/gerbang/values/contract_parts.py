"""What a contract is made of: advice to the model, effects, retrying, probes, limits, exposure."""

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from msgspec import Struct

RetryWord = Literal["timeout", "rate_limited", "transient_network_error", "upstream_error"]
"""Failures that a call may be repeated after, where the class of the tool and its state allow it."""
NeverWord = Literal["validation_error", "permission_denied", "irreversible_side_effect_completed"]
"""Failures after which no call is ever repeated."""
Fact = Literal["irreversible", "production", "customer_impact", "money", "identity", "access", "legal_record"]
"""Risk facts that a contract may declare of all its calls."""
DataClass = Literal["public", "internal", "confidential", "restricted"]
"""Classes of the data that a tool hands out, the freest first."""
Reversible = Literal["yes", "partially", "no"]
Cancellation = Literal["stops", "finishes", "unknown"]

_RETRY_ON: Final[frozenset[RetryWord]] = frozenset(get_args(RetryWord))
_NEVER_ON: Final[frozenset[NeverWord]] = frozenset(get_args(NeverWord))


class Guidance(Struct, frozen=True, gc=False):
    """What helps a model to choose well. `nudge` is one more sentence for small models.

    `alternatives` are names of tools to use instead where this one does not fit.
    """

    when_to_use: str = ""
    when_not: str = ""
    effect: str = ""
    returns_text: str = ""
    limits: str = ""
    alternatives: tuple[str, ...] = ()
    nudge: str = ""


class SideEffects(Struct, frozen=True, gc=False):
    """What a call changes. `kind` is a word such as `none`, `email_sent` or `row_changed`.

    `resources` are the kinds of things that change. `compensating_action` names the tool that takes the
    effect back. `idempotency_required`: no call without a natural key or a key of the caller's own.
    `default_requires_approval`: a person is asked, whatever the policy's rules allow.
    """

    kind: str
    resources: tuple[str, ...] = ()
    reversible: Reversible | None = None
    compensating_action: str | None = None
    idempotency_required: bool = False
    default_requires_approval: bool = False


class Retry(Struct, frozen=True, gc=False):
    """How often and after what a call may be repeated. It can only narrow the retry matrix.

    `max_attempts` counts the first one. Waiting grows from `base_ms` to at most `max_ms` milliseconds.
    """

    max_attempts: int = 3
    retry_on: frozenset[RetryWord] = _RETRY_ON
    never_retry_on: frozenset[NeverWord] = _NEVER_ON
    base_ms: int = 200
    max_ms: int = 10_000


class Condition(Struct, frozen=True, gc=False):
    """A question to a probe's answer: the value at `path` (JSON Pointer) compared with `value`.

    `error` asks for the error code of a failed probe instead, and reads no value; `equals` and `in` compare
    JSON values, `exists` and `absent` look whether the path leads anywhere.
    """

    test: Literal["equals", "in", "exists", "absent", "error"]
    value: Any = None
    path: str = ""


class Probe(Struct, frozen=True, gc=False):
    """A reading tool that tells whether a call of unknown fate has happened.

    `arguments` maps the probe's arguments to those of the call (`@key` is the call's idempotency key),
    `values` to fixed JSON values. When neither condition holds, or both do, the fate is still unknown.
    """

    tool: str
    happened: Condition
    not_happened: Condition
    arguments: Mapping[str, str] = {}
    values: Mapping[str, Any] = {}


class Rate(Struct, frozen=True, gc=False):
    """At most `calls` calls in `per_s` seconds; `burst` of them at once (None: all of them)."""

    calls: int
    per_s: float
    burst: int | None = None


class ResourceRef(Struct, frozen=True, gc=False):
    """An argument that names a thing of the tenant's, or a list of such names.

    `kind` is what is named (`repository`). `tenant_prefix` is how each name must begin; `{tenant}` in it
    is the caller's tenant. None: only a resolver of the embedding program can tell whose the thing is.
    """

    kind: str
    tenant_prefix: str | None = None


class Check(Struct, frozen=True, gc=False):
    """A semantic validator by name, with its options."""

    name: str
    options: Mapping[str, Any] = {}


class Exposure(Struct, frozen=True, gc=False):
    """Which runs may know of the tool. An empty set hides it from nobody; of each other set one must fit.

    `intents` and `states` are words that the embedding program gives to a run; `roles` and `scopes` are
    those of the actor.
    """

    intents: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
