"""What both stores check before they take a batch, and how a row follows the one that it replaces."""

from msgspec.structs import replace

from gerbang.errors import StoreError
from gerbang.values.record import Batch, CallRow, RunRow


def check_text(batch: Batch) -> None:
    """Refuse text that has no UTF-8 form. Raises StoreError; nothing was written then.

    Models write half surrogate pairs; the runtime shows them as escapes before it records them. Found
    here, one would otherwise fail in the middle of a group of batches of other runs.
    """
    texts: list[str] = []
    for run in batch.runs:
        texts += (run.run_id, run.tenant, run.user, run.prompt, run.answer, run.model, run.profile)
    for call in (*batch.claims, *batch.calls):
        texts += (
            call.key,
            call.run_id,
            call.step_id,
            call.call_id,
            call.tool,
            call.fingerprint,
            call.for_model,
        )
    for ask in batch.approvals:
        texts += (
            ask.approval_id,
            ask.run_id,
            ask.key,
            ask.tool,
            ask.tenant,
            ask.preview,
            ask.reasons,
            ask.note,
        )
        texts.append(ask.decided_by or "")
    for answer in batch.answers:
        texts.append(answer.run_id)
    for event in batch.events:
        texts += (event.run_id, event.kind)
    for text in texts:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as fault:
                raise StoreError(
                    "A record holds half of a surrogate pair, which cannot be stored. "
                    "Nothing was written; clean the text before recording it."
                ) from fault


def renewed_run(former: RunRow, row: RunRow) -> RunRow:
    """Return `row` as it is stored over `former`: whose run it is and when it began never change."""
    if row.tenant == former.tenant and row.user == former.user and row.started_at == former.started_at:
        return row
    return replace(row, tenant=former.tenant, user=former.user, started_at=former.started_at)


def renewed_call(former: CallRow, row: CallRow) -> CallRow:
    """Return `row` as it is stored over `former`: a call stays in the run that claimed its key."""
    return row if row.run_id == former.run_id else replace(row, run_id=former.run_id)
