"""Who has agreed to what, and whether that is enough: the duties that a policy puts on an approval."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from gerbang.approval.terms import Asker
from gerbang.values import Principal
from gerbang.values.canonical import digest

Verdict = Literal["approve", "edit", "refuse"]


class Vote(Struct, frozen=True, gc=False, omit_defaults=True):
    """What one person said, who they are, and when (seconds since the epoch).

    `arguments` is the digest of the arguments that they agreed to. An edit keeps in `before` the JSON of
    those that it replaced; `checked` is False when the tool's contract was not at hand: it is checked when
    the approval is used. `code` is the error that a refusal by the runtime itself gave.
    """

    user: str
    verdict: Verdict
    at: float
    arguments: str = ""
    tenant: str = ""
    roles: tuple[str, ...] = ()
    agent: str | None = None
    delegated_by: tuple[str, ...] = ()
    before: str = ""
    checked: bool = True
    note: str = ""
    code: str = ""


class Duties(Struct, frozen=True, gc=False):
    """The obligations that concern an approval. `roles`: one of them is needed; empty means anybody.

    `lasts_s` is how long the request may stand, None for the gateway's own time.
    """

    two: bool = False
    other: bool = False
    no_self: bool = False
    roles: frozenset[str] = frozenset()
    redact: frozenset[str] = frozenset()
    notify: tuple[str, ...] = ()
    lasts_s: float | None = None
    dry_run: bool = False

    @property
    def needed(self) -> int:
        """How many people have to agree."""
        return 2 if self.two else 1

    @property
    def of_persons(self) -> bool:
        """Tell whether it matters who agrees."""
        return self.two or self.other or self.no_self or bool(self.roles)


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(tuple[Vote, ...])
NO_DUTIES: Final = Duties()


def written(votes: Sequence[Vote]) -> str:
    """Return the votes as they are kept."""
    return _ENCODER.encode(votes).decode()


def read_votes(text: str) -> tuple[Vote, ...] | None:
    """Return the votes that were kept; None for what are none."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return None


def mark_of(arguments: bytes) -> str:
    """Return the digest of arguments by which a vote names them."""
    return digest(["arguments", arguments.decode()])


def counting(votes: Sequence[Vote], mark: str, duties: Duties) -> list[Vote]:
    """Return the votes that count for the arguments as they are now, of people who may count together."""
    last = author(votes)
    found: list[Vote] = []
    for vote in votes:
        if vote.verdict == "refuse" or vote.arguments != mark:
            continue
        if duties.other and last is not None and not _apart(vote, last):
            continue
        if all(_apart(vote, other) for other in found):
            found.append(vote)
    return found


def author(votes: Sequence[Vote]) -> Vote | None:
    """Return the vote that made the arguments what they are; None when they are the model's."""
    return next((vote for vote in reversed(votes) if vote.verdict == "edit"), None)


def objection(
    duties: Duties, asker: Asker, by: Principal, votes: Sequence[Vote], mark: str, *, edits: bool
) -> str:
    """Return the code of what stands against a person's agreement; empty when nothing does.

    `mark` is that of the arguments that they agree to, `edits` tells that they wrote these.
    """
    if by.tenant != asker.tenant:
        return "APPROVER_FOREIGN"
    if duties.of_persons and by.agent is not None:
        return "APPROVER_IS_AGENT"
    if duties.roles and duties.roles.isdisjoint(by.roles):
        return "APPROVER_ROLE"
    if duties.no_self and _is_self(asker, by):
        return "SELF_APPROVAL"
    last = author(votes)
    if duties.other and not edits and last is not None and not _apart_from(by, last):
        return "OTHER_APPROVER"
    if any(not _apart_from(by, vote) for vote in counting(votes, mark, duties)):
        return "SECOND_PERSON"
    return ""


def lacking(duties: Duties, asker: Asker, votes: Sequence[Vote], mark: str) -> str:
    """Return what a grant lacks under duties that may have grown since; empty when it lacks nothing."""
    good = []
    for vote in counting(votes, mark, duties):
        by = Principal(
            vote.user,
            vote.tenant,
            roles=vote.roles,
            agent=vote.agent,
            delegated_by=vote.delegated_by,
        )
        code = objection(duties, asker, by, (), mark, edits=False)
        if code:
            return code
        good.append(vote)
    return "" if len(good) >= duties.needed else "SECOND_PERSON" if good else "OTHER_APPROVER"


def _is_self(asker: Asker, by: Principal) -> bool:
    """Tell whether the approver is who the run is for, one whose authority it has, or their delegate."""
    theirs = {asker.user, *asker.delegated_by}
    return by.user in theirs or not theirs.isdisjoint(by.delegated_by)


def _apart(one: Vote, other: Vote) -> bool:
    return (
        one.user != other.user and one.user not in other.delegated_by and other.user not in one.delegated_by
    )


def _apart_from(by: Principal, vote: Vote) -> bool:
    """Tell whether two are different people, neither the other's delegate."""
    return by.user != vote.user and by.user not in vote.delegated_by and vote.user not in by.delegated_by
