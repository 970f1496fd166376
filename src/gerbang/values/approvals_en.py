"""English sentences of approvals: who may not give one, and why one is good for nothing now."""

from typing import Final

from gerbang.values.sentence import Sentence

_AGAIN: Final = "If it is still needed, ask the user before you propose it again."

APPROVALS: Final[dict[str, Sentence]] = {
    "SELF_APPROVAL": Sentence(
        "{by} may not approve this call: it is made for the same person, or one acts for the other.",
        "Do not call it again. Tell the user that somebody else has to approve it.",
        "Nobody may approve a call that is made for themselves.",
    ),
    "SECOND_PERSON": Sentence(
        "Two different people have to agree to this call, and {by} is not a second one.",
        "Do not call it again. Tell the user that another person has to approve it too.",
        "Two different people have to agree to this call.",
    ),
    "OTHER_APPROVER": Sentence(
        "{by} changed this call; somebody else has to approve it as it is now.",
        "Do not call it again. Tell the user that another person has to approve it.",
        "Whoever changed this call may not approve it.",
    ),
    "APPROVER_ROLE": Sentence(
        "{by} may not approve this call: it takes one of the roles {roles}.",
        "Do not call it again. Tell the user which role has to approve it.",
        "Whoever approved this call has none of the roles that it takes.",
    ),
    "APPROVER_FOREIGN": Sentence(
        "{by} belongs to another tenant and may not approve this call.",
        "Do not call it again.",
        "Nobody of another tenant may approve this call.",
    ),
    "APPROVER_IS_AGENT": Sentence(
        "{by} answered through an agent; this call has to be approved by a person.",
        "Do not call it again. Tell the user that a person has to approve it.",
        "This call has to be approved by a person.",
    ),
    "APPROVER_UNNAMED": Sentence(
        "Two people have to agree to this call, and the yes came without a name.",
        "Do not call it again. Tell the user that its approver has to say who they are.",
    ),
    "APPROVAL_FORGED": Sentence(
        "The approval of this call is not one that was issued here, or it was altered.",
        "Do not call it again. Tell the user.",
    ),
    "APPROVAL_FILES": Sentence(
        "The call names the file {name}, which its approval cannot be tied to.",
        "Name a file of ordinary size inside the working folder.",
        "The call names a file that its approval cannot be tied to.",
    ),
    "APPROVAL_STALE/asker": Sentence("The approval was given for a call of somebody else.", _AGAIN),
    "APPROVAL_STALE/run": Sentence("The approval was given for a call of another run.", _AGAIN),
    "APPROVAL_STALE/contract": Sentence(
        "The tool's contract has changed since the call was approved.", _AGAIN
    ),
    "APPROVAL_STALE/policy": Sentence("The policy has changed since the call was approved.", _AGAIN),
    "APPROVAL_STALE/taint": Sentence(
        "The run has read something from outside since the call was approved.", _AGAIN
    ),
    "APPROVAL_STALE/file": Sentence(
        "The file {name} has changed since the call was approved.", _AGAIN, "A file has changed since."
    ),
    "APPROVAL_STALE/used": Sentence("The approval was used before.", _AGAIN),
    "APPROVAL_STALE/version": Sentence(
        "The approval was asked for by an earlier version of this program.", _AGAIN
    ),
}
