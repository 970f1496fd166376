"""What the policy said about one call."""

from typing import Any, Literal

from msgspec import Struct

from gerbang.values.principal import is_name

Verdict = Literal["allow", "deny", "ask"]


class Decision(Struct, frozen=True, gc=False):
    """A verdict with its reasons.

    `reasons` are codes in upper case, the deciding one first. `rule` is the id of the rule that decided,
    or None for a default or floor. `policy_version` is the digest of the policy. `obligations` are
    duties that the runtime must fulfil for the verdict to hold, as `two_person` or `approvers:ops`
    (`gerbang.policy.obligations`). `auto` says that the policy names this very tool and lets it run
    though its class would ask.
    """

    decision: Verdict
    reasons: tuple[str, ...]
    rule: str | None
    policy_version: str
    obligations: tuple[str, ...] = ()
    auto: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "decision": self.decision,
            "reasons": list(self.reasons),
            "rule": self.rule,
            "policy_version": self.policy_version,
            "obligations": list(self.obligations),
        }


def recordable(decision: Decision) -> bool:
    """Tell whether a decision that somebody else's policy made is of the types that it promises, and its
    texts can be recorded.
    """
    named = (*decision.reasons, decision.policy_version, *(() if decision.rule is None else (decision.rule,)))
    duties = decision.obligations
    return (
        type(decision.reasons) is tuple
        and all(map(is_name, named))
        and type(duties) is tuple
        and all(map(is_name, duties))
    )
