"""The digest chain over a run's audit events: a changed, removed, reordered or inserted event breaks it.

Each digest covers the former digest, the event's kind and the core of its body. The first one covers the
run's id, so a chain cannot be passed off as another run's.

A body is one JSON object. The members behind its `detail_hash` are its detail (redacted arguments, what was
looked up), and the rest is its core. `detail_hash` commits to the detail under the run's salt: taking the
detail away, as erasure does, leaves the chain whole; changing it is seen for as long as the salt is there.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from gerbang.audit.commitments import Commitments
from gerbang.values.record import EventRow

_START: Final = b"gerbang.run.1\x00"

PENDING: Final = "sha256:" + "0" * 64
"""Stands for the commitment to a detail until it is made."""
DETAIL_MARK: Final = b',"detail_hash":"sha256:'
"""Begins the last member of a core. No earlier member holds these bytes: quotes in texts are escaped."""
DETAIL_WIDTH: Final = len(DETAIL_MARK) + 65
"""Length of that member."""
_HASH: Final = DETAIL_WIDTH - len(b',"detail_hash":"')  # length of the commitment and its quote


_OWN_SALT: Final = b',"salt":"'


def start(run_id: str) -> bytes:
    """Return the head of a run that has no event yet: 32 bytes."""
    return hashlib.sha256(_START + run_id.encode()).digest()


def extend(head: bytes, kind: str, body: bytes) -> bytes:
    """Return the digest (32 bytes) of an event that follows `head`.

    The kind's length is part of what is digested, so moving bytes between kind and body is seen.
    """
    at = body.find(DETAIL_MARK)
    if at >= 0:
        body = body[: at + DETAIL_WIDTH] + b"}"
    return hashlib.sha256(head + _prefix(kind) + body).digest()


def core(body: bytes) -> bytes:
    """Return the body without its detail: what the digest covers."""
    at = body.find(DETAIL_MARK)
    return body if at < 0 else body[: at + DETAIL_WIDTH] + b"}"


def detailed(body: bytes, marks: Commitments) -> bytes:
    """Return a body that was written with the commitment `PENDING` with the one to its detail in place."""
    at = body.find(DETAIL_MARK)
    if at < 0:
        return body
    end = at + DETAIL_WIDTH
    return body[: end - _HASH] + marks.of(body[end:]).encode() + body[end - 1 :]


def detail_is_true(body: bytes, marks: Commitments | None) -> bool:
    """Tell whether the detail of a body is the one that its core commits to. One taken away is not missed.

    A detail that begins with a member `salt` was committed to under that one. All others need `marks`, the
    commitments of the run; without them, or when they were made under another salt, they are not looked at.
    """
    at = body.find(DETAIL_MARK)
    end = at + DETAIL_WIDTH
    if at < 0 or len(body) == end + 1:
        return True
    if body.startswith(_OWN_SALT, end):
        salt = body[end + len(_OWN_SALT) : end + len(_OWN_SALT) + 64]
        try:
            marks = Commitments(bytes.fromhex(salt.decode("ascii", "replace")))
        except ValueError:
            return False
    elif marks is not None and b',"salt_id":"%b"' % marks.name.encode() not in body[:at]:
        return True  # made by a process that began the same run at the same moment, with another salt
    return marks is None or marks.of(body[end:]).encode() == body[end - _HASH : end - 1]


@lru_cache(maxsize=256)
def _prefix(kind: str) -> bytes:
    """There are few kinds, and each event has one."""
    name = kind.encode()
    return b"%d:%b" % (len(name), name)


def verify(
    events: Iterable[EventRow], former: EventRow | None = None, marks: Commitments | None = None
) -> int | None:
    """Return the sequence number of the first event that is not in its place, or None when all are.

    Details are checked too, as far as `marks`, the commitments of the run, are there.

    `events` are one run's, in order, from the first one on, or from the one after `former`, so that a
    long run can be checked page by page. A cut-off tail leaves a sound chain: compare the last digest
    with one kept elsewhere to see it.
    """
    head = former.digest if former else None
    expected = former.seq if former else 0
    run_id = former.run_id if former else None
    for event in events:
        expected += 1
        if run_id is None:
            run_id = event.run_id
        if head is None:
            head = start(run_id)
        if event.seq != expected or event.run_id != run_id:
            return expected
        if extend(head, event.kind, event.body) != event.digest:
            return expected
        if not detail_is_true(event.body, marks):
            return expected
        head = event.digest
    return None
