"""The only module that makes an AuthorisedCall. Nothing runs without one; each opens the executor once."""

from typing import Any

from gerbang.values import CallContext, Decision, ValidCall

_SEAL = object()


class AuthorisedCall:
    """A valid call with the right to run, once. Made by `authorise`; `spend` uses it up."""

    __slots__ = ("_spent", "attempt", "call", "context", "decision")

    def __init__(
        self, seal: object, call: ValidCall, decision: Decision, context: CallContext, attempt: int
    ) -> None:
        if seal is not _SEAL:
            raise PermissionError("An AuthorisedCall is made by gerbang.approval.grant.authorise only.")
        self.call = call
        self.decision = decision
        self.context = context
        self.attempt = attempt
        self._spent = False

    def spend(self) -> bool:
        """Use the right up. True the first time, False ever after."""
        if self._spent:
            return False
        self._spent = True
        return True

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
    if decision.decision == "ask" and binding is not None and approved_binding == binding:
        return AuthorisedCall(_SEAL, call, decision, context, attempt)
    return None
