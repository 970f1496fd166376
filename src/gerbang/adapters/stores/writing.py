"""What all stores check before they take a batch, and how a row follows the one that it replaces."""

from typing import Final

from msgspec.structs import replace

from gerbang.errors import StoreError, UsageError
from gerbang.values.record import Batch, CallRow, RunRow

_LONGEST_S: Final = 1e9
"""About thirty years: times are whole microseconds, and must stay far below 2 to the power of 63."""


def check_text(batch: Batch) -> None:
    """Refuse text that has no UTF-8 form. Raises StoreError; nothing was written then.

    Models write half surrogate pairs; the runtime shows them as escapes before it records them. Found
    here, one would otherwise fail in the middle of a group of batches of other runs.
    """
    for calls in (batch.claims, batch.calls):
        for c in calls:
            # one text instead of eight: plain ASCII, which is nearly always, is known at a glance
            text = f"{c.key}{c.run_id}{c.step_id}{c.call_id}{c.tool}{c.fingerprint}{c.approval_id}"
            if not (text.isascii() and c.for_model.isascii()):
                check_texts(text, c.for_model)
    for event in batch.events:
        if not (event.run_id.isascii() and event.kind.isascii()):
            check_texts(event.run_id, event.kind)
    for run in batch.runs:
        check_texts(run.run_id, run.tenant, run.user, run.prompt, run.answer, run.model, run.profile)
    for answer in batch.answers:
        if not answer.run_id.isascii():
            check_texts(answer.run_id)
    for a in batch.approvals:
        check_texts(a.approval_id, a.run_id, a.key, a.tool, a.tenant, a.preview, a.reasons, a.note)
        check_texts(a.decided_by or "", a.terms, a.votes, a.seal)
    for m in batch.messages:
        check_texts(m.message_id, m.channel, m.run_id, m.kind, m.approval_id or "", m.error)


def check_bounds(batch: Batch) -> None:
    """Refuse limits and leases that make no sense. Raises StoreError; nothing was written then."""
    for take in batch.takes:
        check_texts(take.key)
        full_s = take.period_s * take.burst
        if not (take.period_s >= 1e-6 and take.burst >= 1 and full_s <= _LONGEST_S and take.cost >= 0):
            raise _senseless(
                f"rate limit {take.key!r:.80}", "a period above 0, a burst from 1, a cost from 0"
            )
        if not take.period_s * take.cost <= _LONGEST_S:
            raise _senseless(f"rate limit {take.key!r:.80}", "a smaller cost")
    for spend in batch.spends:
        check_texts(spend.key)
        sound = spend.window_s is None or 0 < spend.window_s <= _LONGEST_S
        if not (sound and abs(spend.amount) < float("inf") and spend.limit >= 0):
            raise _senseless(f"budget {spend.key!r:.80}", "a finite amount, a limit from 0, a window above 0")
    if batch.hold is not None:
        check_texts(batch.hold.run_id, batch.hold.holder)
        if not batch.hold.ttl_s <= _LONGEST_S:
            raise _senseless(f"lease of run {batch.hold.run_id!r:.80}", "a time in seconds")
    for kill in batch.kills:
        check_texts(kill.target, kill.by, kill.reason)
    for pin in batch.pins:
        check_texts(pin.name, pin.digest, pin.by)
    if batch.revives:
        check_texts(*batch.revives)
    check_texts("".join(batch.stops))  # joined they have no UTF-8 form when one of them has none


def _senseless(what: str, wanted: str) -> StoreError:
    return StoreError(f"The {what} cannot be kept. Nothing was written; give it {wanted}.")


def no_such_row(name: str) -> UsageError:
    """Return the error for a page that is to follow a row that does not exist."""
    return UsageError(f"There is no {name!r:.80} to continue after. Begin again with the first page.")


def check_texts(*texts: str) -> None:
    """Refuse texts of which one has no UTF-8 form. Raises StoreError."""
    for text in texts:
        if text.isascii():  # known from the string's head, whatever its length
            continue
        try:
            text.encode()
        except UnicodeEncodeError as fault:
            raise StoreError(
                "A record holds half of a surrogate pair, which cannot be stored. "
                "Nothing was written; clean the text before recording it."
            ) from fault


def renewed_run(former: RunRow, row: RunRow) -> RunRow:
    """Return `row` as it is stored over `former`: whose run it is, its start and its salt never change."""
    fixed = (former.tenant, former.user, former.started_at, former.salt)
    if (row.tenant, row.user, row.started_at, row.salt) == fixed:
        return row
    return replace(
        row, tenant=former.tenant, user=former.user, started_at=former.started_at, salt=former.salt
    )


def renewed_call(former: CallRow, row: CallRow) -> CallRow:
    """Return `row` as it is stored over `former`: a call stays in the run that claimed its key."""
    return row if row.run_id == former.run_id else replace(row, run_id=former.run_id)
