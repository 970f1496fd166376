"""Bodies of audit events: what is said of a run and its calls, redacted, in the record's own names."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.audit.chain import detailed
from gerbang.audit.commitments import Commitments
from gerbang.audit.redact import MASK, redact
from gerbang.values import Decision, Principal, Proposal, StepId, ValidCall
from gerbang.values.event import NewEvent, Said

_ENCODER = msgspec.json.Encoder()
_INPUT_CHARS = 4_000
_DECIDED = {"allow": "approved_by_policy", "deny": "denied_by_policy", "ask": "needs_approval"}


class RunStarted(Struct, frozen=True, gc=False):
    """A run began."""

    run_id: str
    user: str
    tenant: str
    agent_id: str | None
    model: str
    profile: str
    purpose: str | None
    intent: str | None
    prompt_hash: str
    at: float


class RunResumed(Struct, frozen=True, gc=False):
    """A run was taken up again. `done` counts the calls of its last answer that had their outcome."""

    run_id: str
    by: str
    answers: int
    done: int
    at: float


class ModelAnswered(Said, frozen=True, gc=False):
    """A model answered; its calls are named, its text is only measured. `asked` counts requests for it."""

    run_id: str
    step_id: str
    calls: tuple[str, ...]
    faults: int
    text_chars: int
    finish_reason: str
    input_tokens: int
    output_tokens: int
    at: float
    asked: int = 1

    def written(self) -> bytes:
        """Return the body of the event."""
        return text_of(self)


class CallEvent(Struct, frozen=True, gc=False, omit_defaults=True):
    """One thing that happened to a call: `refused`, `replayed`, `resolved` and so on.

    The members behind `detail_hash` are its detail (see `gerbang.audit.chain`); whoever sets one of them
    sets `detail_hash` to `PENDING`. `taint` is the trust level of the result; `tainted` tells that the run
    had read something from outside before the decision.
    """

    run_id: str
    step_id: str
    agent_id: str | None
    tool_name: str
    call_id: str
    risk_class: str = ""
    contract: str = ""
    input_hash: str = ""
    input_bytes: int = 0
    coerced: tuple[str, ...] = ()
    repaired: bool = False
    policy_decision: str = ""
    reasons: tuple[str, ...] = ()
    rule: str | None = None
    policy_version: str = ""
    approval_id: str | None = None
    approver: str | None = None
    attempt: int = 0
    state: str = ""
    status: str = ""
    error_code: str = ""
    effect: str = ""
    started_at: float = 0.0
    finished_at: float = 0.0
    latency_ms: float = 0.0
    output_hash: str = ""
    output_bytes: int = 0
    cost_units: float = 0.0
    process: str = ""
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    risk_facts: dict[str, Any] = {}
    user: str = ""
    team: str | None = None
    delegated_by: tuple[str, ...] = ()
    tainted: bool = False
    taint: str = ""
    may_contain_instructions: bool = False
    salt_id: str = ""
    detail_hash: str = ""
    input_redacted: str = ""
    arguments_hash: str = ""
    facts: dict[str, Any] = {}
    reads: tuple[Any, ...] = ()


class SwitchTurned(Struct, frozen=True, gc=False):
    """A kill switch was turned on or off."""

    run_id: str
    target: str
    by: str
    tenant: str
    reason: str
    at: float


class ToolApproved(Struct, frozen=True, gc=False):
    """Somebody approved the definition of a tool from a pinned source."""

    run_id: str
    tool_name: str
    contract: str
    by: str
    at: float


class PolicySwapped(Struct, frozen=True, gc=False):
    """The policy of a gateway changed while it was open, or was to change and did not."""

    run_id: str
    old: str
    new: str
    at: float


class SettledByPerson(Struct, frozen=True, gc=False):
    """A person said what became of a call that nobody knew the fate of."""

    run_id: str
    step_id: str
    agent_id: str | None
    tool_name: str
    call_id: str
    attempt: int
    state: str
    status: str
    error_code: str
    effect: str
    reasons: tuple[str, ...]
    by: str
    by_tenant: str
    by_roles: tuple[str, ...]
    reason: str
    finished_at: float
    output_hash: str
    output_bytes: int
    salt_id: str


class RunErased(Struct, frozen=True, gc=False):
    """The payloads of a run were erased."""

    run_id: str
    by: str
    tenant: str
    reason: str
    at: float


class CancelAsked(Struct, frozen=True, gc=False):
    """Somebody asked for the end of a run."""

    run_id: str
    by: str
    tenant: str
    reason: str
    at: float


class RunFinished(Struct, frozen=True, gc=False):
    """A run ended."""

    run_id: str
    status: str
    steps: int
    calls: int
    answer_hash: str
    at: float


@lru_cache(maxsize=1024)
def step_name(step: StepId) -> str:
    """Return the step's name in records: `step_007` for 7."""
    return f"step_{step:03d}" if isinstance(step, int) else step


class _Committing(Said, frozen=True, gc=False):
    """Members of which one, the commitment to a payload, is still to be made."""

    body: Struct
    member: str
    payload: bytes
    marks: Commitments

    @property
    def facts(self) -> Struct:
        """The members that are there."""
        return self.body

    def written(self) -> bytes:
        """Return the body of the event."""
        return text_of(replace(self.body, **{self.member: self.marks.of(self.payload)}))


def text_of(body: Struct) -> bytes:
    """Return a body as JSON."""
    return _ENCODER.encode(body)


def committing(
    kind: str, run_id: str, body: Struct, marks: Commitments, member: str, payload: bytes
) -> NewEvent:
    """Return the event of a body, `member` of which is to be the commitment to `payload`."""
    return NewEvent(run_id, kind, _Committing(body, member, payload, marks))


def event(kind: str, run_id: str, body: Struct, marks: Commitments | None = None) -> NewEvent:
    """Return the event with its body encoded. `marks` are given for a body that has a detail."""
    data = _ENCODER.encode(body)
    return NewEvent(run_id, kind, data if marks is None else detailed(data, marks))


def with_detail(kind: str, run_id: str, body: Struct, marks: Commitments) -> NewEvent:
    """Return the event of a body that has a detail, with the commitment to it."""
    return NewEvent(run_id, kind, detailed(_ENCODER.encode(body), marks))


def with_salted_detail(kind: str, run_id: str, body: Struct, salt: str) -> NewEvent:
    """Return the event of a body whose detail begins with a salt of its own: the run's is not at hand."""
    return with_detail(kind, run_id, body, Commitments(bytes.fromhex(salt)))


def decided(decision: Decision, person: bool = False) -> str:
    """Return the decision in the words of the record."""
    if person:
        return "approved_by_person"
    return _DECIDED[decision.decision]


def is_masked(call: ValidCall) -> bool:
    """Tell whether a call has arguments that are not to be recorded."""
    return not call.contract.sensitive.isdisjoint(call.arguments)


def shown_input(call: ValidCall) -> str:
    """Return the arguments as they may be recorded: sensitive fields masked, credentials too, bounded."""
    if not is_masked(call):
        return shown_text(call.canonical)
    sensitive = call.contract.sensitive
    kept = {key: MASK if key in sensitive else value for key, value in call.arguments.items()}
    return redact(_ENCODER.encode(kept).decode()[:_INPUT_CHARS])


def shown_text(canonical: bytes) -> str:
    """Return arguments of which none is sensitive as they may be recorded."""
    if len(canonical) > _INPUT_CHARS:
        return redact(canonical[:_INPUT_CHARS].decode("utf-8", "ignore")) + "…"
    return redact(canonical.decode())


def refused_body(principal: Principal, proposal: Proposal, **facts: Any) -> CallEvent:
    """Return the body for a proposal that did not become a valid call."""
    return CallEvent(
        proposal.run_id,
        step_name(proposal.step_id),
        principal.agent,
        redact(proposal.name[:200]),
        proposal.call_id,
        repaired=proposal.repaired,
        user=principal.user,
        team=principal.team,
        delegated_by=principal.delegated_by,
        **facts,
    )
