"""What people decide about pending requests: approve, edit, refuse. Durable, and once."""

from typing import Any

from gerbang.approval.machine import ApprovalEvent
from gerbang.compose.runs import check_place
from gerbang.contract.catalogue import Catalogue
from gerbang.errors import UsageError
from gerbang.ports import Clock, Policy, Store
from gerbang.runtime.bodies import event, refused_body
from gerbang.runtime.requests import decide_row, edit, not_json
from gerbang.runtime.writing import write
from gerbang.values import CallError, Principal, Proposal
from gerbang.values.record import ApprovalRow, Batch


class People:
    """Decides requests of one gateway's store. Raises UsageError for what cannot be decided (again)."""

    def __init__(self, store: Store, clock: Clock, catalogue: Catalogue, policy: Policy) -> None:
        self._store = store
        self._clock = clock
        self._catalogue = catalogue
        self._policy = policy

    async def approve(self, approval_id: str, by: Principal, arguments: dict[str, Any] | None) -> ApprovalRow:
        """Grant a request, with other arguments if some are given."""
        row = await self._approval(approval_id, by)
        edited: ApprovalRow | CallError = row
        if arguments is not None:
            entry = self._catalogue.find(row.tool)
            if entry is None:
                raise UsageError(f"This gateway does not know {row.tool}. Edit the call where its tool is.")
            fault = not_json(arguments)
            if fault:
                raise UsageError(f"The new arguments are not JSON {fault}")
            edited = edit(row, entry, arguments, self._policy.version)
        if isinstance(edited, CallError):
            fields = "; ".join(f"{field.path}: {field.message}" for field in edited.invalid_fields)
            raise UsageError(f"The new arguments cannot run: {edited.message} {fields}".strip())
        return await self._decide(edited, ApprovalEvent.APPROVE, by, "")

    async def refuse(self, approval_id: str, by: Principal, reason: str) -> ApprovalRow:
        """Refuse a request."""
        row = await self._approval(approval_id, by)
        return await self._decide(row, ApprovalEvent.REFUSE, by, reason)

    async def _approval(self, approval_id: str, by: Principal) -> ApprovalRow:
        check_place(by, None, 1, None, None, None)
        row = await self._store.approval(approval_id)
        if row is None or row.tenant != by.tenant:
            raise UsageError(f"There is no approval {str(approval_id)[:80]!r}.")
        return row

    async def _decide(self, row: ApprovalRow, what: ApprovalEvent, by: Principal, note: str) -> ApprovalRow:
        now = self._clock.now()
        expired = now >= row.expires_at
        decided = (
            decide_row(row, ApprovalEvent.TIME_OUT, None, "", now)
            if expired
            else decide_row(row, what, by.user, note, now)
        )
        proposal = Proposal(row.run_id, "approval", 0, row.key[:12], row.tool)
        body = refused_body(
            by, proposal, approval_id=row.approval_id, approver=by.user, state=decided.state, finished_at=now
        )
        committed = await write(
            self._store,
            Batch(
                approvals=[decided],
                events=[event(f"approval.{decided.state}", row.run_id, body)],
                expects={row.approval_id: row.state},
            ),
        )
        if committed.stale is not None:
            raise UsageError(
                f"Approval {row.approval_id} is {committed.stale.state} already; nothing was changed."
            )
        if expired:
            raise UsageError(f"Approval {row.approval_id} has expired.")
        return decided
