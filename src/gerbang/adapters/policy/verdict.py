"""From what a foreign engine answered to a decision: the shape is checked, whatever else is a denial."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from gerbang.errors import PolicyError
from gerbang.policy.floors import floored
from gerbang.policy.input import PolicyInput
from gerbang.policy.obligations import read_obligations
from gerbang.values import Decision

_CODE: Final = r"^[A-Z][A-Z0-9_]{0,63}\Z"
MAX_DETAIL_CHARS: Final = 500

Code = Annotated[str, Meta(pattern=_CODE)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Verdict(Struct, frozen=True, forbid_unknown_fields=True):
    """The result that a policy gives.

    `reasons` are codes in upper case, at least one. `rule` names the rule that decided. `obligations` are
    written as in rules: `"two_person"`, `{"approvers": ["ops"]}`. `auto` lifts the floor of `transactional`
    and `destructive`, as in rules; without it an `allow` of those becomes `ask`.
    """

    decision: Literal["allow", "ask", "deny"]
    reasons: Annotated[tuple[Code, ...], Meta(min_length=1, max_length=32)]
    rule: Name | None = None
    obligations: Annotated[tuple[Any, ...], Meta(max_length=32)] = ()
    auto: bool = False


class Told(Struct, frozen=True):
    """A decision, and for people who look after the policy what went wrong, if anything did."""

    decision: Decision
    detail: str = ""


def denied(code: str, version: str, detail: str, cause: str | None = None) -> Told:
    """Return a denial with `code`, and `cause` as a second, finer code."""
    reasons = (code,) if cause is None or cause == code else (code, cause)
    return Told(Decision("deny", reasons, None, version), detail[:MAX_DETAIL_CHARS])


def decided(verdict: Verdict, document: PolicyInput, version: str) -> Told:
    """Return the decision of a verdict, after the floors: they come last and only tighten."""
    try:
        obligations = tuple(str(item) for item in read_obligations(verdict.obligations))
    except PolicyError as error:
        return denied("POLICY_ERROR", version, f"the result has the wrong shape: {error}", "POLICY_RESULT")
    decision = Decision(verdict.decision, verdict.reasons, verdict.rule, version, obligations, verdict.auto)
    return Told(floored(decision, document))
