"""What a person's word does to a request for approval. The same for those asked at once and those by id."""

from typing import Any, Final

from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, advance
from gerbang.approval.terms import Terms, read_terms
from gerbang.approval.votes import (
    Duties,
    Verdict,
    Vote,
    author,
    counting,
    lacking,
    mark_of,
    objection,
    read_votes,
    written,
)
from gerbang.errors import UsageError
from gerbang.runtime.changes import changes
from gerbang.runtime.duties import duties_of
from gerbang.runtime.objections import objected
from gerbang.runtime.requests import Edited, arguments_of, said_text
from gerbang.values import CallError, Principal
from gerbang.values.record import ApprovalRow

KEPT_VOTES: Final = 20
"""A request on which so many people have spoken is not edited any further."""


class Ballot:
    """A request, opened: its terms, its votes, and the duties under which it was asked."""

    def __init__(self, row: ApprovalRow, terms: Terms, votes: tuple[Vote, ...]) -> None:
        self.row = row
        self.terms = terms
        self.votes = votes
        self.duties: Duties = duties_of(terms.duties)

    @property
    def agreed(self) -> tuple[str, ...]:
        """Who has agreed to the arguments as they are."""
        return tuple(vote.user for vote in counting(self.votes, mark_of(self.row.arguments), self.duties))

    @property
    def asked_for(self) -> bytes:
        """The arguments that the model asked for."""
        first = next((vote for vote in self.votes if vote.verdict == "edit"), None)
        return self.row.arguments if first is None else first.before.encode()

    @property
    def editor(self) -> Vote | None:
        """The vote of who wrote the arguments as they are; None when they are the model's."""
        return author(self.votes)

    @property
    def changes(self) -> list[str]:
        """What people have changed in the call, a line each."""
        if self.editor is None:
            return []
        return changes(arguments_of(self.asked_for), arguments_of(self.row.arguments), self.terms.masked)

    @property
    def facts(self) -> dict[str, Any]:
        """What a request says beyond its row, as JSON; secrets are masked."""
        terms, editor = self.terms, self.editor
        return {
            "asked_for": terms.asker.user,
            "agent": terms.asker.agent,
            "purpose": terms.asker.purpose,
            "risk": terms.risk,
            "tainted": terms.tainted,
            "files": sorted(terms.files),
            "obligations": list(terms.duties),
            "needed": self.duties.needed,
            "agreed": list(self.agreed),
            "votes": [
                {
                    "user": vote.user,
                    "roles": list(vote.roles),
                    "verdict": vote.verdict,
                    "at": vote.at,
                    "note": vote.note,
                    "code": vote.code,
                }
                for vote in self.votes
            ],
            "changes": self.changes,
            "checked": editor is None or editor.checked,
        }

    def lacks(self, duties: Duties) -> str:
        """Return the code of what the votes lack under the duties of now; empty for nothing."""
        return lacking(duties, self.terms.asker, self.votes, mark_of(self.row.arguments))

    def agree(
        self, by: Principal, note: str, at: float, *, named: bool = True, edited: Edited | None = None
    ) -> ApprovalRow | CallError:
        """Return the request after somebody agreed, or what stands against that.

        `named` False: the yes came without saying whose it is. `edited` is what they made of the request.
        Raises UsageError when it is decided already.
        """
        row, duties = self.row if edited is None else edited.row, self.duties
        mark = mark_of(row.arguments)
        if duties.two and not named:
            return objected("APPROVER_UNNAMED", by.user, duties)
        code = objection(duties, self.terms.asker, by, self.votes, mark, edits=edited is not None)
        if not code and len(self.votes) >= KEPT_VOTES:
            code = "SECOND_PERSON"
        if code:
            return objected(code, by.user, duties)
        vote = self._vote(by, "approve", note, at)
        if edited is not None:
            before = self.row.arguments.decode()
            vote = replace(vote, verdict="edit", before=before, checked=edited.checked)
        votes = (*self.votes, replace(vote, arguments=mark))
        good = counting(votes, mark, duties)
        enough = len(good) >= duties.needed
        state = _next(row, ApprovalEvent.APPROVE if enough else ApprovalEvent.VOTE)
        after = replace(row, state=state, votes=written(votes), note=said_text(note))
        if enough:
            after = replace(after, decided_by=", ".join(one.user for one in good), decided_at=at)
        return after

    def refuse(self, by: Principal | None, note: str, at: float, code: str = "") -> ApprovalRow:
        """Return the request after a refusal; `code` is the error of one that the runtime made itself.

        Raises UsageError when it is decided already.
        """
        state = _next(self.row, ApprovalEvent.REFUSE)
        votes = self.votes
        if by is not None or code:
            votes = (*votes, replace(self._vote(by, "refuse", note, at), code=code))
        user = None if by is None else by.user
        return replace(
            self.row, state=state, votes=written(votes), decided_by=user, decided_at=at, note=said_text(note)
        )

    @staticmethod
    def _vote(by: Principal | None, verdict: Verdict, note: str, at: float) -> Vote:
        if by is None:
            return Vote("", verdict, at, note=said_text(note))
        return Vote(
            by.user,
            verdict,
            at,
            tenant=by.tenant,
            roles=tuple(sorted(by.roles)),
            agent=by.agent,
            delegated_by=tuple(by.delegated_by),
            note=said_text(note),
        )


def opened(row: ApprovalRow) -> Ballot | None:
    """Return the request opened; None for one that an earlier version of this program made."""
    terms, votes = read_terms(row.terms), read_votes(row.votes)
    return None if terms is None or votes is None else Ballot(row, terms, votes)


def ended(row: ApprovalRow, what: ApprovalEvent, note: str, at: float) -> ApprovalRow:
    """Return the request after it expired or was withdrawn. Raises UsageError when it is decided already.

    When a person decided before, `decided_at` stays when that was.
    """
    decided = at if row.decided_by is None else row.decided_at
    return replace(row, state=_next(row, what), decided_at=decided, note=said_text(note) or row.note)


def _next(row: ApprovalRow, what: ApprovalEvent) -> str:
    state = advance(row.state, what)
    if state is None:
        raise UsageError(f"Approval {row.approval_id} is {row.state} already; nothing was changed.")
    return state
