"""What people said in a recorded run, said again when its calls are gone through: who, in what role."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from gerbang.approval.votes import Vote, author
from gerbang.errors import ToolError
from gerbang.ports import ApprovalAnswer
from gerbang.runtime.ballot import Ballot, opened
from gerbang.values import Principal
from gerbang.values.record import ApprovalRow, CallRow

NOBODY: Final = Principal("nobody")
LATE: Final = "late"
"""Instead of an answer: nobody gave one in time."""


class People:
    """The requests of a run, by the call that they were for. `rows` are the run's calls by their ids."""

    def __init__(self, approvals: Iterable[ApprovalRow], rows: Mapping[str, CallRow]) -> None:
        self._ballots: dict[str, Ballot] = {}
        self._turns: dict[str, int] = {}
        for approval in approvals:  # newest first; the one that a call's row names is the one that counted
            ballot = opened(approval)
            if ballot is None:
                continue
            name = ballot.terms.call_id
            row = rows.get(name)
            if name not in self._ballots or (row is not None and row.approval_id == approval.approval_id):
                self._ballots[name] = ballot

    def asked_for(self, call_id: str, arguments: bytes) -> bytes:
        """Return what was proposed, as JSON: `arguments`, unless a person has changed them."""
        ballot = self._ballots.get(call_id)
        return arguments if ballot is None or ballot.editor is None else ballot.asked_for

    def answer(self, call_id: str, timed_out: bool) -> ApprovalAnswer | bool | str:
        """Return the next thing that was said about a call, or LATE. `timed_out`: that is how it ended.

        Raises ToolError where the approver of then failed.
        """
        ballot = self._ballots.get(call_id)
        if ballot is None:
            return ApprovalAnswer("wait", NOBODY)
        if timed_out:
            return LATE
        votes, turn = _telling(ballot), self._turns.get(call_id, 0)
        self._turns[call_id] = turn + 1
        if turn >= len(votes):
            return ApprovalAnswer("wait", NOBODY)
        return _said(ballot, votes[turn])


def _telling(ballot: Ballot) -> tuple[Vote, ...]:
    """Return the votes from the last change on: those before it were about other arguments."""
    last = author(ballot.votes)
    return ballot.votes if last is None else ballot.votes[ballot.votes.index(last) :]


def _said(ballot: Ballot, vote: Vote) -> ApprovalAnswer | bool:
    """Return what was said. What the runtime itself refused is said again, and refused again."""
    if vote.code == "APPROVER_ERROR":
        raise ToolError("The approver failed then.", code=vote.code)
    if vote.code == "APPROVER_UNNAMED":
        return True
    by = Principal(
        vote.user or ballot.terms.asker.user,
        vote.tenant or ballot.row.tenant,
        roles=vote.roles,
        agent=vote.agent,
        delegated_by=vote.delegated_by,
    )
    if vote.code == "APPROVER_UNAVAILABLE":
        return ApprovalAnswer("unavailable", by, vote.note)
    if vote.verdict == "refuse" and not vote.code:
        return ApprovalAnswer("refuse", by, vote.note)
    changed: Any = msgspec.json.decode(ballot.row.arguments) if vote.verdict == "edit" else None
    return ApprovalAnswer("approve", by, vote.note, changed)
