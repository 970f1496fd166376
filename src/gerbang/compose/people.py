"""What people decide about pending requests: approve, edit, refuse, withdraw. Durable, and once.

It works on the store alone. Where the tools are at hand an edit is checked at once, elsewhere when the
approval is used.
"""

from typing import Any, Final

from gerbang.approval.machine import ApprovalEvent, ApprovalState
from gerbang.approval.seal import is_genuine, sealed, shown_mark
from gerbang.compose.runs import check_person
from gerbang.contract.catalogue import Catalogue
from gerbang.errors import UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime.approval_record import approval_event, attempt_event
from gerbang.runtime.approvals import withdrawal
from gerbang.runtime.ballot import Ballot, ended, opened
from gerbang.runtime.requests import Edited, edit, not_json
from gerbang.runtime.writing import write
from gerbang.values import CallError, Principal
from gerbang.values.principal import is_name
from gerbang.values.record import ApprovalRow, Batch
from gerbang.values.text import clean_text

UNSIGNED: Final = Principal("unsigned", "unsigned")
"""Who stands in the record of a reply that nobody is known to have signed."""


class Objected(UsageError):
    """The policy does not let this person approve the call."""


class Unfit(UsageError):
    """The new arguments are none that the tool takes; nothing was changed. `error` has all the findings, as a
    call with these arguments would get them.
    """

    def __init__(self, error: CallError) -> None:
        fields = "; ".join(f"{one.path or 'all of it'}: {one.message}" for one in error.invalid_fields)
        detail = f" {fields}" if fields and fields not in error.message else ""
        super().__init__(f"The new arguments cannot run: {error.message}{detail} Nothing was changed.")
        self.error = error


class Changed(UsageError):
    """The request is not what was shown to the person who decides."""


class People:
    """Decides requests of a store. Raises UsageError for what cannot be decided (again), having recorded
    that somebody tried.

    `catalogue` None: the tools are not at hand.
    """

    def __init__(self, store: Store, clock: Clock, catalogue: Catalogue | None) -> None:
        self._store = store
        self._clock = clock
        self._catalogue = catalogue

    async def approve(
        self,
        approval_id: str,
        by: Principal,
        arguments: dict[str, Any] | None = None,
        reason: str = "",
        seen: str | None = None,
    ) -> ApprovalRow:
        """Agree to a request, with other arguments if some are given. It is granted when enough have."""
        ballot = await self._ballot(approval_id, by, "approve", seen)
        edited = None if arguments is None else self._edited(ballot, arguments)
        after = ballot.agree(by, reason, self._clock.now(), edited=edited)
        if isinstance(after, CallError):
            await self._tried(ballot, by, after.error_code)
            raise Objected(f"{after.message} ({after.error_code}) Nothing was changed.")
        return await self._write(ballot, after, by)

    async def refuse(
        self, approval_id: str, by: Principal, reason: str, seen: str | None = None
    ) -> ApprovalRow:
        """Refuse a request."""
        ballot = await self._ballot(approval_id, by, "refuse", seen)
        return await self._write(ballot, ballot.refuse(by, reason, self._clock.now()), by)

    async def cancel(self, approval_id: str, by: Principal, reason: str) -> ApprovalRow:
        """Withdraw a request that nobody has decided: the call's key is free again."""
        ballot = await self._ballot(approval_id, by, "cancel")
        held, key = await self._store.call(ballot.row.key), await self._store.secret_key()
        batch = withdrawal(ballot.row, held, key, self._clock.now(), reason or f"withdrawn by {by.user}", by)
        return await self._commit(ballot.row, batch)

    async def not_taken(self, approval_id: str) -> None:
        """Record a reply that nobody is known to have signed. `approval_id` is what it claims to be about."""
        now = self._clock.now()
        await self._record(attempt_event(approval_id, UNSIGNED, "reply", "REPLY_NOT_SIGNED", now))

    def _edited(self, ballot: Ballot, arguments: dict[str, Any]) -> Edited:
        if type(arguments) is not dict:
            raise UsageError("The new arguments are a dict, a JSON object; nothing was changed.")
        return fitting(ballot, self._catalogue, arguments)

    async def _ballot(self, approval_id: str, by: Principal, what: str, seen: str | None = None) -> Ballot:
        """Return a request that waits and that `by` may decide; `seen` is the mark of what they saw."""
        check_person(by)
        row = await self._store.approval(approval_id) if is_name(approval_id) else None
        if row is None or row.tenant != by.tenant:
            now = self._clock.now()
            await self._record(attempt_event(approval_id, by, what, "APPROVAL_UNKNOWN", now))
            raise UsageError(
                f"There is no approval {clean_text(str(approval_id)[:80])!r} of the tenant {by.tenant!r}. "
                "See: gerbang approvals list"
            )
        ballot = opened(row)
        if ballot is None:
            raise UsageError(
                f"Approval {row.approval_id} was asked for by an earlier version of this program. "
                "Have the call made again."
            )
        key = await self._store.secret_key()
        if not is_genuine(row, key):
            now = self._clock.now()
            event = attempt_event(row.approval_id, by, what, "APPROVAL_FORGED", now, row.run_id)
            await self._record(event)
            raise UsageError(f"Approval {row.approval_id} is not as it was issued; nothing was changed.")
        if row.state != ApprovalState.PENDING:
            await self._tried(ballot, by, "APPROVAL_DECIDED")
            raise UsageError(f"Approval {row.approval_id} is {row.state} already; nothing was changed.")
        if self._clock.now() >= row.expires_at:
            await self._write(ballot, ended(row, ApprovalEvent.TIME_OUT, "", self._clock.now()), None)
            raise UsageError(f"Approval {row.approval_id} has expired.")
        if seen is not None and seen != shown_mark(row):
            await self._tried(ballot, by, "APPROVAL_CHANGED")
            raise Changed(
                f"Approval {row.approval_id} is not what was shown: somebody has spoken on it since. "
                "Look at it again; nothing was changed."
            )
        return ballot

    async def _write(self, ballot: Ballot, after: ApprovalRow, by: Principal | None) -> ApprovalRow:
        after = sealed(after, await self._store.secret_key())
        final = opened(after)
        assert final is not None  # noqa: S101 - we have just written it
        kind = "voted" if after.state == ApprovalState.PENDING else str(after.state)
        before = ballot.row
        batch = Batch(
            approvals=[after],
            events=[approval_event(kind, final, self._clock.now(), by)],
            expects={before.approval_id: before.seal},
        )
        return await self._commit(before, batch)

    async def _commit(self, before: ApprovalRow, batch: Batch) -> ApprovalRow:
        committed = await write(self._store, batch)
        if committed.stale is None:
            return batch.approvals[0]
        now = committed.stale
        if now.state == ApprovalState.PENDING:
            raise UsageError(
                f"Somebody else has just voted on approval {before.approval_id}. Look at it again."
            )
        raise UsageError(f"Approval {before.approval_id} is {now.state} already; nothing was changed.")

    async def _tried(self, ballot: Ballot, by: Principal, code: str) -> None:
        """Record that somebody tried what they may not."""
        await self._record(approval_event("attempted", ballot, self._clock.now(), by, code=code))

    async def _record(self, event: Any) -> None:
        await write(self._store, Batch(events=[event]))


def fitting(ballot: Ballot, catalogue: Catalogue | None, arguments: dict[str, Any]) -> Edited:
    """Return a request with other arguments. Raises UsageError when they are no JSON, and Unfit when they do
    not fit the tool's contract; without that at hand they are checked when the approval is used.
    """
    fault = not_json(arguments)
    if fault:
        raise UsageError(f"The new arguments are not JSON {fault}. Nothing was changed.")
    entry = None if catalogue is None else catalogue.find(ballot.row.tool)
    edited = edit(ballot.row, ballot.terms, entry, arguments)
    if isinstance(edited, CallError):
        raise Unfit(edited)
    return edited
