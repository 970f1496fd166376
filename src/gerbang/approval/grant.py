"""The only module that makes an AuthorisedCall. Nothing runs without one; each opens the executor once."""

from typing import Any

from gerbang.values import CallContext, Decision, ValidCall

_SEAL = object()
_set = object.__setattr__


class AuthorisedCall:
    """A valid call with the right to run, once. Made by `authorise`; `spend` uses it up. Read-only."""

    __slots__ = ("_spent", "attempt", "call", "context", "decision")
    call: ValidCall
    decision: Decision
    context: CallContext
    attempt: int
    _spent: bool

    def __init__(
        self, seal: object, call: ValidCall, decision: Decision, context: CallContext, attempt: int
    ) -> None:
        if seal is not _SEAL:
            raise PermissionError("An AuthorisedCall is made by gerbang.approval.grant.authorise only.")
        _set(self, "call", call)
        _set(self, "decision", decision)
        _set(self, "context", context)
        _set(self, "attempt", attempt)
        _set(self, "_spent", False)

    def spend(self) -> bool:
        """Use the right up. True the first time, False ever after."""
        if self._spent:
            return False
        _set(self, "_spent", True)
        return True

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A grant cannot be changed: what was authorised is what runs.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A grant cannot be changed: what was authorised is what runs.")

    def __init_subclass__(cls) -> None:
        raise TypeError("A grant has no subclasses.")

    def __reduce__(self) -> Any:
        raise TypeError("A grant cannot be copied or stored.")


def authorise(
    call: ValidCall,
    decision: Decision,
    context: CallContext,
    *,
    approved_binding: str | None,
    binding: str | None,
    attempt: int = 1,
) -> AuthorisedCall | None:
    """Return the right to run, or None.

    An `allow` needs nothing more. An `ask` needs a person's approval whose binding (the digest of what
    they saw) equals the binding of what would run now. A `deny` is never lifted.
    """
    if decision.decision == "allow":
        return AuthorisedCall(_SEAL, call, decision, context, attempt)
    if decision.decision == "ask" and binding and approved_binding == binding:
        return AuthorisedCall(_SEAL, call, decision, context, attempt)
    return None


def renewed(grant: AuthorisedCall, decision: Decision, attempt: int) -> AuthorisedCall | None:
    """Return the right to make a further attempt of the very call whose grant is spent, or None.

    `decision` is what policy says now: what has come to be denied, or to need a person that it did not
    need before, is not sent again.
    """
    if not grant._spent or attempt <= grant.attempt:
        return None
    if decision.decision == "allow" or (
        decision.decision == grant.decision.decision == "ask"
        and decision.policy_version == grant.decision.policy_version
    ):
        return AuthorisedCall(_SEAL, grant.call, grant.decision, grant.context, attempt)
    return None
