"""What came of asking a person, on its way to the executor."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, ApprovalState, advance
from gerbang.approval.seal import sealed
from gerbang.approval.votes import Vote, read_votes, written
from gerbang.runtime.approval_record import approval_event
from gerbang.runtime.ballot import Ballot, opened
from gerbang.runtime.changes import changes
from gerbang.runtime.changes import note as note_of
from gerbang.runtime.requests import arguments_of, edit
from gerbang.values import CallError
from gerbang.values.record import ApprovalRow, Batch, CallRow

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket


def _as_it_is(row: ApprovalRow) -> ApprovalRow:
    return row


class Verdict(Struct, frozen=True, gc=False):
    """What came of asking.

    `dropped`: nobody is to decide any more, the call was refused. `row` is the call's row that holds the key
    instead (`taken`); `held` the row that the approval itself
    put there. `binding` is what was approved, `arguments` is set when the person edited the call, and
    `edited_note` tells the model of it. `seal` seals the approval's row when it changes.
    """

    state: Literal["granted", "refused", "pending", "taken", "dropped"]
    approval_id: str | None = None
    approval: ApprovalRow | None = None
    held: CallRow | None = None
    row: CallRow | None = None
    by: str | None = None
    error: CallError | None = None
    arguments: dict[str, Any] | None = None
    event_id: str = ""
    edited_note: str = ""
    binding: str | None = None
    seal: Callable[[ApprovalRow], ApprovalRow] = _as_it_is

    def use(self, batch: Batch) -> None:
        """Put the one use of the grant into the batch that uses it."""
        approval = self.approval
        state = None if approval is None else advance(approval.state, ApprovalEvent.USE)
        if approval is not None and state is not None:
            batch.approvals = (*batch.approvals, self.seal(replace(approval, state=state)))
            batch.expects = {**batch.expects, approval.approval_id: approval.seal or approval.state}

    def give_up(self, batch: Batch, at: float, error: CallError) -> None:
        """Put the end of a grant that cannot be used, or of a request that nobody waits for any more, into
        the batch that says why.
        """
        approval = self.approval
        if approval is None or self.state not in ("granted", "dropped"):
            return
        pending = approval.state == ApprovalState.PENDING and self.state == "dropped"
        if not pending and approval.state != ApprovalState.GRANTED:
            return
        why = error.said or error.error_code
        state = advance(approval.state, ApprovalEvent.CANCEL if pending else ApprovalEvent.TIME_OUT)
        assert state is not None  # noqa: S101 - both transitions are in the table
        said = Vote("", "refuse", at, code=error.error_code, note=why)
        votes = written((*(read_votes(approval.votes) or ()), said))
        note = f"{why}: {error.message}"[:500]
        after = self.seal(replace(approval, state=state, votes=votes, note=note))
        ballot = opened(after)
        batch.approvals = (*batch.approvals, after)
        batch.expects = {**batch.expects, approval.approval_id: approval.seal or approval.state}
        if ballot is not None:
            batch.events.append(approval_event(str(state), ballot, at, code=error.error_code, why=why))


def granted(ballot: Ballot, ticket: "Ticket", held: CallRow, lang: str, key: bytes) -> Verdict:
    """Return the verdict of a grant. Arguments that a person wrote without the contract are checked now."""
    row, editor = ballot.row, ballot.editor
    bound = row.binding
    if bound != ballot.terms.bind(row.key, row.arguments):
        bound = ""  # no call has this binding
    verdict = Verdict(
        "granted",
        row.approval_id,
        row,
        held,
        by=row.decided_by,
        binding=bound,
        seal=lambda changed: sealed(changed, key),
    )
    if row.arguments == ticket.call.canonical:
        return verdict
    arguments = arguments_of(row.arguments)
    if editor is not None and not editor.checked:
        asked = replace(row, arguments=ballot.asked_for)
        checked = edit(asked, ballot.terms, ticket.entry, arguments)
        if isinstance(checked, CallError):
            return replace(verdict, error=checked, binding=None)
        bound, arguments = checked.row.binding, arguments_of(checked.row.arguments)
    lines = changes(arguments_of(ballot.asked_for), arguments, ticket.call.contract.sensitive, lang)
    note = note_of(editor.user if editor else row.decided_by or "", lines, lang)
    return replace(verdict, arguments=arguments, edited_note=note, binding=bound)
