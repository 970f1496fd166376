"""Asking whoever the gateway's `approver` is, and making sense of what comes back."""

import asyncio
import inspect
import logging
from typing import Any, Final

from gerbang.ports import ApprovalAnswer, ApprovalRequest, ApproverLike
from gerbang.runtime import refusals
from gerbang.runtime.ballot import Ballot
from gerbang.runtime.body import TimeUp, driven
from gerbang.runtime.deadlines import Deadlines
from gerbang.runtime.outbox import Outbox
from gerbang.runtime.requests import is_answer, shown_arguments
from gerbang.runtime.session import RunSession
from gerbang.values import CallError
from gerbang.values.record import Message

_LOG: Final = logging.getLogger("gerbang.approvals")


class Questions:
    """Puts requests to an approver. Without one the answer is always to wait.

    `outbox` is that of an approver that is a channel.
    """

    def __init__(self, approver: ApproverLike | None, outbox: Outbox | None = None) -> None:
        self._approver = approver
        self._outbox = outbox
        self._deadlines = Deadlines()

    @property
    def asked_at_once(self) -> bool:
        """True when there is somebody to ask."""
        return self._approver is not None

    def letter(self, session: RunSession, ballot: Ballot) -> Message | None:
        """Return the message of a channel that asks, to be written with the request itself."""
        return None if self._outbox is None else self._outbox.letter(_request(session, ballot))

    def news(self, what: Any) -> list[Message]:
        """Return the message of a channel that tells of something, to be written with it."""
        return [] if self._outbox is None else [self._outbox.news(what)]

    def tell(self, what: Any) -> None:
        """Tell another approver that takes news, once it is on record. Never waits."""
        tell = None if self._outbox is not None else getattr(self._approver, "notify", None)
        if tell is None:
            return
        try:
            tell(what)
        except KeyboardInterrupt:
            raise
        except BaseException:  # it is on record, which is what counts; its text may hold a secret
            _LOG.warning("An approver could not be told of something; the record has it.")

    async def ask(
        self, session: RunSession, ballot: Ballot, seconds: float
    ) -> tuple[ApprovalAnswer | CallError, bool]:
        """Return the answer, and whether it says whose it is. After `seconds` nobody is asked any more.

        Raises StoreError.
        """
        if self._approver is None:
            return ApprovalAnswer("wait", session.principal), False
        request = _request(session, ballot)
        if self._outbox is not None:
            await self._outbox.put(request)
        try:  # driven as a tool is: what swallows its cancellation is left behind
            said = await driven(self._said(request), self._deadlines, max(0.0, seconds))
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except TimeUp:
            return refusals.expired(), False
        except BaseException:  # somebody else's code may raise anything; one that fails has not approved
            return refusals.approver_failed(), False
        if said is True:
            return ApprovalAnswer("approve", session.principal), False
        if said is False:
            return ApprovalAnswer("refuse", session.principal), False
        if said is None:
            return refusals.approver_failed(), False
        answer: ApprovalAnswer = said
        return answer, True

    async def _said(self, request: ApprovalRequest) -> Any:
        """Return what the approver says: all of its own code, and looking at its answer, is in here."""
        ask: Any = getattr(self._approver, "ask", self._approver)
        said = ask(request)
        if inspect.isawaitable(said):
            said = await said
        return said if said is True or said is False or is_answer(said) else None


def _request(session: RunSession, ballot: Ballot) -> ApprovalRequest:
    row = ballot.row
    return ApprovalRequest(
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
