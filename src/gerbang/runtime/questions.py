"""Asking whoever the gateway's `approver` is, and making sense of what comes back."""

import inspect
from typing import Any

from gerbang.ports import ApprovalAnswer, ApprovalRequest, ApproverLike
from gerbang.runtime import refusals
from gerbang.runtime.ballot import Ballot
from gerbang.runtime.requests import is_answer, shown_arguments
from gerbang.runtime.session import RunSession
from gerbang.values import CallError


class Questions:
    """Puts requests to an approver. Without one the answer is always to wait."""

    def __init__(self, approver: ApproverLike | None) -> None:
        self._approver = approver

    @property
    def asked_at_once(self) -> bool:
        """True when there is somebody to ask."""
        return self._approver is not None

    def tell(self, what: Any) -> None:
        """Tell a channel that takes news what somebody is to be told of. Never waits."""
        tell = getattr(self._approver, "notify", None)
        if tell is not None:
            tell(what)

    async def ask(self, session: RunSession, ballot: Ballot) -> tuple[ApprovalAnswer | CallError, bool]:
        """Return the answer, and whether it says whose it is."""
        if self._approver is None:
            return ApprovalAnswer("wait", session.principal), False
        row = ballot.row
        request = ApprovalRequest(
            approval_id=row.approval_id,
            run_id=session.run_id,
            tool=row.tool,
            risk=ballot.terms.risk,
            arguments=shown_arguments(row),  # a copy: what runs is not theirs to change
            preview=row.preview,
            reasons=tuple(reason for reason in row.reasons.split(",") if reason),
            principal=session.principal,
            obligations=ballot.terms.duties,
            votes=ballot.agreed,
            tainted=ballot.terms.tainted,
            masked=ballot.terms.masked,
            expires_at=row.expires_at,
        )
        ask: Any = getattr(self._approver, "ask", self._approver)
        try:
            said = ask(request)
            if inspect.isawaitable(said):
                said = await said
        except Exception:  # an approver that fails has not approved
            return refusals.approver_failed(), False
        if said is True:
            return ApprovalAnswer("approve", session.principal), False
        if said is False:
            return ApprovalAnswer("refuse", session.principal), False
        if is_answer(said):
            answer: ApprovalAnswer = said
            return answer, True
        return refusals.approver_failed(), False
