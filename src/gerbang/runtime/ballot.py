"""What a person's word does to a request for approval. The same for those asked at once and those by id."""

from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, advance
from gerbang.approval.terms import Terms, read_terms
from gerbang.approval.votes import (
    Duties,
    Verdict,
    Vote,
    counting,
    mark_of,
    objection,
    read_votes,
    written,
)
from gerbang.errors import UsageError
from gerbang.runtime.duties import duties_of
from gerbang.runtime.objections import objected, stale
from gerbang.runtime.requests import said_text
from gerbang.values import CallError, Principal
from gerbang.values.record import ApprovalRow

KEPT_VOTES = 20
"""A request on which more people have spoken is not edited any further."""


class Ballot:
    """A request, opened: its terms, votes and duties."""

    def __init__(self, row: ApprovalRow, terms: Terms, votes: tuple[Vote, ...], duties: Duties) -> None:
        self.row = row
        self.terms = terms
        self.votes = votes
        self.duties = duties

    @property
    def agreed(self) -> tuple[str, ...]:
        """Who has agreed to the arguments as they are."""
        return tuple(vote.user for vote in counting(self.votes, mark_of(self.row.arguments), self.duties))

    def agree(
        self, by: Principal, note: str, at: float, *, named: bool = True, edited: ApprovalRow | None = None
    ) -> ApprovalRow | CallError:
        """Return the request after somebody agreed, or what stands against that.

        `named` False: the yes came without saying whose it is. `edited` is the request with the arguments
        that they wrote.
        """
        row = self.row if edited is None else edited
        mark = mark_of(row.arguments)
        if self.duties.two and not named:
            return objected("APPROVER_UNNAMED", by.user, self.duties)
        code = objection(
            self.duties, self.terms.asker, by, self.votes, mark, edits=edited is not None
        )
        if code:
            return objected(code, by.user, self.duties)
        if len(self.votes) >= KEPT_VOTES:
            return objected("SECOND_PERSON", by.user, self.duties)
        vote = self._vote(by, "approve" if edited is None else "edit", note, at)
        vote = replace(vote, arguments=mark)
        if edited is not None:
            checked = edited.contract_checked
            vote = replace(vote, before=self.row.arguments.decode(), checked=checked)
        votes = (*self.votes, vote)
        good = counting(votes, mark, self.duties)
        enough = len(good) >= self.duties.needed
        what = ApprovalEvent.APPROVE if enough else ApprovalEvent.VOTE
        after = replace(row, state=_next(row, what), votes=written(votes), note=said_text(note))
        if enough:
            after = replace(after, decided_by=", ".join(one.user for one in good), decided_at=at)
        return after
