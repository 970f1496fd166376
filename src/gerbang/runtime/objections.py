"""Errors of approvals: who may not give one, and why one that was given is good for nothing now."""

from typing import Final

from gerbang.approval.votes import Duties
from gerbang.values import CallError
from gerbang.values.sentences import said

SOMEBODY_ELSE: Final = frozenset({"SECOND_PERSON", "OTHER_APPROVER"})
"""Codes that say only that somebody else has to agree as well: the request goes on waiting."""


def objected(code: str, by: str, duties: Duties) -> CallError:
    """Return the error for an agreement that does not count."""
    about = {"by": by, "roles": ", ".join(sorted(duties.roles))}
    return said("approval_denied", code, about)


def stale(why: str, name: str = "") -> CallError:
    """Return the error for an approval that does not fit what would run now.

    `why` is what has changed: asker, run, contract, policy, taint, file (with its name), used, version.
    """
    return said("approval_denied", "APPROVAL_STALE", {"name": name}, entry=f"APPROVAL_STALE/{why}")


def forged() -> CallError:
    """Return the error for a request that is not as it was issued, or never was."""
    return said("approval_denied", "APPROVAL_FORGED")


def no_file(name: str) -> CallError:
    """Return the error for a call that names a file which an approval cannot be bound to."""
    return said("approval_denied", "APPROVAL_FILES", {"name": name})
