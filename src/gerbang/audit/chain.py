"""The digest chain over a run's audit events: a changed, removed, reordered or inserted event breaks it.

Each digest covers the former digest, the event's kind and its body. The first one covers the run's id,
so a chain cannot be passed off as another run's.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from gerbang.values.record import EventRow

_START: Final = b"gerbang.run.1\x00"


def start(run_id: str) -> bytes:
    """Return the head of a run that has no event yet: 32 bytes."""
    return hashlib.sha256(_START + run_id.encode()).digest()


def extend(head: bytes, kind: str, body: bytes) -> bytes:
    """Return the digest (32 bytes) of an event that follows `head`.

    The kind's length is part of what is digested, so moving bytes between kind and body is seen.
    """
    return hashlib.sha256(head + _prefix(kind) + body).digest()


@lru_cache(maxsize=256)
def _prefix(kind: str) -> bytes:
    """There are few kinds, and each event has one."""
    name = kind.encode()
    return b"%d:%b" % (len(name), name)


def verify(events: Iterable[EventRow], former: EventRow | None = None) -> int | None:
    """Return the sequence number of the first event that is not in its place, or None when all are.

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
        head = event.digest
    return None
