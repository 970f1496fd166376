"""What a contract is made of: advice to the model, effects, retrying, probes, limits, exposure.

Bounds stand with the fields. They are enforced where a contract is made (`gerbang.contract.build`), and the
JSON Schema of the contract format is generated from them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Meta, Struct

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

Word = Annotated[str, Meta(min_length=1, max_length=128)]
"""A name of a scope, role, kind, intent: short and never empty."""
Sentences = Annotated[str, Meta(max_length=4000)]
"""Advice to the model, a few sentences."""
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]

_RETRY_ON: Final[frozenset[RetryWord]] = frozenset(get_args(RetryWord))
_NEVER_ON: Final[frozenset[NeverWord]] = frozenset(get_args(NeverWord))


class Guidance(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What helps a model to choose well. `nudge` is one more sentence for small models.

    `alternatives` are names of tools to use instead where this one does not fit.
    """

    when_to_use: Sentences = ""
    when_not: Sentences = ""
    effect: Sentences = ""
    returns_text: Sentences = ""
    limits: Sentences = ""
    alternatives: tuple[Word, ...] = ()
    nudge: Sentences = ""


class SideEffects(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a call changes. `kind` is a word such as `none`, `email_sent` or `row_changed`.

    `resources` are the kinds of things that change. `compensating_action` names the tool that takes the
    effect back. `idempotency_required`: no call without a natural key or a key of the caller's own.
    `default_requires_approval`: a person is asked, whatever the policy's rules allow. `approval_s`: a request
    for approval, and the grant, stand no longer than so many seconds.
    """

    kind: Word
    resources: tuple[Word, ...] = ()
    reversible: Reversible | None = None
    compensating_action: Word | None = None
    idempotency_required: bool = False
    default_requires_approval: bool = False
    approval_s: Seconds | None = None


class Retry(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """How often and after what a call may be repeated. It can only narrow the retry matrix.

    `max_attempts` counts the first one. Waiting grows from `base_ms` to at most `max_ms` milliseconds.
    """

    max_attempts: Annotated[int, Meta(ge=1, le=10)] = 3
    retry_on: frozenset[RetryWord] = _RETRY_ON
    never_retry_on: frozenset[NeverWord] = _NEVER_ON
    base_ms: Milliseconds = 200
    max_ms: Milliseconds = 10_000


class Condition(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A question to a probe's answer: the value at `path` (JSON Pointer) compared with `value`.

    `error` asks for the error code of a failed probe instead, and reads no value; `equals` and `in` compare
    JSON values, `exists` and `absent` look whether the path leads anywhere.
    """

    test: Literal["equals", "in", "exists", "absent", "error"]
    value: Any = None
    path: Annotated[str, Meta(max_length=400)] = ""


class Probe(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A reading tool that tells whether a call of unknown fate has happened.

    `arguments` maps the probe's arguments to those of the call (`@key` is the call's idempotency key),
    `values` to fixed JSON values. When neither condition holds, or both do, the fate is still unknown.

    `settles_s`: for so many seconds after the last moment at which the call could be sent its target may
    still act on it; a "no" counts after them. None: for as long again as the call's time-out, and no longer
    when the target itself has answered.
    """

    tool: Word
    happened: Condition
    not_happened: Condition
    arguments: Mapping[str, Word] = {}
    values: Mapping[str, Any] = {}
    settles_s: Annotated[float, Meta(ge=0, le=604_800)] | None = None


class Rate(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """At most `calls` calls in `per_s` seconds; `burst` of them at once (None: all of them)."""

    calls: Annotated[int, Meta(ge=1)]
    per_s: Seconds
    burst: Annotated[int, Meta(ge=1)] | None = None


class ResourceRef(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An argument that names a thing of the tenant's, or a list of such names.

    `kind` is what is named (`repository`). `tenant_prefix` is how each name must begin; `{tenant}` in it
    is the caller's tenant. None: only a resolver of the embedding program can tell whose the thing is.
    """

    kind: Word
    tenant_prefix: Word | None = None


class Check(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A semantic validator by name, with its options."""

    name: Word
    options: Mapping[str, Any] = {}


class Exposure(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Which runs may know of the tool. An empty set hides it from nobody; of each other set one must fit.

    `intents` and `states` are words that the embedding program gives to a run; `roles` and `scopes` are
    those of the actor.
    """

    intents: frozenset[Word] = frozenset()
    states: frozenset[Word] = frozenset()
    tenants: frozenset[Word] = frozenset()
    roles: frozenset[Word] = frozenset()
    scopes: frozenset[Word] = frozenset()
